"""Methods of the literature that are DROCULO with certain parts: presets, not other algorithms."""

import dataclasses

import equinox as eqx
from numpy.typing import ArrayLike

from droculo.algorithms.draws import IndependentDraws
from droculo.algorithms.droculo import Droculo
from droculo.algorithms.exchange import SendXY
from droculo.algorithms.meta_frank_wolfe import needs_zero
from droculo.algorithms.schedules import Scales, whole_horizon
from droculo.feedback import Feedback, OnePoint, full_information
from droculo.linearizations import Setting
from droculo.oracles import PaperFrankWolfe


def published(
    setting: Setting, feedback: Feedback, *, horizon: int, theta: float, start: ArrayLike | None = None
) -> Droculo:
    """DROCULO as the paper has it: its oracle, its constants, (x, y) sent, independent draws and no control variate.

    >>> from droculo import algorithms, feedback, problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> agent = published(problem.setting, feedback.bandit(), horizon=1024, theta=0.5)
    >>> algorithms.contract.message_size(agent)
    12
    """
    if isinstance(feedback, Feedback) and isinstance(feedback.signal, OnePoint):
        feedback = eqx.tree_at(lambda f: f.signal, feedback, OnePoint(control_variate=False))
    return Droculo.prescribed(
        setting, feedback, horizon=horizon, theta=theta, oracle=PaperFrankWolfe(), exchange=SendXY(),
        draws=IndependentDraws(), start=start,
    )  # fmt: skip


def dpobga(
    setting: Setting, *, horizon: int | None = None, scales: Scales | None = None, adaptive: bool = False
) -> Droculo:
    """DPOBGA (Liao et al. 2023): theta = 1/2, the paper's oracle, (x, y) sent, independent draws, gradients anywhere.

    Certain: T^(1/2) exchanges, T LOO calls, regret T^(3/4) for monotone functions on a set with 0. It ascends along
    (1 - 1/e) grad f(Z x), where DROCULO leaves the factor out: the step carries it here (ours: as beta, for gamma < 1 too).
    `adaptive` (ours): with growing blocks and the step rule of `Droculo.design`, without horizon and bounds.

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> dpobga(problem.setting, horizon=1024).timetable.block
    32
    """
    linearization = needs_zero(setting, "DPOBGA")
    scales = scales or Scales()
    if adaptive:
        return Droculo.design(
            setting, full_information(), theta=0.5, horizon=horizon, oracle=PaperFrankWolfe(), exchange=SendXY(),
            draws=IndependentDraws(),
        )  # fmt: skip
    return Droculo.prescribed(
        setting, full_information(), horizon=whole_horizon(horizon), theta=0.5, oracle=PaperFrankWolfe(), exchange=SendXY(),
        draws=IndependentDraws(), scales=dataclasses.replace(scales, step=scales.step * float(linearization.beta)),
    )  # fmt: skip
