"""From (T, theta), the powers in Table 1 and the constants of a problem to block, slot, step, tolerance and delta."""

import math
from dataclasses import dataclass

import numpy as np

from droculo.expect import expect
from droculo.feedback import Feedback
from droculo.feedback.table import look_up
from droculo.linearizations import Linearization, Setting
from droculo.oracles import InfeasibleProjection
from droculo.sets import Set

Oracle = InfeasibleProjection | None


@dataclass(frozen=True)
class Scales:
    """Multiplies what the theorems prescribe. Any constants keep the rates; `Scales.theorem()` has the theorems' own.

    The default rule (None means this rule). `step`, where B = 9^(1 - theta) stands for what a block averages out:

    |                | gradients | two values | one value |
    |----------------|-----------|------------|-----------|
    | A1, A2, A3     | 10 B      | 30 B       | 300       |
    | A4             | 10        |            |           |
    | concave, own   | 1.5       | 10         | 100 B / 3 |

    The theorems' G is the longest estimate that bounds allow; typical ones are shorter, and the noisier, the more so. But
    a concave function curves back, as A4's surrogate does even where f is linear, and long steps overshoot. An oracle that
    does not remember follows long steps badly and dearly: with it 3 and 30 for gradients and two values of A1 to A4.
    `tolerance`: 0.01 where digits cost next to nothing, on a polytope with an oracle that remembers; 1 if the set is
    curved, where no memory is ever complete; 0.1 for an oracle that does not remember. How it was chosen:
    docs/results/scales.md; checked: performance.md there.

    delta = scale * r * T^(-theta/4) must lie below r for T = 1 and theta = 0 too, hence 1/2.
    """

    block: float = 1.0
    slot: float = 1.0
    step: float | None = None
    tolerance: float | None = None
    delta: float = 0.5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in ("step", "tolerance") and value is None:
                continue
            expect(value, (int, float, np.number), f"the scale of {name}", "1.0 is the theorems' own choice.")
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"the scale of {name} must be positive and finite; got {value}.")
        if self.delta >= 1:
            message = f"the scale of delta must be below 1, so that delta < r for every horizon; got {self.delta}."
            raise ValueError(message)

    @classmethod
    def theorem(cls) -> "Scales":
        """The theorems' own constants.

        >>> Scales.theorem().step
        1.0
        """
        return cls(step=1.0, tolerance=1.0)

    def step_for(
        self, feedback: Feedback, linearization: Linearization, theta: float = 1.0, oracle: Oracle = None
    ) -> float:
        """The scale of the step, by the default rule unless it was given; no oracle means the default one, or none at all.

        >>> from droculo import feedback, linearizations
        >>> Scales().step_for(feedback.bandit(), linearizations.MonotoneOrigin(), theta=0.5)
        300.0
        """
        if self.step is not None:
            return self.step
        answers = feedback.kind.values
        B = 9.0 ** (1 - theta)
        if not linearization.up_concave:
            return {0: 1.5, 2: 10.0, 1: 100 * B / 3}[answers]
        if answers == 1:
            return 300.0
        if not (oracle is None or oracle.remembers):
            return {0: 3.0, 2: 30.0}[answers]
        return {0: 10.0, 2: 30.0}[answers] * (1.0 if linearization.bends else B)

    def tolerance_for(self, oracle: Oracle, domain: Set) -> float:
        """The scale of the tolerance, by the default rule unless it was given; no oracle means the default one."""
        if self.tolerance is not None:
            return self.tolerance
        if not (oracle is None or oracle.remembers):
            return 0.1
        return 1.0 if domain.curved else 0.01


@dataclass(frozen=True)
class Schedule:
    """The numbers of one run."""

    horizon: int  # T
    block: int  # K, in slots
    slot: int  # L, in rounds
    step_size: float  # eta
    tolerance: float  # eps
    delta: float  # how far values are asked from the query point; 0 for gradients

    def __post_init__(self) -> None:
        for name in ("horizon", "block", "slot"):
            if getattr(self, name) < 1:
                raise ValueError(f"a schedule's {name} is at least 1; got {getattr(self, name)}.")
        for name in ("step_size", "tolerance"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"a schedule's {name} is positive and finite; got {getattr(self, name)}.")
        if not 0 <= self.delta < math.inf:
            raise ValueError(f"a schedule's delta is not negative and finite; got {self.delta}.")

    @property
    def exchanges(self) -> int:
        """How many blocks there are, the last and shorter one included."""
        return math.ceil(self.horizon / (self.block * self.slot))


def schedule(
    setting: Setting,
    feedback: Feedback,
    *,
    horizon: int,
    theta: float,
    scales: Scales | None = None,
    oracle: Oracle = None,
) -> Schedule:
    """The theorems' choice: eta = R/(G sqrt(K T/L)) and eps = (K eta G)^2 = R^2 K L/T, with the G of `answer_bound`."""
    expect(setting, Setting, "setting", "Pass problem.setting.")
    expect(feedback, Feedback, "feedback", "Pass for example droculo.feedback.bandit(), with the brackets.")
    expect(oracle, (InfeasibleProjection, type(None)), "oracle", "Pass for example droculo.oracles.ActiveSet().")
    expect(scales, (Scales, type(None)), "scales", "Pass for example droculo.Scales(step=2.0).")
    expect(theta, (int, float, np.number), "theta", "It is a number between 0 and 1.")
    row = look_up(setting.linearization, feedback, theta, noisy=setting.noisy)
    T = whole_horizon(horizon)
    scales = scales or Scales()
    L = max(1, min(T, round(scales.slot * T ** (float(row.slot) * theta))))
    K = max(1, min(T // L, round(scales.block * T ** (1 - float(row.block) * theta))))
    delta = 0.0
    if feedback.order == 0:
        delta = scales.delta * float(setting.set.inner_radius) * T ** (-float(row.delta) * theta)
    G, R, slots = answer_bound(setting, feedback, delta), float(setting.set.radius), T / L
    eta = scales.step_for(feedback, setting.linearization, theta, oracle) * R / (G * math.sqrt(K * slots))
    eps = scales.tolerance_for(oracle, setting.set) * R**2 * K / slots
    return Schedule(horizon=T, block=K, slot=L, step_size=eta, tolerance=eps, delta=delta)


def whole_horizon(horizon: int) -> int:
    """The number of rounds T, or an error."""
    expect(horizon, (int, float, np.number), "horizon", "It is the number of rounds.")
    if isinstance(horizon, bool) or not math.isfinite(horizon) or int(horizon) != horizon or horizon < 1:
        raise ValueError(f"the horizon is a whole number of rounds, at least 1; got {horizon}.")
    return int(horizon)


def answer_bound(setting: Setting, feedback: Feedback, delta: float) -> float:
    """G: how long the estimate of one slot can get: the gradient; (k/delta) B0 for one value; k M1 for two values, which
    are delta to either side, and k/delta times the noise of a value, if any.

    (With the control variate a value that can have either sign may count twice; this keeps the theorems' plain bound.)
    """
    if feedback.order == 1:
        return float(setting.bounds.gradient)
    k = setting.set.subspace.dimension
    if feedback.kind.values == 2:
        return k * (float(setting.bounds.lipschitz) + float(setting.bounds.value_noise) / delta)
    return k / delta * float(setting.bounds.value)
