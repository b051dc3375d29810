"""Checks of the parts of DROCULO: draws, step rules and exchanges keep the contracts that its guarantees rest on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from droculo.algorithms import Draws, Exchange, StepRule
from droculo.algorithms.contract import Keys, Slot, numbers
from droculo.algorithms.draws import Draw
from droculo.algorithms.exchange import Mixed
from droculo.algorithms.steps import Here
from droculo.feedback import OnePoint, Signal
from droculo.networks import Network, from_graph, ring
from droculo.oracles import ActiveSet
from droculo.precision import double
from droculo.sets import Box
from droculo.testing.points import kinds

#: Slots whose draws are tested.
DRAWS = 4096
AXIS = "agents"


def check_draws(draws: Draws, /, *, signal: Signal | None = None, dim: int = 5, slot: int = 4, seed: int = 0) -> None:
    """Raise an AssertionError, in a full sentence, for the first promise that is broken.

    u is uniform, the query round is uniform over the slot, directions have mean zero and the second moments of the
    sphere, all of them at every place in the block; the same slot gives the same draw; the state keeps its types.
    """
    with double():
        signal = signal or OnePoint().prepare(Box(np.zeros(dim), np.ones(dim)), 0.1)
        dtype, block = np.dtype(np.float64), 6
        state = draws.init(dim, dtype)

        def draw(key: Array, index: int) -> Draw:
            start, place = jnp.asarray(3 * block * slot), jnp.asarray(index)
            length = jnp.asarray(slot)
            one = Slot(start + index * slot, start, place, jnp.asarray(block), length, length, Keys(key, key), slot)
            return draws.draw(signal, one, dim, dtype, state)

        for index in (0, 1, block - 1):
            found = jax.vmap(draw, (0, None))(jax.random.split(jax.random.key(seed), DRAWS), index)
            u = np.sort(found.u)
            assert 0 <= u[0] <= u[-1] <= 1, f"u in slot {index} must lie in [0, 1]."
            gap = np.max(np.abs(u - (np.arange(DRAWS) + 0.5) / DRAWS))
            assert gap <= 2 / np.sqrt(DRAWS), f"u in slot {index} is not uniform: its distribution is off by {gap:.3f}."
            when = np.bincount(np.asarray(found.when), minlength=slot)
            assert len(when) == slot, f"the query round of slot {index} must lie in 0..{slot - 1}."
            worst = np.max(np.abs(when / DRAWS - 1 / slot))
            assert worst <= 4 / np.sqrt(DRAWS), f"the query round of slot {index} is not uniform: off by {worst:.3f}."
            _check_directions(np.asarray(found.v), signal, index)
        key = jax.random.key(seed)
        twice = [jax.tree.leaves(draw(key, 1)) for _ in range(2)]
        assert all(map(np.array_equal, *twice)), "the same slot must have the same draw."
        _check_same_types(state, draws.next(state, Keys(key, key)), "next()")


def _check_directions(v: np.ndarray, signal: Signal, index: int) -> None:
    keys = jax.random.split(jax.random.key(1), DRAWS)
    expected = np.asarray(jax.vmap(lambda key: signal.draw(key, v.shape[1], v.dtype))(keys))
    scale = max(float(np.abs(expected).max()), 1e-12)
    mean = np.max(np.abs(v.mean(axis=0))) / scale
    assert mean <= 5 / np.sqrt(DRAWS), f"directions of slot {index} have mean {mean:.3f}: the estimate is biased."
    moments = np.max(np.abs(v.T @ v - expected.T @ expected)) / DRAWS / scale**2
    assert moments <= 8 / np.sqrt(DRAWS), f"second moments of the directions of slot {index} are off by {moments:.3f}."


def check_steps(steps: StepRule, /, *, dim: int = 5, blocks: int = 20, seed: int = 0) -> None:
    """Raise an AssertionError, in a full sentence, for the first promise that is broken.

    Moves are finite and never against the signal, and tolerances positive, for signals of all lengths and for a signal of zero;
    what is said has the shapes of `message` and is credible; a y that is kept lies no farther from K than `outside`; the state
    keeps its types; the rule can be compiled and gives the same.
    """
    with double():
        rng = np.random.default_rng(seed)
        domain = Box(np.zeros(dim), np.ones(dim))
        x = y = jnp.full(dim, 0.5)
        state = steps.init(x)
        step = jax.jit(lambda *given: steps.step(*given))
        oracle = ActiveSet()  # compiled once: its loop would be compiled again for every block
        project = jax.jit(lambda x, y, eps: oracle.project(domain, x, y, eps, oracle.init(domain, x)))
        for block in range(blocks):
            said = steps.say(state)
            shapes, declared = _shapes(said), _shapes(steps.message)
            assert shapes == declared, f"the rule says arrays of shapes {shapes}, and its message declares others."
            assert bool(steps.credible(said)), f"the rule would not believe what it says itself in block {block}."
            length = 0.0 if block == blocks // 2 else 10.0 ** rng.integers(-6, 7)
            signal = jnp.asarray(length * rng.standard_normal(dim))
            here = Here(x, y, y + jnp.asarray(0.1 * rng.standard_normal(dim)))
            move, new = step(signal, here, said, state)
            plain = steps.step(signal, here, said, state)[0]
            assert bool(jnp.all(jnp.isfinite(move.by))), f"the move of block {block} is not finite: {move.by}."
            along = float(jnp.dot(move.by, signal))
            assert along > 0 or (along == 0 and length == 0), f"the move of block {block} does not follow its signal."
            exact = float(move.tolerance)
            assert 0 < exact < np.inf, f"the tolerance of block {block} must be positive and finite; got {exact}."
            same = all(np.allclose(a, b, rtol=1e-9) for a, b in zip(move, plain, strict=True))
            assert same, "the compiled rule gives another move."
            _check_same_types(state, new, "step()")
            target = here.mixed + move.by
            out = project(x, target, move.tolerance)
            y, x, state = steps.keep(target, out), out.x, new
            far, most = float(jnp.linalg.norm(y - jnp.clip(y, 0, 1))), float(steps.outside)
            assert far <= most * (1 + 1e-9), f"a y was kept at distance {far:g} from K, and `outside` is {most:g}."


def check_exchange(
    exchange: Exchange, /, *, network: Network | None = None, dim: int = 5, rounds: int = 60, seed: int = 0
) -> None:
    """Raise an AssertionError, in a full sentence, for the first promise that is broken.

    The network averages of y and of what the step rule adds stay what they were; disagreement shrinks over `rounds`
    exchanges; each calls `ports.mix` once, with what `message` declares and is credible; and the state keeps its types.
    """
    network = network or from_graph(ring(6))
    with double():
        rng = np.random.default_rng(seed)
        y = start = jnp.asarray(rng.uniform(-1, 1, (network.n_agents, dim)))
        more = jnp.asarray(rng.uniform(-1, 1, (network.n_agents, 2)))
        state = jax.vmap(exchange.init)(y)
        _check_message(exchange, network, y, more, state)
        run = jax.jit(lambda number, y, state: _exchanged(exchange, _GossipPorts(network, number), y, more, state))
        for number in range(rounds):
            mixed = run(number, y, state)
            for what, old, new in (("y", y, mixed.y), ("what the step rule adds", more, mixed.heard)):
                drift = np.max(np.abs(np.mean(new, axis=0) - np.mean(old, axis=0)))
                assert drift <= 1e-10, f"exchange {number} moved the network average of {what} by {drift:g}."
            y, state = mixed.y, mixed.state
        spread = [float(jnp.linalg.norm(z - jnp.mean(z, axis=0))) for z in (start, y)]
        assert spread[1] <= 0.5 * spread[0], f"{rounds} exchanges left disagreement {spread[1]:.3g} of {spread[0]:.3g}."


def _exchanged(exchange: Exchange, ports: "_GossipPorts", y: Array, more: Array, state: Any) -> Mixed:
    """What comes out of an exchange of all agents."""
    return jax.vmap(lambda *own: exchange.mix(ports, own[0], *own), axis_name=AXIS)(y, more, state)


def _shapes(tree: Any) -> list[tuple[int, ...]]:
    return [leaf.shape for leaf in jax.tree.leaves(tree)]


def _check_message(exchange: Exchange, network: Network, y: Array, more: Array, state: Any) -> None:
    dim = y.shape[1]
    ports = _GossipPorts(network, 0)
    mixed, sent = _exchanged(exchange, ports, y, more, state), ports.sent
    assert len(sent) == 1, f"an exchange calls ports.mix once; it did so {len(sent)} times."
    declared, shapes = _shapes(exchange.message(dim, numbers(2))), _shapes(sent[0])
    assert shapes == declared, f"the exchange sent arrays of shapes {shapes} and declares {declared}."
    domain = Box(-10 * np.ones(dim), 10 * np.ones(dim))
    center = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), sent[0])
    believed = exchange.credible(center, domain, jnp.ones(()))
    assert believed, "the exchange would not believe what an agent at the center of the set sends."
    _check_same_types(state, mixed.state, "mix()")


class _GossipPorts:
    """Ports inside a vmap over all agents of a network; they keep what was sent."""

    def __init__(self, network: Network, number: Any):
        self.network, self.number = network, number
        self.sent: list[Any] = []

    def ask(self, played: Any, order: int) -> Any:
        raise AssertionError("an exchange must not call ports.ask().")

    def mix(self, tree: Any, index: int | Array = 0) -> Any:
        self.sent.append(jax.eval_shape(lambda tree: tree, tree))
        up = jnp.ones(self.network.n_links)

        def average(mine: Array) -> Array:
            everyone = jax.lax.all_gather(mine, AXIS)
            return self.network.mix(everyone, self.number, up)[jax.lax.axis_index(AXIS)]

        return jax.tree.map(average, tree)


def _check_same_types(before: Any, after: Any, what: str) -> None:
    old, new = kinds(before), kinds(after)
    assert old == new, f"{what} changes the types of the state: from {old} to {new}."
