"""Every algorithm plays by the rules: the ten of the paper, and the concave, A4 and two-point versions."""

import dataclasses

import equinox as eqx
import numpy as np
import pytest
from tests.designs import PAIRS, PROBLEMS, RING, design, matchings, prescribed

from droculo import Scales, feedback, networks, oracles
from droculo.algorithms import Growing, SendXY, SendY, published
from droculo.algorithms.contract import message_size
from droculo.testing import check_algorithm


@pytest.mark.parametrize(("case", "model"), PAIRS)
def test_contract(case, model):
    check_algorithm(PROBLEMS[case], design(case, model), RING)


@pytest.mark.parametrize(
    ("case", "model"), [("A2", "full_information"), ("A2", "semi_bandit"), ("A1", "bandit"), ("A3", "two_point")]
)
def test_a_schedule_for_a_known_horizon(case, model):
    check_algorithm(PROBLEMS[case], prescribed(case, model), RING)


def test_a_run_that_ends_within_a_block_and_within_a_slot():
    agent = dataclasses.replace(design("A2", "semi_bandit", horizon=None), timetable=Growing(0.6, 0.5))
    for rounds in (14, 15):
        last = agent.timetable.until(rounds).at(-1)
        assert (last.first, last.end, last.slot) == (12, 16, 2)
        check_algorithm(PROBLEMS["A2"], agent, RING, rounds=rounds)


def test_the_paper_as_it_stands():
    """With the theorem's step sizes agents move only in longer runs."""
    problem = PROBLEMS["A2"]
    check_algorithm(problem, published(problem.setting, feedback.full_information(), horizon=256, theta=0.5), RING)


def test_sending_y_alone_halves_the_message():
    """Beside the two numbers of the adaptive step."""
    dim = PROBLEMS["A2"].set.dim
    for make, more in ((design, 2), (prescribed, 0)):
        assert message_size(make("A2", "full_information", exchange=SendY())) == dim + more
        assert message_size(make("A2", "full_information", exchange=SendXY())) == 2 * dim + more


@pytest.mark.parametrize(
    ("oracle", "exchange"), [(None, SendY), (oracles.FrankWolfe(), SendXY), (oracles.PaperFrankWolfe(), SendXY)]
)
def test_x_is_sent_where_the_oracle_starts_from_it(oracle, exchange):
    """And y is kept near it, since it would have a long way to a point far outside."""
    agent = design("A2", "full_information", oracle=oracle, steps=None)
    assert isinstance(agent.exchange, exchange)
    assert (float(agent.steps.slack) > 0) == (oracle is None)


def test_the_default_with_an_oracle_that_starts_from_x():
    check_algorithm(PROBLEMS["A1"], design("A1", "bandit", steps=None), RING)


def test_the_papers_oracle():
    check_algorithm(PROBLEMS["A3"], prescribed("A3", "semi_bandit", oracle=oracles.PaperFrankWolfe()), RING)


@pytest.mark.parametrize(
    "network", [networks.Failing(RING, 0.3), networks.TimeVarying([networks.from_matrix(m) for m in matchings()])]
)
def test_other_networks(network):
    check_algorithm(PROBLEMS["A2"], design("A2", "full_information"), network)


def test_the_check_notices_an_infeasible_query():
    """The query as printed in the paper, z x, with its ball: outside of K for a shrunk set."""
    agent = prescribed("A2", "bandit", scales=Scales(step=60.0, tolerance=0.1, delta=0.9))
    printed = eqx.tree_at(lambda a: a.linearization.least_element, agent, np.zeros(5))
    with pytest.raises(ValueError, match=r"actions and queries between rounds .* lie outside"):
        check_algorithm(PROBLEMS["A2"], printed, RING)
