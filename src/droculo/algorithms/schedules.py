"""From (T, theta), the powers in Table 1 and the constants of a problem to block, slot, step, tolerance and delta."""

import math
from dataclasses import dataclass

import numpy as np

from droculo.expect import expect
from droculo.feedback import Feedback
from droculo.feedback.table import Row, look_up
from droculo.linearizations import Setting


@dataclass(frozen=True)
class Scales:
    """Multiplies what the theorems prescribe. Any constants keep the rates; 1 is the theorems' own.

    delta = scale * r * T^(-theta/4) must lie below r for T = 1 and theta = 0 too, hence 1/2.
    """

    block: float = 1.0
    slot: float = 1.0
    step: float = 1.0
    tolerance: float = 1.0
    delta: float = 0.5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            expect(value, (int, float, np.number), f"the scale of {name}", "1.0 is the theorems' own choice.")
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"the scale of {name} must be positive and finite; got {value}.")
        if self.delta >= 1:
            message = f"the scale of delta must be below 1, so that delta < r for every horizon; got {self.delta}."
            raise ValueError(message)


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
    setting: Setting, feedback: Feedback, *, horizon: int, theta: float, scales: Scales | None = None
) -> Schedule:
    """The theorems' choice: eta = R/(G sqrt(K T/L)) and eps = (K eta G)^2 = R^2 K L/T, with the G of `answer_bound`."""
    expect(scales, (Scales, type(None)), "scales", "Pass for example droculo.Scales(step=2.0).")
    row = row_of(setting, feedback, theta)
    T = whole_horizon(horizon)
    scales = scales or Scales()
    L = max(1, min(T, round(scales.slot * T ** (float(row.slot) * theta))))
    K = max(1, min(T // L, round(scales.block * T ** (1 - float(row.block) * theta))))
    delta = 0.0
    if feedback.order == 0:
        delta = scales.delta * float(setting.set.inner_radius) * T ** (-float(row.delta) * theta)
    G, R, slots = answer_bound(setting, feedback, delta), float(setting.set.radius), T / L
    eta = scales.step * R / (G * math.sqrt(K * slots))
    eps = scales.tolerance * R**2 * K / slots
    return Schedule(horizon=T, block=K, slot=L, step_size=eta, tolerance=eps, delta=delta)


def row_of(setting: Setting, feedback: Feedback, theta: float) -> Row:
    """The row of Table 1, or an error that says what was expected or why there is none."""
    expect(setting, Setting, "setting", "Pass problem.setting.")
    expect(feedback, Feedback, "feedback", "Pass for example droculo.feedback.bandit(), with the brackets.")
    expect(theta, (int, float, np.number), "theta", "It is a number between 0 and 1.")
    return look_up(setting.linearization, feedback, theta, noisy=setting.noisy)


def whole_horizon(horizon: int | None) -> int:
    """The number of rounds T, or an error."""
    expect(horizon, (int, float, np.number), "horizon", "It is the number of rounds.")
    assert horizon is not None
    if isinstance(horizon, bool) or not math.isfinite(horizon) or int(horizon) != horizon or horizon < 1:
        raise ValueError(f"the horizon is a whole number of rounds, at least 1; got {horizon}.")
    return int(horizon)


def answer_bound(setting: Setting, feedback: Feedback, delta: float) -> float:
    """G: how long the estimate of one slot can get: the gradient; (k/delta) B0 for one value; k M1 for two values, which
    are delta to either side, and k/delta times the noise of a value, if any.

    (With the control variate a value that can have either sign may count twice; this keeps the theorems' plain bound.)
    """
    if feedback.order == 1:
        return setting.bounds.known("gradient")
    k = setting.set.subspace.dimension
    if feedback.kind.values == 2:
        return k * (setting.bounds.known("lipschitz") + float(setting.bounds.value_noise) / delta)
    return k / delta * setting.bounds.known("value")
