"""Reading what happened."""

from droculo.measure.regret import Regret, regret, rewards

__all__ = ["Regret", "regret", "rewards"]
