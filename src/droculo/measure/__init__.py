"""Reading what happened: regret, its certificate, growth rates, consensus and feasibility."""

from droculo.measure.certificate import Certificate, certificate
from droculo.measure.network import consensus_gap, infeasible
from droculo.measure.rates import Rate, rate
from droculo.measure.regret import Regret, regret, rewards

__all__ = [
    "Certificate",
    "Rate",
    "Regret",
    "certificate",
    "consensus_gap",
    "infeasible",
    "rate",
    "regret",
    "rewards",
]
