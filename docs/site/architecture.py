"""Draws the rooms of the library and what each of them imports: `python docs/site/architecture.py`.

It writes `docs/architecture.svg` and the table of `docs/architecture.md`. A test compares the graph, not the counts of lines.
"""

import ast
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "droculo"
DRAWING = ROOT / "docs" / "architecture.svg"
PAGE = ROOT / "docs" / "architecture.md"
TABLE = re.compile(r"(<!-- rooms -->\n).*?(<!-- end -->)", re.DOTALL)
GRAPH = re.compile(r'<metadata id="graph">(.*?)</metadata>', re.DOTALL)

WIDTH, BOX, HEIGHT, STEP = 980, 190, 62, 104
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #222; text-anchor: middle }
  .name { font-weight: 600; font-size: 15px }
  .size { fill: #666; font-size: 12px }
  rect { fill: #f3f5fb; stroke: #5c6bc0; rx: 8px }
  path { fill: none; stroke: #8a93c9; stroke-width: 1.4; marker-end: url(#head) }
  marker path { fill: #8a93c9; stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #eee } .size { fill: #aaa } rect { fill: #262a3d } path { stroke: #7c86c4 } marker path { fill: #7c86c4 }
  }
"""


@dataclass
class Room:
    """A package of the library, or a module beside them."""

    name: str
    about: str
    files: list[Path]
    uses: set[str] = field(default_factory=set)

    @property
    def lines(self) -> int:
        return sum(len(file.read_text().splitlines()) for file in self.files)

    @property
    def size(self) -> str:
        number = len(self.files)
        return f"{number} module{'s' if number > 1 else ''}, {self.lines} lines"

    @property
    def is_package(self) -> bool:
        return self.files[0].name == "__init__.py"


def rooms() -> dict[str, Room]:
    """All rooms by name, with the rooms that they import anywhere in their code."""
    found = {}
    for place in sorted(SOURCE.iterdir()):
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        if files and place.suffix in ("", ".py") and not place.name.startswith("__"):
            doc = ast.get_docstring(ast.parse(files[0].read_text())) or ""
            found[place.stem] = Room(
                place.stem, doc.split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip("."), files
            )
    for room in found.values():
        room.uses = {used for file in room.files for used in imported(file, found.keys())} - {room.name}
    return found


def imported(path: Path, names: object) -> Iterator[str]:
    """The rooms among `names` that a file imports, at the top, inside functions and for type checkers."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "droculo":
            parts = node.module.split(".")
            mentioned = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            mentioned = [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("droculo.")]
        else:
            continue
        yield from (name for name in mentioned if name in names)  # type: ignore[operator]


def graph(found: dict[str, Room]) -> dict[str, list[str]]:
    """Room -> the rooms that it uses."""
    return {name: sorted(room.uses) for name, room in sorted(found.items())}


def drawn_graph() -> dict[str, list[str]]:
    """The graph that the drawing was made from."""
    stored = GRAPH.search(DRAWING.read_text())
    assert stored, f"{DRAWING} holds no graph"
    return json.loads(stored[1])


def layers(uses: dict[str, set[str]]) -> dict[str, int]:
    """How high every room stands: above all that it uses, and as close below its users as it can."""
    height: dict[str, int] = {}

    def lowest(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((lowest(used) for used in uses[name]), default=-1)
        return height[name]

    for name in sorted(uses, key=lowest, reverse=True):
        users = [height[user] for user in uses if name in uses[user]]
        height[name] = min(users) - 1 if users else height[name]
    return height


def direct(uses: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The pairs (user, used) that do not follow from others: an arrow that a longer way implies is left out."""

    def below(name: str) -> set[str]:
        return uses[name].union(*(below(used) for used in uses[name]))

    return [(a, b) for a in sorted(uses) for b in sorted(uses[a]) if not any(b in below(c) for c in uses[a] - {b})]


def ways(height: dict[str, int], arrows: list[tuple[str, str]]) -> list[list[str]]:
    """Every arrow as the places that it passes: a level between its ends gives it a place of its own beside the boxes there."""
    found = []
    for a, b in arrows:
        between = [f"{a}>{b}@{level}" for level in range(height[a] - 1, height[b], -1)]
        height |= {place: int(place.split("@")[1]) for place in between}
        found.append([a, *between, b])
    return found


def placed(height: dict[str, int], paths: list[list[str]]) -> dict[str, float]:
    """The middle of every place: close to those of the places that it is connected with."""
    across = dict.fromkeys(height, WIDTH / 2)
    pairs = [pair for path in paths for pair in itertools.pairwise(path)]
    near = {name: [b if a == name else a for a, b in pairs if name in (a, b)] for name in height}
    for _ in range(20):
        for level in sorted(set(height.values()), reverse=True):
            row = [name for name in height if height[name] == level]
            row.sort(key=lambda name: (sum(across[n] for n in near[name]) / max(len(near[name]), 1), name))
            for k, name in enumerate(row):
                across[name] = WIDTH * (k + 1) / (len(row) + 1) if len(row) < 4 else WIDTH * (k + 0.5) / len(row)
    return across


def draw(found: dict[str, Room]) -> str:
    """The packages as boxes, users above; the single modules, which everything may use, in one box at the bottom."""
    packages = {name: room for name, room in found.items() if room.is_package}
    uses = {name: room.uses & packages.keys() for name, room in packages.items()}
    height = layers(uses)
    paths = ways(height, direct(uses))
    across, top = placed(height, paths), max(height.values())

    def y(name: str) -> int:
        return 16 + (top - height[name]) * STEP

    parts = [_arrow([(across[place], y(place)) for place in path]) for path in paths]
    for name, room in packages.items():
        parts.append(_box(across[name], y(name), BOX, name, room.size))
    alone = [room for room in found.values() if not room.is_package]
    bottom = 16 + (top + 1) * STEP
    size = f"{', '.join(room.name for room in alone)}: {sum(room.lines for room in alone)} lines"
    parts.append(_box(WIDTH / 2, bottom, WIDTH - 40, "single modules that all rooms may use", size))
    stored = json.dumps(graph(found))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + HEIGHT + 16}" role="img" '
        f'aria-label="The rooms of droculo and what they use">\n<metadata id="graph">{stored}</metadata>\n'
        f'<style>{STYLE}</style>\n<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 8 4 0 8z"/></marker>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _arrow(places: list[tuple[float, int]]) -> str:
    """From the lower edge of the first box to the upper edge of the last, straight down where a level is passed."""
    x, down = places[0][0], places[0][1] + HEIGHT
    way = f"M{x:.0f} {down}"
    for number, (to, level) in enumerate(places[1:], start=2):
        middle = (down + level) // 2
        way += f" C{x:.0f} {middle} {to:.0f} {middle} {to:.0f} {level - 2}"
        x, down = to, level + HEIGHT
        way += f" V{down}" if number < len(places) else ""
    return f'<path d="{way}"/>'


def _box(middle: float, top: int, width: float, name: str, size: str) -> str:
    return (
        f'<rect x="{middle - width / 2:.0f}" y="{top}" width="{width:.0f}" height="{HEIGHT}"/>'
        f'<text class="name" x="{middle:.0f}" y="{top + 26}">{name}</text>'
        f'<text class="size" x="{middle:.0f}" y="{top + 46}">{size}</text>'
    )


def table(found: dict[str, Room]) -> str:
    """Every room with what it holds, how large it is and what it uses."""
    lines = ["| room | what it holds | size | uses |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {room.about} | {room.size} | {', '.join(sorted(room.uses)) or '-'} |"
        for name, room in sorted(found.items())
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    found = rooms()
    DRAWING.write_text(draw(found))
    PAGE.write_text(TABLE.sub(lambda match: match[1] + table(found) + match[2], PAGE.read_text()))


if __name__ == "__main__":
    main()
