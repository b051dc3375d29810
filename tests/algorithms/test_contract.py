"""Every algorithm plays by the rules: the ten of the paper, and the concave, A4 and two-point versions."""

import equinox as eqx
import numpy as np
import pytest
from tests.designs import PAIRS, PROBLEMS, RING, design, matchings

from droculo import Droculo, Scales, networks, oracles
from droculo.algorithms import SendXY, SendY, message_size, numbers
from droculo.testing import check_algorithm

#: every other pair, so that each case and each feedback is checked; all of them are compared with the
#: transcriptions in tests/reference
SOME = [(case, model) for k, (case, model) in enumerate(PAIRS) if k % 2 == 0]


def test_every_case_and_every_feedback_is_checked():
    for part in (0, 1):
        checked = [pair[part] for pair in SOME]
        assert set(checked) == {pair[part] for pair in PAIRS}


@pytest.mark.parametrize(("case", "model"), SOME)
def test_contract(case, model):
    check_algorithm(PROBLEMS[case], design(case, model), RING)


def test_lean_exchange_sends_half():
    agent = design("A2", "full_information", exchange=SendY())
    both = design("A2", "full_information", exchange=SendXY())
    assert message_size(agent) == PROBLEMS["A2"].set.dim == message_size(both) / 2


@pytest.mark.parametrize(
    ("oracle", "exchange"), [(None, SendY), (oracles.FrankWolfe(), SendXY), (oracles.PaperFrankWolfe(), SendXY)]
)
def test_x_is_sent_where_the_oracle_starts_from_it(oracle, exchange):
    assert isinstance(design("A2", "full_information", oracle=oracle).exchange, exchange)


def test_the_papers_oracle():
    check_algorithm(PROBLEMS["A3"], design("A3", "semi_bandit", oracle=oracles.PaperFrankWolfe()), RING)


@pytest.mark.parametrize(
    "network", [networks.Failing(RING, 0.3), networks.TimeVarying([networks.from_matrix(m) for m in matchings()])]
)
def test_other_networks(network):
    check_algorithm(PROBLEMS["A2"], design("A2", "full_information"), network)


def test_the_check_notices_a_false_bill():
    class Forgetful(Droculo):
        @property
        def message(self):
            return numbers(1)

    honest = design("A1", "semi_bandit")
    liar = Forgetful(**{name: getattr(honest, name) for name in honest.__dataclass_fields__})
    with pytest.raises(AssertionError, match="declares messages of 1 numbers"):
        check_algorithm(PROBLEMS["A1"], liar, RING)


def test_the_check_notices_an_infeasible_query():
    """The query as printed in the paper, z x, with its ball: outside of K for a shrunk set."""
    agent = design("A2", "bandit", scales=Scales(delta=0.9))
    printed = eqx.tree_at(lambda a: a.linearization.least_element, agent, np.zeros(5))
    with pytest.raises(ValueError, match=r"actions and queries between rounds .* lie outside"):
        check_algorithm(PROBLEMS["A2"], printed, RING)
