"""DPOBGA (Liao et al. 2023), which is DROCULO in one of its cases: a preset, not another algorithm."""

from __future__ import annotations

import dataclasses

from droculo.algorithms.droculo import Droculo
from droculo.algorithms.frank_wolfe import needs_zero
from droculo.algorithms.schedules import Scales
from droculo.feedback import full_information
from droculo.linearizations import Setting
from droculo.oracles import PaperFrankWolfe


def dpobga(setting: Setting, *, horizon: int, scales: Scales | None = None) -> Droculo:
    """DPOBGA as a preset of `Droculo`: theta = 1/2, the paper's oracle, (x, y) sent, gradients anywhere.

    Certain: T^(1/2) exchanges, T LOO calls, regret T^(3/4) for monotone functions on a set with 0. It ascends along
    (1 - 1/e) grad f(Z x), where DROCULO leaves the factor out: the step carries it here (ours: as beta, for gamma < 1 too).

    >>> from droculo import problems
    >>> problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
    >>> dpobga(problem.setting, horizon=1024).block
    32
    """
    linearization = needs_zero(setting, "DPOBGA")
    scales = scales or Scales()
    model, oracle = full_information(), PaperFrankWolfe()
    step = scales.step_for(model, linearization, 0.5, oracle) * float(linearization.beta)
    return Droculo.design(
        setting, model, horizon=horizon, theta=0.5, oracle=oracle, lean=False, even=False,
        scales=dataclasses.replace(scales, step=step),
    )  # fmt: skip
