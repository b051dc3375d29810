"""The names that a spec can use: problems, networks and algorithms, each with one line and with defaults for its options."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from droculo import algorithms, networks, oracles, problems
from droculo import feedback as models
from droculo.algorithms import Algorithm, Draws, Scales
from droculo.experiments import planted
from droculo.feedback import Feedback
from droculo.linearizations import Setting
from droculo.networks import Network
from droculo.problems.applications.feeder_data import area_graph


@dataclass(frozen=True)
class Promise:
    """What a theorem promises for monotone functions on a set with 0: the growth with T, by its power."""

    source: str
    regret: float
    exchanges: float
    loo_calls: float | None  # None: the method has no linear oracle
    in_table_1: bool = True  # a row of the paper's own table


@dataclass(frozen=True)
class Entry:
    """A name that a spec can use: one line about it, and the function that makes it."""

    about: str
    make: Callable[..., Any]
    title: str = ""  # of an algorithm: its name in tables and figures
    promise: Promise | None = None  # of an algorithm other than DROCULO, whose promises are in `feedback.TABLE_1`
    # the options with which comparisons play it, by the horizon
    variants: Callable[[int], Sequence[Mapping[str, Any]]] = field(default=lambda horizon: ({},))

    def options(self) -> dict[str, Any]:
        """Its options and their defaults, without the arguments that an experiment supplies."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.make).parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }


def _coverage(agents: int = 8, dim: int = 10, seed: int = 0, face: bool = False) -> problems.Coverage:
    budget = max(1, dim // 3)
    return problems.Coverage.random(agents=agents, dim=dim, budget=budget, elements=2 * dim, seed=seed, face=face)


def _worst_case(case: str = "A2", agents: int = 8, pairs: int = 4, seed: int = 0) -> problems.WorstCase:
    return problems.WorstCase.random(case, agents=agents, pairs=pairs, seed=seed)


def _water_filling(agents: int = 8, dim: int = 10, seed: int = 0) -> problems.WaterFilling:
    return problems.WaterFilling.random(agents=agents, dim=dim, budget=max(1, dim // 3), seed=seed)


def _random(about: str, make: Callable[..., Any], **defaults: Any) -> Entry:
    return Entry(about, partial(make, **defaults))


PROBLEMS: dict[str, Entry] = {
    "top-b": Entry("planted, A2 (A1 with face = true): the b best of d options, new weights every round", planted.top_b),
    "local-top-b": Entry("planted, A2: top-b, each good option known to one or two agents only", planted.local_top_b),
    "weak": Entry("planted, A2 or A1, gamma = 2/3: a convex quadratic, new weights every round", planted.weak),
    "cut": Entry("planted, A3: the cut of a bipartite graph, new weights every round", planted.cut),
    "coverage": Entry("planted, A2 (A1 with face = true): weighted coverage, drifting weights", _coverage),
    "set-functions": _random("planted, A2 (A1 or A3 with face, monotone): multilinear extensions of set functions", problems.SetFunctions.random, agents=8, dim=8, budget=3, seed=0),
    "worst-case": Entry("planted, A2 (with case also A1, A3, A4): where an agent can be stuck at alpha times the optimum", _worst_case),
    "water-filling": Entry("planted, concave: power over channels, drifting gains", _water_filling),
    "drifting-top-b": _random("planted, A2: top-b with weights that drift in waves", problems.TopB.random, agents=8, dim=10, budget=3, seed=0),
    "switching-top-b": Entry("planted, A2 (A1 with face = true): top-b with weights that are drawn again every 512 rounds", planted.switching_top_b),
    "drifting-cut": _random("planted, A3 (A4 if down_closed): a cut whose weights drift in waves", problems.PlantedCut.random, agents=8, left=4, right=6, seed=0),
    "feeder": Entry(
        "A2: how far to close the tie lines of the 33-bus power feeder",
        lambda budget=1.0: problems.TieLines(budget_size=budget),
    ),
    "feeder-trees": Entry(
        "concave: which tree the 33-bus feeder runs as",
        lambda low=0.05, from_open=False: problems.Reconfiguration(low=low, from_open=from_open),
    ),
    "recommendation": _random("A2: which items to show, synthetic ratings", problems.Recommendation.synthetic),
    "movielens": _random("A2: which films to show (extra `data`)", problems.Recommendation.movielens),
    "pricing": _random(
        "A4: prices of substitutes in many stores", problems.Pricing.random, stores=8, products=12, seed=0
    ),
    "inventory": _random("concave: how much warehouses order", problems.Inventory.random, agents=6, products=8, supplies=10, seed=0),
    "mean-field": _random("A4: mean-field inference of a facility-location model", problems.MeanField.synthetic),
    "revenue": _random("A4: which members of the karate club get a free product", problems.Revenue.karate, agents=6),
    "influence": _random("A2: a budget over channels, on the Davis women", problems.Influence.davis, agents=6),
    "sensors": _random("A2: where sensors learn most of Gaussian fields", problems.LogDetSensors.random, agents=8, sites=16, budget=4, seed=0),
    "sensors-mutual": _random("A4 (A3 with face = true): sites that tell most of all others", problems.MutualInformation.random, agents=8, sites=12, budget=4, seed=0),
    "nqp": _random("A4: non-convex quadratic over a random polytope", problems.NQP.random, agents=6, dim=10, constraints=5, seed=0),
    "nqp-monotone": _random("A2: monotone quadratic over a random polytope", problems.NQP.monotone, agents=6, dim=10, constraints=5, seed=0),
}  # fmt: skip


def _grid(agents: int) -> Any:
    rows = max(n for n in range(1, math.isqrt(agents) + 1) if agents % n == 0)
    if rows == 1 and agents > 3:
        raise ValueError(f"{agents} agents make no grid of two rows or more. Take another number of agents, or a ring.")
    return networks.grid(rows, agents // rows)


def _erdos_renyi(agents: int, p: float | None = None, seed: int = 0) -> Any:
    usual = min(1.0, 2 * math.log(max(agents, 2)) / max(agents, 2))
    return networks.erdos_renyi(agents, usual if p is None else p, seed)


#: graphs; those whose makers take no `agents` have a fixed size
NETWORKS: dict[str, Entry] = {
    "ring": Entry("every agent has two neighbours", lambda agents: networks.ring(agents)),
    "path": Entry("a line", lambda agents: networks.path(agents)),
    "star": Entry("every agent talks to the first", lambda agents: networks.star(agents)),
    "complete": Entry("every agent talks to every other", lambda agents: networks.complete(agents)),
    "grid": Entry("as square as the number of agents allows", _grid),
    "erdos-renyi": Entry("every link with probability p (2 log N / N if not given)", _erdos_renyi),
    "random-regular": Entry(
        "every agent has `degree` random neighbours",
        lambda agents, degree=3, seed=0: networks.random_regular(agents, degree, seed),
    ),
    "small-world": Entry(
        "a ring with a few links rewired (Watts and Strogatz)",
        lambda agents, neighbours=4, rewire=0.1, seed=0: networks.small_world(agents, neighbours, rewire, seed),
    ),
    "single": Entry("one agent alone", networks.single),
    "feeder-areas": Entry("the six areas of the 33-bus feeder, joined by its lines", lambda: area_graph()),
    "karate": Entry("Zachary's karate club, 34 members", networks.examples.karate),
    "florentine": Entry("15 families of Florence", networks.examples.florentine),
    "davis": Entry("women and events of the American South, 32 nodes", networks.examples.davis),
    "les-miserables": Entry("77 characters", networks.examples.les_miserables),
}  # fmt: skip

#: options of every network
NETWORK_OPTIONS: dict[str, Any] = {"agents": None, "lazy": None, "failing": None}


def network(make: Callable[..., Any], agents: int | None, options: Mapping[str, Any]) -> Network:
    """The network of a graph (or a finished network), made lazy and given failing links if the options say so."""
    own = {name: value for name, value in options.items() if name not in NETWORK_OPTIONS}
    if "agents" in inspect.signature(make).parameters:
        if agents is None:
            raise ValueError("the problem takes any number of agents: say how many with agents = ... for the network.")
        own["agents"] = agents
    made = make(**own)
    share = options.get("lazy")
    if isinstance(made, Network):
        if share is not None:
            why = "lazy = ... is for graphs, and this is a network that brings its weights: make it lazy there."
            raise ValueError(why)
        found = made
    else:
        weights = networks.metropolis(made)
        found = networks.Fixed(weights if share is None else networks.lazy(weights, share))
    if options.get("agents") not in (None, found.n_agents):
        raise ValueError(f"it has {found.n_agents} agents, whatever agents = ... says; leave that out.")
    chance = options.get("failing")
    return found if chance is None else networks.Failing(found, chance)


FEEDBACKS: dict[str, Callable[[], Feedback]] = {
    "full-information": models.full_information,
    "semi-bandit": models.semi_bandit,
    "zeroth-order": models.zeroth_order,
    "bandit": models.bandit,
    "two-point": models.two_point,
}
ORACLES: dict[str, Callable[[], oracles.InfeasibleProjection]] = {
    "active-set": oracles.ActiveSet, "frank-wolfe": oracles.FrankWolfe, "paper": oracles.PaperFrankWolfe,
}  # fmt: skip
DRAWS: dict[str, Callable[[], Draws]] = {"even": algorithms.EvenDraws, "independent": algorithms.IndependentDraws}


def _droculo(
    setting: Setting, horizon: int, *, feedback: str = "full-information", theta: float = 0.5,
    oracle: str = "active-set", draws: str = "even", send_x: bool | None = None,
) -> Algorithm:  # fmt: skip
    exchange = None if send_x is None else algorithms.SendXY() if send_x else algorithms.SendY()
    return algorithms.Droculo.design(
        setting, FEEDBACKS[feedback](), horizon=horizon, theta=theta, oracle=ORACLES[oracle](), draws=DRAWS[draws](),
        exchange=exchange,
    )  # fmt: skip


def _prescribed(
    setting: Setting, horizon: int, *, feedback: str = "full-information", theta: float = 0.5,
    oracle: str = "active-set", draws: str = "even", send_x: bool | None = None, step: float = 1.0,
    tolerance: float = 1.0, block: float = 1.0, slot: float = 1.0, delta: float = 0.5,
) -> Algorithm:  # fmt: skip
    scales = Scales(step=step, tolerance=tolerance, block=block, slot=slot, delta=delta)
    exchange = None if send_x is None else algorithms.SendXY() if send_x else algorithms.SendY()
    return algorithms.Droculo.prescribed(
        setting, FEEDBACKS[feedback](), horizon=horizon, theta=theta, oracle=ORACLES[oracle](), draws=DRAWS[draws](),
        exchange=exchange, scales=scales,
    )  # fmt: skip


def _published(setting: Setting, horizon: int, *, feedback: str = "full-information", theta: float = 0.5) -> Algorithm:
    return algorithms.published(setting, FEEDBACKS[feedback](), horizon=horizon, theta=theta)


def _dobga(setting: Setting, horizon: int, *, step: float = 1.0, adaptive: bool = False) -> Algorithm:
    return algorithms.DOBGA.design(setting, horizon=horizon, scales=Scales(step=step), adaptive=adaptive)


def _dpobga(setting: Setting, horizon: int, *, step: float = 1.0, adaptive: bool = False) -> Algorithm:
    return algorithms.dpobga(setting, horizon=horizon, scales=Scales(step=step), adaptive=adaptive)


def _dmfw(setting: Setting, horizon: int, *, inner: int | None = None) -> Algorithm:
    return algorithms.DMFW.design(setting, horizon=horizon, inner=inner)


def _dec_bftrl(setting: Setting, network: Network, horizon: int) -> Algorithm:
    return algorithms.DecBFTRL.design(setting, horizon=horizon, mixing_rate=network.mixing_rate)


def _of_droculo(horizon: int) -> Sequence[Mapping[str, Any]]:
    return (
        {"theta": 0.5}, {"theta": 1.0}, {"feedback": "semi-bandit", "theta": 0.5}, {"feedback": "bandit", "theta": 0.5},
    )  # fmt: skip


def _and_adaptive(horizon: int) -> Sequence[Mapping[str, Any]]:
    """With the step of its paper, and with the one that DROCULO has too, so that ours alone is not the better tuned."""
    return {}, {"adaptive": True}


#: the only list of methods: specs, comparisons, Table 1 and the command line read it
ALGORITHMS: dict[str, Entry] = {
    "droculo": Entry("DROCULO, adapting itself: any feedback, any theta, no bounds and no horizon", _droculo, "DROCULO", variants=_of_droculo),
    "droculo-prescribed": Entry(
        "DROCULO with the theorems' schedule for a known horizon and known bounds", _prescribed, "DROCULO as prescribed",
        variants=lambda T: (),
    ),
    "droculo-published": Entry(
        "DROCULO exactly as in the paper", _published, "DROCULO as published", variants=lambda T: ({"theta": 0.5},),
    ),
    "dmfw": Entry(
        "Zhu et al. 2021: `inner` Frank-Wolfe steps a round, T^(3/2) if not given", _dmfw, "DMFW",
        Promise("Zhu et al. 2021", 0.5, 2.5, 2.5),
        lambda T: ({"inner": max(1, round(math.sqrt(T)))},),  # T^(3/2), as its theorem asks, is out of reach
    ),
    "mono-dmfw": Entry(
        "Zhang et al. 2023: meta-Frank-Wolfe with one gradient a round",
        lambda setting, horizon: algorithms.MonoDMFW.design(setting, horizon=horizon), "Mono-DMFW",
        Promise("Zhang et al. 2023", 0.8, 1.0, 1.0),
    ),
    "dobga": Entry(
        "Zhang et al. 2023: one Euclidean projection a round", _dobga, "DOBGA", Promise("Zhang et al. 2023", 0.5, 1.0, None),
        _and_adaptive,
    ),
    "dpobga": Entry(
        "Liao et al. 2023: DROCULO's case of theta = 1/2, full information", _dpobga, "DPOBGA",
        Promise("Liao et al. 2023", 0.75, 0.5, 1.0), _and_adaptive,
    ),
    "dec-bftrl": Entry(
        "arXiv 2608.30271: follow the leader with barrier, a separation oracle", _dec_bftrl, "Dec-BFTRL",
        Promise("arXiv 2608.30271", 0.5, 1.0, None, in_table_1=False),
    ),
}  # fmt: skip


def title(algorithm: Mapping[str, Any]) -> str:
    """The name of a method in tables and figures, from what a spec says of it. Full information goes without saying.

    >>> title({"name": "droculo", "feedback": "semi-bandit", "theta": 0.5}), title({"name": "dmfw", "inner": 8})
    ('DROCULO, semi-bandit, theta = 1/2', 'DMFW, inner = 8')
    """
    options = {name: value for name, value in algorithm.items() if name not in ("name", "feedback", "theta")}
    parts = [ALGORITHMS[algorithm["name"]].title if algorithm["name"] in ALGORITHMS else str(algorithm["name"])]
    if algorithm.get("feedback", "full-information") != "full-information":
        parts.append(algorithm["feedback"])
    if algorithm.get("theta") is not None:
        parts.append(f"theta = {fraction(algorithm['theta'])}")
    return ", ".join([*parts, *(f"{name} = {value}" for name, value in options.items())])


def fraction(theta: float) -> str:
    """Theta as a fraction where it is one.

    >>> fraction(1 / 3), fraction(0.75), fraction(1.0), fraction(0.123)
    ('1/3', '3/4', '1', '0.123')
    """
    near = Fraction(theta).limit_denominator(12)
    return str(near) if abs(near - theta) < 1e-9 else f"{theta:.4g}"


def nearest(name: Any, known: Iterable[str]) -> str:
    """A question "did you mean ...?" if a known name is close, and the list of all known names."""
    names = list(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"There are {', '.join(names)}."
