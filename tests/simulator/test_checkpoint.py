"""A run can be interrupted anywhere and goes on to a bit-identical end."""

import jax.numpy as jnp
import numpy as np
import pytest

from droculo import Checkpoint, Droculo, Record, Scales, feedback, networks, problems, simulate

N = 3
PROBLEM = problems.TopB.random(agents=N, dim=4, budget=2, seed=0)
RING = networks.from_graph(networks.ring(N))
AGENT = Droculo.design(PROBLEM.setting, feedback.bandit(), horizon=230, theta=0.6)
PRESCRIBED = Droculo.prescribed(
    PROBLEM.setting, feedback.bandit(), horizon=230, theta=0.6, scales=Scales(step=50.0, tolerance=0.1)
)


#: one record for all, and so one program
EVERY_OTHER = Record(every=2, queries=True)


class PowerCutError(Exception):
    pass


class Unplugged(Checkpoint):
    """Loses power after a number of pieces."""

    def save(self, number, arrays):
        super().save(number, arrays)
        if number == self.last:
            raise PowerCutError


@pytest.mark.parametrize(
    ("agent", "last"), [(AGENT, 0), (AGENT, 3), (AGENT, 9), (PRESCRIBED, 3)], ids=["0", "3", "9", "prescribed"]
)
def test_resuming_is_bit_identical(tmp_path, agent, last):
    whole = simulate(PROBLEM, agent, RING, key=4, record=EVERY_OTHER)
    folder = tmp_path / "run"
    broken = Unplugged(folder)
    object.__setattr__(broken, "last", last)
    with pytest.raises(PowerCutError):
        simulate(PROBLEM, agent, RING, key=4, record=EVERY_OTHER, checkpoint=broken)
    again = simulate(PROBLEM, agent, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(folder))
    for name in ("rounds", "actions", "decisions", "queries"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(again, name))
    for name, spent in whole.ledger.counts.items():
        np.testing.assert_array_equal(spent, again.ledger.counts[name])
    np.testing.assert_array_equal(whole.states.y, again.states.y)


def test_a_finished_run_is_read_back(tmp_path):
    first = simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(tmp_path / "run"))
    second = simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(tmp_path / "run"))
    np.testing.assert_array_equal(first.actions, second.actions)


def test_a_half_written_piece_is_not_read(tmp_path):
    folder = tmp_path / "run"
    simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(folder))
    files = sorted(folder.glob("piece-*.npz"))
    files[-1].rename(files[-1].with_suffix(".part"))
    again = simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(folder))
    np.testing.assert_array_equal(again.actions, simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER).actions)


def test_another_run_is_refused(tmp_path):
    folder = tmp_path / "run"
    simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(folder))
    with pytest.raises(ValueError, match="belongs to a run with another problem"):
        simulate(PROBLEM, AGENT, RING, key=5, record=EVERY_OTHER, checkpoint=Checkpoint(folder))
    other = problems.TopB.random(agents=N, dim=4, budget=2, seed=1)
    with pytest.raises(ValueError, match="belongs to a run with another problem"):
        simulate(other, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(folder))
    with pytest.raises(ValueError, match="belongs to a run with another problem"):
        simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(folder), rounds=231)


@pytest.mark.parametrize("functions", [True, False])
def test_another_function_is_refused(tmp_path, functions):
    """Functions have no numbers to compare, so the program they make is compared; the same one again is let in."""

    def problem(weights):
        if functions:
            f = (lambda i, t, x: x.sum()) if weights is None else (lambda i, t, x: (jnp.arange(4.0) * x).sum())
        else:
            scale = np.ones(4) if weights is None else np.arange(4.0)
            f = lambda i, t, x: (scale * x).sum()  # noqa: E731
        return problems.from_function(f, PROBLEM.set, PROBLEM.linearization, gradient_bound=5.0, value_bound=9.0)

    def run(p):
        agent = Droculo.design(p.setting, feedback.full_information(), horizon=30, theta=0.5)
        return simulate(p, agent, RING, key=0, checkpoint=Checkpoint(tmp_path / "run"))

    first = run(problem(None))
    np.testing.assert_array_equal(first.actions, run(problem(None)).actions)
    with pytest.raises(ValueError, match="belongs to a run with another problem"):
        run(problem("other"))


def test_a_damaged_piece_is_played_again(tmp_path):
    folder = tmp_path / "run"
    whole = simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(folder))
    pieces = sorted(folder.glob("piece-*.npz"))
    pieces[4].write_bytes(pieces[4].read_bytes()[:100])
    again = simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(folder))
    np.testing.assert_array_equal(whole.actions, again.actions)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(ValueError, match=r"a checkpoint is a folder, and .* is a file"):
        simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(tmp_path / "run"))


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        simulate(PROBLEM, AGENT, RING, key=4, record=EVERY_OTHER, checkpoint=Checkpoint(tmp_path))
    assert (tmp_path / "notes.txt").read_text() == "mine"
