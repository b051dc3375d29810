"""Starts: what an import loads, and what the next process need not compile again."""

import json
import os
import subprocess
import sys

import jax
import pytest
from jax.experimental.compilation_cache.compilation_cache import reset_cache

import droculo

#: slow to import, and not needed before somebody uses them
LATER = [
    "matplotlib", "networkx", "scipy.integrate", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.spatial",
    "scipy.stats",
]  # fmt: skip

#: plays a short run and says what the cache did; `{domain}` is the set
PLAY = """
import collections, hashlib, json
from jax import monitoring
seen = collections.Counter()
monitoring.register_event_listener(lambda event, **_: seen.update([event.removeprefix("/jax/compilation_cache/")]))
import jax.numpy as jnp
from droculo import Droculo, feedback, linearizations, networks, problems, sets, simulate
problem = problems.from_function(
    lambda i, t, x: jnp.dot(jnp.cos(i + t + jnp.arange(3.0)), x) - jnp.dot(x, x) / 2, {domain}, linearizations.Concave(),
    gradient_bound=4.0, value_bound=6.0, agents=2,
)
agent = Droculo.design(problem.setting, feedback.semi_bandit(), horizon=16, theta=0.5)
run = simulate(problem, agent, networks.from_graph(networks.ring(2)), key=0, progress=False)
assert run.ledger.loo_calls.sum() > 0
digest = hashlib.sha256(run.actions.tobytes()).hexdigest()
print(json.dumps(dict(seen) | {{"actions": digest}}))
"""


def fresh(code, **environment):
    """What a new process prints last; a warning ends it."""
    kept = {name: value for name, value in os.environ.items() if name != "DROCULO_CACHE"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, timeout=300, env=kept | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_an_import_loads_nothing_slow():
    loaded = fresh("import droculo, json, sys; print(json.dumps(sorted(sys.modules)))")
    assert not set(LATER) & set(loaded)
    assert {"jax", "equinox", "droculo.measure", "droculo.problems"} <= set(loaded)


@pytest.fixture
def restored():
    """JAX's configuration as it was."""
    names = [
        "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes",
    ]  # fmt: skip
    before = {name: getattr(jax.config, name) for name in names}
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    reset_cache()  # or JAX would go on in the folder that it used last


def test_the_second_start_compiles_nothing(tmp_path):
    folder = tmp_path / "programs"
    first = fresh(PLAY.format(domain="sets.Simplex(3)"), DROCULO_CACHE=str(folder))
    files = sorted(folder.iterdir())
    second = fresh(PLAY.format(domain="sets.Simplex(3)"), DROCULO_CACHE=str(folder))
    programs = [file for file in files if not file.name.startswith("native-")]  # that one is the C compiler's
    assert len(programs) == first["cache_misses"] > 0
    assert any("stretch" in file.name for file in files)
    assert sorted(folder.iterdir()) == files
    assert second["cache_hits"] == second["compile_requests_use_cache"]
    assert first["actions"] == second["actions"]


def test_programs_that_call_the_host_are_compiled_at_every_start(tmp_path):
    program = PLAY.format(domain="sets.Polytope([[1.0, 1.0, 1.0]], [2.0], 0.0, 1.0)")
    first, second = (fresh(program, DROCULO_CACHE=str(tmp_path)) for _ in range(2))
    assert not any("stretch" in file.name for file in tmp_path.iterdir())
    assert 0 < second["cache_hits"] < second["compile_requests_use_cache"]
    assert first["actions"] == second["actions"]


@pytest.mark.usefixtures("restored")
def test_where_programs_are_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("DROCULO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    jax.config.update("jax_compilation_cache_dir", None)
    assert droculo.keep_compiled() == tmp_path / "caches" / "droculo"
    assert (tmp_path / "caches" / "droculo").is_dir()
    assert droculo.keep_compiled(tmp_path / "here") == tmp_path / "here"
    assert droculo.keep_compiled() == tmp_path / "here"  # what JAX uses by now
    monkeypatch.setenv("DROCULO_CACHE", str(tmp_path / "there"))
    assert droculo.keep_compiled() == tmp_path / "there"
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "there")


@pytest.mark.usefixtures("restored")
def test_another_folder_is_used_at_once(tmp_path):
    for name, number in (("one", 1.0), ("two", 2.0)):
        droculo.keep_compiled(tmp_path / name)
        jax.jit(lambda x, number=number: x * number + number)(3.0)
        assert any((tmp_path / name).iterdir())


@pytest.mark.usefixtures("restored")
def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("no folder")
    before = jax.config.jax_compilation_cache_dir
    with pytest.warns(UserWarning, match="are not kept: .* is not a folder that can be written"):
        assert droculo.keep_compiled(tmp_path / "file") is None
    assert jax.config.jax_compilation_cache_dir == before
