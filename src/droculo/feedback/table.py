"""The paper's Table 1 as data: which case can be learned from which feedback, how fast, and why not."""

from dataclasses import dataclass
from fractions import Fraction

from droculo.feedback.models import Feedback, FeedbackKind
from droculo.linearizations import Linearization


@dataclass(frozen=True)
class Row:
    """A pair (case, feedback) that works, and its powers of T, from Theorems 2 to 6.

    Regret grows like T^(1 - regret*theta), exchanges like T^theta, LOO calls like T^(2 theta), for theta in
    [0, theta_max]. K = T^(1 - block*theta), L = T^(slot*theta), and delta = r T^(-delta*theta).
    """

    algorithm: int  # the paper's number
    source: str
    regret: Fraction
    block: Fraction = Fraction(1)
    slot: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    @property
    def slots(self) -> bool:
        """True if query rounds are separate from action rounds (the paper's SFTT blocks)."""
        return self.slot > 0

    @property
    def theta_max(self) -> Fraction:
        """Beyond it, not even one slot would fit into a block."""
        return 1 / self.block

    def regret_exponent(self, theta: float) -> float:
        return 1 - float(self.regret) * theta


@dataclass(frozen=True)
class Refusal:
    """A pair that does not, and the reason."""

    reason: str


_HALF, _QUARTER = Fraction(1, 2), Fraction(1, 4)
_DIRECT = Row(1, "Theorem 2", _HALF)
# The smoothing costs delta T in regret; T^(-theta/2) keeps that below the first-order rate T^(1 - theta/2).
_TWO_POINT = Row(1, "Theorem 2 by the remark on two-point estimates", _HALF, delta=_HALF)
# The remark needs exact values. A difference of two noisy ones is off by noise/delta, which grows as delta falls.
_TWO_NOISY = Row(1, "Theorem 3, the one value replaced by two that are noisy", _QUARTER, delta=_QUARTER)
_CURVED = Refusal(
    "its query point 1 - exp(-Z x) has no ball of known size around it in K, so a perturbed value could be asked "
    "outside the set. Use gradients (full_information or semi_bandit), or case A3"
)

_Rows = dict[FeedbackKind, Row | Refusal]
_TRIVIAL: _Rows = {
    FeedbackKind.FULL_INFORMATION: _DIRECT,  # the query is the action, so this is semi-bandit feedback already
    FeedbackKind.SEMI_BANDIT: _DIRECT,
    FeedbackKind.ZEROTH_ORDER: Row(4, "Theorem 3, the query not played", _QUARTER, delta=_QUARTER),
    FeedbackKind.BANDIT: Row(2, "Theorem 3", _QUARTER, delta=_QUARTER),
    FeedbackKind.TWO_POINT: _TWO_POINT,
}
_SEPARATE: _Rows = {
    FeedbackKind.FULL_INFORMATION: _DIRECT,
    FeedbackKind.SEMI_BANDIT: Row(3, "Theorem 4", _HALF, block=Fraction(3, 2), slot=_HALF),
    FeedbackKind.ZEROTH_ORDER: Row(4, "Theorem 5", _QUARTER, delta=_QUARTER),
    FeedbackKind.BANDIT: Row(5, "Theorem 6", _QUARTER, block=Fraction(5, 4), slot=_QUARTER, delta=_QUARTER),
    FeedbackKind.TWO_POINT: _TWO_POINT,
}
_FIRST_ORDER_ONLY: _Rows = {kind: _CURVED if kind.values else row for kind, row in _SEPARATE.items()}
_CASES = {"concave": _TRIVIAL, "A1": _TRIVIAL, "A2": _SEPARATE, "A3": _SEPARATE, "A4": _FIRST_ORDER_ONLY}

#: (case, feedback) -> what is known. A4 is not in the paper; its first-order rows follow from Theorems 2 and 4.
TABLE_1: dict[tuple[str, FeedbackKind], Row | Refusal] = {
    (case, feedback): entry for case, rows in _CASES.items() for feedback, entry in rows.items()
}


def look_up(linearization: Linearization, feedback: Feedback, theta: float, *, noisy: bool = False) -> Row:
    """The row of Table 1 for this pair, or an error that says why there is none or why theta is out of range.

    `noisy`: values are not exact, which takes the rate of gradients away from two-point feedback.
    """
    case = linearization.case
    if case == "own":  # a user's class has the row of the case it behaves like
        case = "A1" if linearization.trivial else "A2"
        pulls = type(linearization).pull is not Linearization.pull
        if feedback.order == 0 and (pulls or not linearization.zeroth_order):
            raise ValueError(
                f"{type(linearization).__name__} is not known to work with values ({feedback.kind} feedback): say "
                "zeroth_order=True if every query point of a shrunk set keeps its ball in K and no pull is needed, or "
                "use gradients (full_information or semi_bandit)."
            )
    entry = TABLE_1.get((case, feedback.kind))
    if entry is None:
        raise ValueError(
            f"Table 1 has no row for case {case!r} with feedback {str(feedback.kind)!r}; cases are concave, A1-A4 or your "
            "own, feedbacks those of droculo.feedback."
        )
    if isinstance(entry, Refusal):
        raise ValueError(f"case {linearization.case} cannot be learned from {feedback.kind} feedback: {entry.reason}.")
    if noisy and feedback.kind is FeedbackKind.TWO_POINT:
        entry = _TWO_NOISY
    if not 0 <= theta <= float(entry.theta_max):
        why = " (beyond it, the slots of its query rounds would be longer than a block)" if entry.slots else ""
        raise ValueError(
            f"theta must lie in [0, {entry.theta_max}] for case {linearization.case} with {feedback.kind} feedback"
            f"{why}; got theta={theta}."
        )
    return entry
