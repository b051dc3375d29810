"""Reading what happened: regret, its certificate, growth rates, costs; and what theory promises beforehand."""

from droculo.measure._certificate import Certificate, certificate
from droculo.measure._dynamic import DynamicRegret, dynamic
from droculo.measure._interval import IntervalRegret, interval
from droculo.measure._regret import Regret, fixed_rewards, regret, rewards
from droculo.measure._summary import Summary, share, summary
from droculo.measure._windows import Windows
from droculo.measure.comparator import best_fixed_point
from droculo.measure.network import consensus_gap, count_infeasible
from droculo.measure.rates import Rate, fit_exponent
from droculo.measure.sampling import Sample
from droculo.measure.theory import Exponents, Guarantee, NoPlanError, Plan, guarantee, plan

__all__ = ["Certificate", "DynamicRegret", "Exponents", "Guarantee", "IntervalRegret", "NoPlanError", "Plan", "Rate"]
__all__ += ["Regret", "Sample", "Summary", "Windows", "best_fixed_point", "certificate", "consensus_gap"]
__all__ += ["count_infeasible", "dynamic", "fit_exponent", "fixed_rewards", "guarantee", "interval", "plan", "regret"]
__all__ += ["rewards", "share", "summary"]
