"""The columns of stored results: one row for each run, and one for each recorded time of a run."""

from __future__ import annotations

from typing import Any, NamedTuple

from droculo.engine.costs import COSTS, COUNTED

Row = dict[str, Any]


class Rows(NamedTuple):
    """The rows of a cell."""

    runs: list[Row]  # one for each seed
    points: list[Row]  # one for each seed and recorded time


#: shares of the reward of the best fixed point, over all rounds and over the last quarter of them: column -> meaning
SHARES = {
    "share": "reward over that of the best fixed point, over all rounds; null where no best fixed point is known, where it earns nothing, and where measures are sampled",
    "share_last": "the same over the last quarter of the rounds",
    "still": "what staying at the first decision earns, over all rounds, as such a share",
    "still_last": "the same over the last quarter of the rounds",
    "luck": "what a random vertex of the set earns, over all rounds, as such a share: the mean over 32 of them",
    "luck_last": "the same over the last quarter of the rounds",
}
#: column -> (type, meaning). Costs are those of the average agent.
RUNS: dict[str, tuple[str, str]] = {
    "run": ("string", "the name of the cell's files: a digest of spec, version and code; its seeds share it"),
    "seed": ("int64", "of the agents' randomness; the adversary's is an option of the problem"),
    "problem": ("string", "its name and options"),
    "network": ("string", "its name and options"),
    "algorithm": ("string", "its name"),
    "label": ("string", "the algorithm with feedback, theta and options, as tables and legends show it"),
    "feedback": ("string", "what an agent may ask for"),
    "theta": ("float64", "the dial between regret and communication; null where a method has none"),
    "horizon": ("int64", "T, rounds"),
    "agents": ("int64", "N"),
    "dim": ("int64", "d, coordinates"),
    "domain": ("string", "the kind of set"),
    "case": ("string", "the class of functions: concave, A1, A2, A3, A4 or own"),
    "alpha": ("float64", "the share of the optimum that regret is measured against"),
    "mixing_rate": ("float64", "an upper bound on the share of disagreement that is left after an exchange"),
    "blocks": ("int64", "how many blocks are played to their end, each of which ends with an exchange"),
    "promised_exponent": ("float64", "the power of T that bounds regret in the theorem; null where no theorem applies"),
    "promised_by": ("string", "the theorem"),
    "links": ("list<int64>", "the network's links, both ends of each one after another; null for large networks"),
    "reward": ("float64", "(1/N) sum over rounds and functions of f(action), mean over agents"),
    "regret": ("float64", "alpha-regret after T rounds, mean over agents; null where no best fixed point is known"),
    "regret_worst": ("float64", "that of the worst agent"),
    "certified": ("float64", "the certificate, an upper bound on alpha-regret, mean over agents; null without gradients"),
    "certified_worst": ("float64", "that of the worst agent"),
    "certified_error": ("float64", "its standard error, of the worst agent, where it was estimated from a sample; else null"),
    "consensus_gap": ("float64", "the largest distance of a last decision to the mean of all"),
    "consensus_gap_mean": ("float64", "the largest distance of a decision to the mean of all, averaged over rounds"),
    "best": ("float64", "the reward of the best fixed point over T rounds"),
    "best_kind": ("string", "exact, certified (proven to within one percent), given by the user, or found"),
    "best_gap": ("float64", "a proven bound on how much larger the optimum may be; null where none is known"),
    **{name: ("float64", about) for name, about in SHARES.items()},
    "warnings": ("string", "what answers broke of what the problem declares, in the runs of all seeds, one sentence a line; null if nothing"),
    "driver": ("string", "simulator, mpi or zenoh"),
    "processes": ("int64", "that shared the agents; null in the simulator"),
    "missed_rounds": ("int64", "of all agents together, in which a dead agent did not play; null in the simulator"),
    "failed_links": ("int64", "ends of links, over all exchanges, that did not count; null in the simulator"),
    "disagreements": ("int64", "links, over all exchanges, that counted at one end only; null in the simulator"),
    "sampled": ("bool", "true if rewards, regret and certificate are estimates from a sample"),
    **{name: ("float64", about) for name, about in COSTS.items()},
    "timings": ("list<float64>", "seconds of each timed run of this seed, without compilation; null unless it was timed"),
    "seconds": ("float64", "of all seeds of the cell together, compilation and measures included; differs from run to run"),
    "spec": ("string", "the cell, as JSON"),
    "droculo": ("string", "version"),
    "results_version": ("int64", "raised by hand when the same run has other results; null in results made before it was counted"),
    "jax": ("string", "version"),
    "numpy": ("string", "version"),
    "python": ("string", "version"),
    "platform": ("string", "operating system and processor"),
    "device": ("string", "the processor or accelerator that computed it"),
    "played_at": ("string", "UTC; differs from run to run"),
}  # fmt: skip
POINTS: dict[str, tuple[str, str]] = {
    "run": ("string", "as in runs"),
    "seed": ("int64", "as in runs"),
    "round": ("int64", "t, the number of rounds that all other columns cover"),
    "reward": ("float64", "cumulative, mean over agents"),
    "regret": ("float64", "cumulative alpha-regret, mean over agents, against the best fixed point of these t rounds if that is known exactly"),
    "certified": ("float64", "the certificate of the first t rounds, mean over agents"),
    "moving": ("float64", "cumulative reward of a comparator that moves, the best fixed point of every stretch between two recorded times; null where these are not known exactly"),
    "consensus_gap": ("float64", "the largest distance of a decision to the mean of all, in round t"),
    "exchanges": ("float64", "cumulative, as all costs"),
    "bytes": ("float64", ""),
    **{name: ("float64", "known at about 20 times of a run and interpolated" if name == "messages" else "") for name in COUNTED},
    "queries": ("float64", "gradients or values"),
    "agent_regret": ("list<float64>", "of every agent; null for large networks"),
    "agent_certified": ("list<float64>", "of every agent"),
    "agent_gap": ("list<float64>", "of every agent: the distance of its decision to the mean of all"),
}  # fmt: skip
#: columns that differ between repetitions of the same run
FLEETING = ("timings", "seconds", "played_at")
