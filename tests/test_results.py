"""Results are what they were, or RESULTS_VERSION says that they are not."""

import numpy as np
import pytest

from droculo.engine.results_version import RESULTS_VERSION
from tests import results


@pytest.fixture(scope="module")
def stored():
    version, rows = results.load()
    assert version == RESULTS_VERSION, (
        "RESULTS_VERSION was raised: store the new results with `python -m tests.results`"
    )
    return rows


def test_results_are_those_of_their_version(stored):
    changed = list(results.changed(results.found(), stored))
    assert not changed, (
        f"results changed: {changed}. If that is meant, raise droculo.engine.results_version.RESULTS_VERSION and store the new "
        "ones with `python -m tests.results`; if they are new, the command alone will do."
    )


def test_a_change_is_noticed_and_rounding_is_not():
    old = {"run": {"action": [0.5, 1e-9, 2.0], "costs": [3, 4]}}

    def new(action, costs=(3, 4)):
        return {"run": {"action": np.array(action), "costs": np.array(costs)}}

    assert list(results.changed(new([0.5 + 1e-12, 1.1e-9, 2.0 - 1e-12]), old)) == []
    assert list(results.changed(new([0.5001, 1e-9, 2.0]), old)) == ["run, action"]
    assert list(results.changed(new([0.5, 1e-9, 2.0], (3, 5)), old)) == ["run, costs"]
    assert list(results.changed({}, old)) == ["run, action", "run, costs"]
