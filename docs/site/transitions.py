"""Draws the states of a link from the table that the code runs: `python docs/site/transitions.py` writes docs/membership.svg."""

import itertools
from pathlib import Path
from xml.sax.saxutils import escape

from droculo.runtime.protocol.transitions import TABLE, Facts, Rule, State, rule_for

FILE = Path(__file__).parent.parent / "membership.svg"
#: state -> centre of its box
PLACES = {
    State.ABSENT: (110, 90), State.AGREED: (430, 90), State.ENDING: (750, 90), State.LEAVING: (590, 300), State.PARTED: (230, 300),
}  # fmt: skip
WIDTH, HEIGHT, BOX = 860, 360, (130, 44)


def changes() -> dict[tuple[State, State], list[str]]:
    """(state, next state) -> the events that lead there, in the order of the table."""
    found: dict[tuple[State, State], list[str]] = {}
    for rule in TABLE:
        for state in rule.states:
            if rule.becomes not in (None, state) and _applies(rule, state):
                words = found.setdefault((state, rule.becomes), [])
                words += [rule.event.value] if rule.event.value not in words else []
    return found


def svg() -> str:
    """The diagram."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    lines += [_arrow(start, end, words) for (start, end), words in changes().items()]
    lines += [_box(state) for state in State]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _applies(rule: Rule, state: State) -> bool:
    """True if this rule is the first one that applies, under some facts."""
    every = itertools.starmap(Facts, itertools.product((False, True), repeat=len(Facts._fields)))
    return any(rule_for(state, rule.event, facts) == rule for facts in every)


def _box(state: State) -> str:
    (x, y), (width, height) = PLACES[state], BOX
    return (
        f'<g><title>{escape(state.value)}</title><rect x="{x - width / 2}" y="{y - height / 2}" width="{width}" height="{height}" '
        f'rx="8" fill="#eef3fa" stroke="#33507a"/><text x="{x}" y="{y + 5}" text-anchor="middle" font-weight="bold" '
        f'fill="#1c2f4d">{state.name}</text></g>'
    )


def _arrow(start: State, end: State, words: list[str]) -> str:
    """A curve that bends to its left, so that two states with arrows both ways have two curves."""
    (x0, y0), (x1, y1) = PLACES[start], PLACES[end]
    length = max(1.0, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
    right, down = (x1 - x0) / length, (y1 - y0) / length
    bend = 46 if abs(x1 - x0) < 400 else 130
    mx, my = (x0 + x1) / 2 + down * bend, (y0 + y1) / 2 - right * bend
    ax, ay = _edge((x0, y0), (mx, my))
    bx, by = _edge((x1, y1), (mx, my))
    tx, ty = (x0 + x1) / 4 + mx / 2, (y0 + y1) / 4 + my / 2
    label = "".join(
        f'<tspan x="{tx:.0f}" dy="{0 if k == 0 else 13}">{escape(word)}</tspan>' for k, word in enumerate(words)
    )
    return (
        f'<path d="M{ax:.0f},{ay:.0f} Q{mx:.0f},{my:.0f} {bx:.0f},{by:.0f}" fill="none" stroke="#555" marker-end="url(#tip)"/>'
        f'<text y="{ty - 6.5 * (len(words) - 1) + 4:.0f}" text-anchor="middle" fill="#222" stroke="#fff" stroke-width="4" '
        f'paint-order="stroke">{label}</text>'
    )


def _edge(centre: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Where the way from a box's centre leaves the box."""
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    across = min(
        BOX[0] / 2 / abs(dx) if abs(dx) > 1e-9 else float("inf"),
        BOX[1] / 2 / abs(dy) if abs(dy) > 1e-9 else float("inf"),
    )
    return centre[0] + across * dx, centre[1] + across * dy


if __name__ == "__main__":
    FILE.write_text(svg())
