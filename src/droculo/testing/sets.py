"""`check_set`: does a set keep its contract? Its oracle and every fact that it states are tested."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from droculo.precision import double
from droculo.sets.contract import Cut, NoProjectionError, Set
from droculo.sets.geometry import Vector
from droculo.sets.vertices import split
from droculo.sets.wrappers import Shrunk
from droculo.testing.points import argmaxes, in_single

Reference = Callable[[Vector], float]

#: Draws from the sphere of the subspace, whose mean and second moment are tested.
DRAWS = 2000


def check_set(set_: Set, /, *, reference: Reference | None = None, samples: int = 20, seed: int = 0) -> None:
    """Raise an AssertionError, in a full sentence, for the first part of the contract that `set_` breaks.

    `reference(c)` is the optimal value max <c, x> over the set, found in another way (by an LP, say); `samples` the number
    of random directions. Facts, projections and separation oracles that the set does not have are skipped.
    """
    with double():
        check = _Check(set_, np.random.default_rng(seed), samples)
        check.oracle(reference)
        check.single_precision()
        check.points()
        check.nearest()
        if set_.geometry.subspace is not None:
            sphere, projection = check.subspace()
            if set_.geometry.inner_radius is not None:
                check.ball(sphere, projection)


# Compiled once per set: a check makes thousands of small calls.
_contains = eqx.filter_jit(lambda set_, x, tolerance: set_.contains(x, tolerance))
_argmax = eqx.filter_jit(lambda set_, direction: set_.argmax(direction))
_asked = eqx.filter_jit(lambda set_, points, names: {name: jax.vmap(getattr(set_, name))(points) for name in names})
_projections = eqx.filter_jit(lambda space, vectors: jax.vmap(space.project)(vectors))
_samples = eqx.filter_jit(lambda space, keys, dim: jax.vmap(lambda key: space.sample(key, dim))(keys))


@eqx.filter_jit  # type: ignore[untyped-decorator]
def _facts(set_: Set, directions: jax.Array) -> dict[str, Any]:
    """argmax and vertex for a batch of directions, and products with the first one."""

    def one(direction: jax.Array, y: jax.Array) -> dict[str, Any]:
        vertex = set_.vertex(direction)
        products = {"inner": vertex.inner(y), "added": vertex.add_to(y, jnp.asarray(0.5, y.dtype))}
        return {"vertex": vertex, "argmax": set_.argmax(direction), "dense": vertex.dense(), **products}

    return jax.vmap(one, (0, None))(directions, directions[0])


def _vertices(set_: Set, directions: Vector, dtype: type) -> Vector:
    """The structured form of every vertex against the dense one; returns the latter."""
    found: dict[str, Any] = _facts(set_, jnp.asarray(directions, dtype))
    vertex = found.pop("vertex")
    wrong = {name: str(value.dtype) for name, value in found.items() if value.dtype != dtype}
    assert not wrong, f"argmax and vertex must keep the precision of their arguments, {np.dtype(dtype)}; got {wrong}."
    found = {name: np.asarray(value, np.float64) for name, value in found.items()}
    points, y = found["argmax"], directions[0].astype(dtype).astype(np.float64)
    assert np.array_equal(found["dense"], points), "vertex(direction).dense() is not argmax(direction)."
    rounding = 100 * set_.dim * float(np.finfo(dtype).eps) * (1 + float(set_.radius)) * (1 + np.linalg.norm(y))
    assert np.allclose(found["inner"], points @ y, rtol=0, atol=rounding), "vertex.inner(y) is not <argmax, y>."
    added = np.allclose(found["added"], y + points / 2, rtol=0, atol=rounding)
    assert added, "vertex.add_to(x, weight) is not x + weight * argmax."
    for leaf in map(np.asarray, jax.tree.leaves(split(vertex)[1])):
        assert np.all(leaf == leaf[:1]), "a Shared part differs between two vertices of the set."
    return points


class _Check:
    """The checks of one set, for the same random directions and their vertices."""

    def __init__(self, set_: Set, rng: np.random.Generator, samples: int):
        self.set, self.rng, self.dim, self.radius = set_, rng, set_.dim, float(set_.radius)
        self.size = max(1.0, self.radius)
        self.directions = rng.standard_normal((samples, self.dim))
        self.vertices = _vertices(set_, self.directions, np.float64)

    def argmax(self, direction: Vector) -> Vector:
        return np.asarray(_argmax(self.set, jnp.asarray(direction)))

    def beyond(self, directions: Vector) -> Vector:
        """argmax of one direction less than the samples: the program that is already there is used again."""
        return np.asarray(_facts(self.set, jnp.asarray(np.vstack([directions, directions[:1]])))["argmax"])[:-1]

    def contains(self, x: Vector, tolerance: float) -> bool:
        return bool(_contains(self.set, jnp.asarray(x), jnp.asarray(tolerance)))

    def inside(self, x: Vector, what: str, tolerance: float = 1e-8) -> None:
        margin = tolerance * self.size
        assert self.contains(x, margin), (
            f"{what} is not in the set: contains({np.asarray(x).tolist()}) is False with tolerance {margin}."
        )

    def oracle(self, reference: Reference | None) -> None:
        """Shapes, precision, membership and optimality, for one direction at a time and for many at once; ties."""
        for c, vertex in zip(self.directions, self.vertices, strict=True):
            alone, where = self.argmax(c), f"the direction {c.tolist()}"
            assert (alone.shape, alone.dtype) == (c.shape, c.dtype), (
                f"argmax must return the direction's shape and precision; got {alone.shape} {alone.dtype} for a "
                f"direction of {c.shape} {c.dtype}."
            )
            same = np.allclose(alone, vertex, rtol=0, atol=1e-9 * self.size)
            assert same, f"argmax gives another point under vmap than alone for {where}."
            self.inside(vertex, f"argmax of {where}")
            norm = np.linalg.norm(vertex)
            stated = f"the set states radius {self.set.radius}"
            assert norm <= self.radius * (1 + 1e-9), f"{stated} and its oracle returns a point of norm {norm}."
            value, best = float(c @ vertex), float(np.max(self.vertices @ c))
            slack = 1e-7 * self.size * max(1.0, float(np.linalg.norm(c)))
            reached = f"it reaches {value} and another point of the set {best}, in {where}"
            assert value >= best - slack, f"argmax is not a maximiser: {reached}."
            wanted = value if reference is None else float(reference(c))
            right = abs(value - wanted) <= slack
            assert right, f"argmax reaches {value} and the reference says {wanted}, in {where}."
        ones, mixed = np.ones(self.dim), self.rng.integers(-1, 2, self.dim).astype(np.float64)
        for c in (0 * ones, ones, -ones, mixed):
            point = self.argmax(c)
            self.inside(point, f"argmax of the direction {c.tolist()}, with ties")
            same = np.array_equal(point, self.argmax(c))
            assert same, f"argmax gives two different points for one direction, {c.tolist()}."

    def single_precision(self) -> None:
        """In a float32 run the set's own numbers are float32 too, and nothing may become float64."""
        found = _vertices(in_single(self.set), self.directions, np.float32)
        # Near ties may go the other way in float32, so values are compared, not points.
        gaps = np.abs(np.sum(self.directions * (found - self.vertices), axis=1))
        worst = float(np.max(gaps / (self.radius * np.linalg.norm(self.directions, axis=1) + 1e-30)))
        assert worst <= 1e-3, f"argmax in float32 is off by {worst} of radius times |direction|; 1e-3 is allowed."

    def points(self) -> None:
        """The stated points: anchor, least_element, zero, and everything below a point of a down-closed set."""
        anchor, bottom, vertices = self.set.anchor, self.set.least_element, self.vertices
        self.inside(anchor, "the anchor")
        mixes = self.rng.dirichlet(np.ones(len(vertices)), 50) @ vertices
        norm, least = np.abs(anchor).max(), float(np.min(np.abs(np.concatenate([vertices, mixes])).max(axis=1)))
        lowest = norm <= least + 1e-7 * self.size
        assert lowest, f"the anchor has sup-norm {norm} and another point of the set {least}."
        if bottom is not None:
            self.inside(bottom, "the least element")
            above = np.all(vertices >= bottom - 1e-8 * self.size)
            assert above, "a point of the set is not above the stated least element."
            assert np.all(bottom >= 0), f"the least element must not be negative; got {bottom.tolist()}."
        held, stated = self.contains(np.zeros(self.dim), 1e-9), self.set.contains_origin
        assert held == stated, f"the set states contains_origin={stated}, and contains(0) is {held}."
        if self.set.down_closed:
            positive = np.all(vertices >= -1e-8 * self.size)
            assert positive, "a set that states down_closed must lie in the positive orthant."
            for vertex in vertices:
                self.inside(
                    vertex * self.rng.random(self.dim), "a point below a point of a set that states down_closed"
                )

    def nearest(self) -> None:
        """Projection and separation, where the set has them; one program answers for both."""
        names = tuple(name for name in ("project", "separate") if self.has(name))
        if not names:
            return
        # Near, far and very far points, one of them NaN; as many as the samples, so that compiled programs are used again.
        shape = (len(self.vertices), 1)
        reach = self.radius * self.rng.choice([0.1, 1.0, 10.0], shape) / np.sqrt(self.dim)
        points = self.vertices * self.rng.random(shape) + reach * self.rng.standard_normal(self.vertices.shape)
        points[-1, 0] = np.nan
        for dtype in (np.float64, np.float32):
            answers = jax.tree.map(np.asarray, _asked(self.set, jnp.asarray(points, dtype), names))
            for name, found in answers.items():
                told = found.normal if isinstance(found, Cut) else found
                assert (told.shape, told.dtype) == (points.shape, dtype), (
                    f"{name} must keep the shape and precision of its argument; got {told.shape[1:]} {told.dtype} for "
                    f"{points.shape[1:]} {np.dtype(dtype)}."
                )
                assert np.any(np.isnan(told[-1])), f"{name} must answer NaN with NaN; got {told[-1].tolist()}."
                sent = points[:-1].astype(dtype).astype(np.float64)
                if isinstance(found, Cut):
                    self.cuts(sent, Cut(found.inside[:-1], found.normal[:-1]))
                else:
                    self.projections(sent, np.asarray(told[:-1], np.float64), names, dtype)

    def has(self, name: str) -> bool:
        try:
            eqx.filter_eval_shape(getattr(self.set, name), jnp.zeros(self.dim))
        except (NoProjectionError, ImportError):  # there is none, or it needs an extra that is not installed
            return False
        return True

    def projections(self, y: Vector, near: Vector, names: tuple[str, ...], dtype: type) -> None:
        """p is in K, and <y - p, z - p> <= 0 for every z in K: only the nearest point is like this."""
        eps = float(np.finfo(dtype).eps)
        size = self.radius + np.linalg.norm(y, axis=1)
        away = y - near
        gains = np.sum(away * (self.beyond(away) - near), axis=1)
        # Rounding in the answer, and an oracle that is exact to 1e-9 only.
        allowed = size * (100 * eps * size + max(1e-9, 100 * eps) * np.linalg.norm(away, axis=1))
        for point, answer, gain, most in zip(y.tolist(), near, gains, allowed, strict=True):
            self.inside(answer, f"project of {point}", tolerance=max(1e-8, 1000 * eps))
            found = f"max <y - p, z - p> is {gain}, and not 0, for y = {point}"
            assert gain <= most, f"project does not find the nearest point p: {found}."
        again = np.asarray(_asked(self.set, jnp.asarray(np.vstack([near, near[:1]]), dtype), names)["project"])[:-1]
        moved = float(np.max(np.linalg.norm(again - near, axis=1) / size))
        assert moved <= max(1e-8, 100 * eps), f"project moves a point of the set by {moved} of the radius."

    def cuts(self, x: Vector, cut: Cut) -> None:
        """A point clearly outside is separated from every point of K; a point clearly inside is reported as inside."""
        eps = float(np.finfo(cut.normal.dtype).eps)
        shares = (eps, max(1e-7, 100 * eps))
        surely, maybe = (np.array([self.contains(point, share * self.radius) for point in x]) for share in shares)
        inside, normal = np.asarray(cut.inside), np.asarray(cut.normal, np.float64)
        assert not np.any(surely & ~inside), "separate reports a point as outside, but contains(x) is True."
        assert not np.any(inside & ~maybe), "separate reports a point as inside, but contains(x) is False."
        assert not np.any(normal[inside]), "the normal must be zero where the point is inside."
        gaps = np.sum(normal * (x - self.beyond(normal)), axis=1)
        worst = float(np.min(gaps[~maybe], initial=np.inf))
        assert worst > 0, f"the normal does not separate a point from the set: <v, x> - max <v, z> is {worst}."

    def subspace(self) -> tuple[Vector, Vector]:
        """The subspace against the oracle; returns its samples and the matrix of its projection."""
        space, apart = self.set.subspace, self.vertices - self.vertices[0]
        keys = jax.random.split(jax.random.key(int(self.rng.integers(2**31))), DRAWS)
        draws = np.asarray(_samples(space, keys, self.dim))
        together = np.asarray(_projections(space, jnp.asarray(np.concatenate([apart, draws, np.eye(self.dim)]))))
        kept, inside, projection = np.split(together, [len(apart), len(apart) + DRAWS])
        assert np.allclose(kept, apart, rtol=0, atol=1e-7 * self.size), (
            "the set extends in a direction that its subspace does not hold: project moves a difference of two points."
        )
        found = self.affine_dimension()
        assert found == space.dimension, f"the subspace states dimension {space.dimension}; the oracle spans {found}."
        assert np.allclose(np.linalg.norm(draws, axis=1), 1), "a sample of the subspace must have norm 1."
        assert np.allclose(inside, draws, atol=1e-9), "a sample of the subspace must lie in it: project moves one."
        # Unit vectors: the squared error of either average is at most 1/DRAWS in expectation.
        mean = float(np.linalg.norm(draws.mean(axis=0)))
        second = float(np.linalg.norm(draws.T @ draws / DRAWS - projection / space.dimension))
        off = f"their mean is off by {mean}, their second moment by {second}"
        assert max(mean, second) <= 5 / np.sqrt(DRAWS), f"the samples are not uniform on the sphere: {off}."
        return draws, projection

    def affine_dimension(self) -> int:
        """Of the affine hull: search orthogonally to the span found so far, until the set has no extent there."""
        start = self.argmax(self.rng.standard_normal(self.dim))
        basis = np.zeros((self.dim, 0))

        def orthogonal(vector: Vector) -> Vector:
            for _ in range(2):  # twice, because of rounding
                vector = vector - basis @ (basis.T @ vector)
            return vector / np.linalg.norm(vector)

        while basis.shape[1] < self.dim:
            across = orthogonal(self.rng.standard_normal(self.dim))
            ends = [self.argmax(across) - start, self.argmax(-across) - start]
            step = max(ends, key=lambda end: abs(float(across @ end)))
            if abs(float(across @ step)) <= 1e-7 * max(self.radius, 1e-300):
                break
            basis = np.column_stack([basis, orthogonal(step)])
        return basis.shape[1]

    def ball(self, sphere: Vector, axes: Vector) -> None:
        """The inner ball, and the ball around each point of a shrunk set."""
        center, radius, number = self.set.center, float(self.set.inner_radius), len(self.directions)
        axes = axes[np.linalg.norm(axes, axis=1) > 1e-6]  # the faces nearest to the center are often x_i = const
        axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
        picked = axes[self.rng.permutation(len(axes))[:number]]
        self.inside(center, "the center")
        for v in np.concatenate([sphere[:number], picked, -picked]):
            self.inside(center + radius * v, "center + inner_radius * v")
        delta = 0.3 * radius
        shrunk = np.asarray(argmaxes(Shrunk(self.set, delta), jnp.asarray(self.directions)))
        for x, v in zip(shrunk, sphere, strict=False):
            self.inside(x + delta * v, "a point of the set shrunk by delta, moved by delta,")
