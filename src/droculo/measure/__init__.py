"""Reading what happened: regret, its certificate, growth rates, costs; and what theory promises beforehand."""

from droculo.measure._certificate import Certificate, certificate
from droculo.measure._regret import Regret, fixed_rewards, regret, rewards
from droculo.measure._summary import Summary, share, summary
from droculo.measure.comparator import best_fixed_point
from droculo.measure.network import consensus_gap, count_infeasible
from droculo.measure.rates import Rate, fit_exponent
from droculo.measure.sampling import Sample
from droculo.measure.theory import Exponents, Guarantee, NoPlanError, Plan, guarantee, plan

__all__ = ["Certificate", "Exponents", "Guarantee", "NoPlanError", "Plan", "Rate", "Regret", "Sample", "Summary"]
__all__ += ["best_fixed_point", "certificate", "consensus_gap", "count_infeasible", "fit_exponent", "fixed_rewards"]
__all__ += ["guarantee", "plan", "regret", "rewards", "share", "summary"]
