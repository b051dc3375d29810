"""The identity of a stored run survives another processor and a renamed class, and tells runs apart."""

import json
from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
import pytest
from tests import designs

from droculo import Checkpoint, Record, networks, simulate
from droculo.engine import fingerprint as module
from droculo.engine.fingerprint import Fingerprint, behaviour_of_algorithm, behaviour_of_problem, fingerprint

LONG = np.random.default_rng(0).uniform(size=100_000)


class Box(eqx.Module):
    upper: np.ndarray
    dim: int = eqx.field(static=True)


@dataclass
class RenamedBox:
    highest: np.ndarray
    length: int


def rounded_elsewhere(array):
    """Every number with another last digit."""
    return array * (1 + 2e-16 * np.sign(np.random.default_rng(1).standard_normal(array.shape)))


def changed_in_one_place(array):
    array = array.copy()
    array[len(array) // 2] += 0.01
    return array


@pytest.mark.parametrize("array", [LONG, LONG[:5]], ids=["long", "short"])
def test_rounding_is_forgiven_and_one_changed_number_is_not(array):
    mine = fingerprint(Box(array, 3))
    assert mine.matches(fingerprint(Box(rounded_elsewhere(array), 3)))
    assert not mine.matches(fingerprint(Box(changed_in_one_place(array), 3)))
    assert not mine.matches(fingerprint(Box(array, 4)))
    assert not mine.matches(fingerprint(Box(array[:-1], 3)))


def test_names_do_not_count():
    assert fingerprint(Box(LONG, 3)).matches(fingerprint(RenamedBox(LONG, 3)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2), (1, True), ("a", "b"), (None, 0), ([1, [2]], [1, 2]), (np.inf, 0.0), (np.inf, np.nan), (1e-9, 2e-9),
        (np.arange(3), np.arange(3.0)), (np.array([0.0, np.inf]), np.array([np.inf, 0.0])),
        (jax.random.key(0), jax.random.key(1)), ({"a": 1}, {"b": 1}), (b"a", b"b"), (Record(every=2), Record(every=3)),
    ],
)  # fmt: skip
def test_other_values_are_another_run(one, other):
    assert fingerprint(one).matches(fingerprint(one))
    assert not fingerprint(one).matches(fingerprint(other))


SCALE = np.ones(3)


def test_functions_are_known_by_what_they_captured():
    def of(weights, default=1.0):
        def inner(x, y=default):
            return (weights * x).sum() + y

        return jax.jit(inner)

    mine = fingerprint(of(np.ones(3)))
    assert mine.matches(fingerprint(of(np.ones(3))))
    assert not mine.matches(fingerprint(of(np.arange(3.0))))
    assert not mine.matches(fingerprint(of(np.ones(3), 2.0)))

    def with_global(x):
        return SCALE * x

    before = fingerprint(with_global)
    SCALE[1] = 7.0
    assert not before.matches(fingerprint(with_global))


def test_other_results_are_another_run(monkeypatch):
    mine = fingerprint(3)
    monkeypatch.setattr(module, "RESULTS_VERSION", -1)
    assert not mine.matches(fingerprint(3))


def test_json_keeps_all_digits():
    mine = fingerprint(LONG, 0.1 + 0.2)
    assert Fingerprint.from_json(json.loads(json.dumps(mine.to_json()))) == mine
    for wrong in ("text", {}, {"exact": "x", "numbers": 3}, {"exact": "x", "numbers": [["a"]]}):
        with pytest.raises(ValueError, match=r"not the identity|could not convert"):
            Fingerprint.from_json(wrong)


def test_behaviour_tells_algorithms_and_problems_apart():
    """Also those whose numbers are the same."""
    problem = designs.PROBLEMS["A2"]
    agents = np.arange(designs.N)
    mine = fingerprint(behaviour_of_problem(problem, agents, 36))
    assert mine.matches(fingerprint(behaviour_of_problem(problem, agents, 36)))
    assert not mine.matches(fingerprint(behaviour_of_problem(problem, agents[1:], 36)))
    first, second = (
        fingerprint(behaviour_of_algorithm(designs.design("A2", model)))
        for model in ("full_information", "semi_bandit")
    )
    assert not first.matches(second)


def test_a_checkpoint_of_another_processor_is_gone_on_with(tmp_path):
    problem, ring = designs.PROBLEMS["A2"], designs.RING
    agent = designs.design("A2", "full_information")

    def play(network=ring):
        return simulate(problem, agent, network, key=0, checkpoint=Checkpoint(tmp_path / "run"))

    whole = play()
    owner = tmp_path / "run" / "run.json"
    kept = json.loads(owner.read_text())
    kept["numbers"] = [rounded_elsewhere(np.array(each)).tolist() for each in kept["numbers"]]
    owner.write_text(json.dumps(kept))
    np.testing.assert_array_equal(play().actions, whole.actions)
    with pytest.raises(ValueError, match="belongs to a run with another"):
        play(networks.from_graph(networks.complete(designs.N)))
    owner.write_text(owner.read_text()[:100])
    with pytest.raises(ValueError, match="belongs to a run with another"):
        play()
