"""What compiles: shapes do, numbers do not. A sweep over seeds, scales or data pays for one program."""

import jax
import numpy as np
import pytest
from jax import monitoring

from droculo import Droculo, Scales, feedback, measure, networks, problems, simulate
from droculo.algorithms import AdaptiveStep

AGENTS = 3
COMPILED = []  # the names of all programs compiled in this process, in order


@monitoring.register_event_duration_secs_listener
def _listen(event, seconds, *, fun_name="", **_):
    if event == "/jax/core/compile/backend_compile_duration":
        COMPILED.append(fun_name)


@pytest.fixture(autouse=True)
def _no_clearing(monkeypatch):
    """Programs of other tests may fill the process; making room now would compile ours twice."""
    monkeypatch.setattr(jax, "clear_caches", lambda: None)


def top_b(seed=0, budget=2, dim=5, **how):
    return problems.TopB.random(agents=AGENTS, dim=dim, budget=budget, seed=seed, **how)


def prescribed(problem, model, **scales):
    return Droculo.prescribed(problem.setting, model(), horizon=40, theta=0.5, scales=Scales(**scales))


def adaptive(problem, model, factor=1.0):
    """With every constant of the step rule multiplied."""
    steps = jax.tree.map(lambda leaf: factor * leaf if np.ndim(leaf) == 0 else leaf, AdaptiveStep(problem.set))
    return Droculo.design(problem.setting, model(), theta=0.5, steps=steps)


def play(problem, model, *, key=0, measured=False, rounds=40, designed=adaptive, **numbers):
    """The names of the programs that a run compiles, from the design on."""
    before = len(COMPILED)
    agent = designed(problem, model, **numbers)
    run = simulate(problem, agent, networks.from_graph(networks.ring(AGENTS)), key=key, progress=False, rounds=rounds)
    if measured:
        measure.regret(problem, run)
        measure.certificate(problem, run)
    return COMPILED[before:]


@pytest.mark.parametrize("designed", [adaptive, prescribed])
@pytest.mark.parametrize("model", [feedback.semi_bandit, feedback.bandit], ids=lambda model: model.__name__)
def test_numbers_do_not_compile(model, designed):
    play(top_b(), model, measured=True, designed=designed)
    changed = [{"step": 2.0}, {"tolerance": 0.1}, {"delta": 0.3}] if designed is prescribed else [{"factor": 0.9}]
    for numbers in changed:
        assert play(top_b(), model, designed=designed, **numbers) == [], numbers
    assert play(top_b(), model, key=7, measured=True, designed=designed) == []
    assert play(top_b(), model, key=jax.random.key(8), designed=designed) == []
    assert play(top_b(seed=1), model, measured=True, designed=designed) == []
    assert play(top_b(seed=2, swing=1.0, spread=2.0), model, designed=designed) == []
    assert play(top_b(budget=3), model, designed=designed) == []


def test_rounds_do_not_compile_where_there_is_no_horizon():
    play(top_b(), feedback.full_information)
    assert play(top_b(), feedback.full_information, rounds=7) == []
    assert play(top_b(), feedback.full_information, rounds=1234) == []


def test_shapes_do_compile():
    assert "jit(stretch)" in play(top_b(dim=17), feedback.full_information)


OTHERS = {
    "water-filling": lambda s: problems.WaterFilling.random(agents=AGENTS, dim=4, budget=2.0 + s / 4, seed=s),
    "gamma < 1": lambda s: problems.WeakQuadratic.random(agents=AGENTS, dim=4, budget=2, seed=s, slope=0.3 + s / 4),
    "noisy": lambda s: problems.Noisy(top_b(seed=s), gradient=1.0 + s, value=1.0),
    "recommendation": lambda s: problems.Recommendation.synthetic(
        agents=AGENTS, items=5, users=6, budget=1 + s, batch=2, seed=s
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_data_of_other_problems_do_not_compile(name):
    play(OTHERS[name](0), feedback.full_information, rounds=16)
    assert play(OTHERS[name](1), feedback.full_information, rounds=16) == []


def test_the_weights_of_a_network_do_not_compile():
    problem = top_b()
    agent = Droculo.design(problem.setting, feedback.full_information(), horizon=16, theta=0.5)
    simulate(problem, agent, networks.from_graph(networks.ring(AGENTS)), key=0, progress=False)
    before = len(COMPILED)
    simulate(problem, agent, networks.from_graph(networks.ring(AGENTS), np.full(AGENTS, 0.2)), key=0, progress=False)
    assert COMPILED[before:] == []
