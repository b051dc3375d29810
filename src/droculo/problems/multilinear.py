"""Set functions, extended to fractional points: exactly, by a table of all subsets, or sampled with a stated error."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from droculo.problems.rounding import Mask
from droculo.sets.geometry import Vector

#: f(S) of a boolean NumPy mask of S
SetFunction = Callable[[Mask], Any]
#: a table of more than 2^16 subsets is not made
MOST_MEMBERS = 16


class Estimate(NamedTuple):
    """A number (or vector), and by how much it (each of its entries) is off at most, at the stated confidence."""

    value: Any
    error: float


class SampledExtension:
    """F(x) = E f(R), estimated on the host from sets R drawn with the probabilities x. Make it with `sampled`.

    0 <= f <= bound, or |f| <= bound where `signed`. The error is Hoeffding's, at the given confidence: (width of f's range) sqrt(log(2/(1 - confidence))/(2 samples)).
    For the gradient it holds for all n entries at once (the logarithm gets a factor n). Both estimates are unbiased.

    >>> rough = MultilinearExtension.sampled(lambda chosen: float(chosen.any()), 30, samples=2000, bound=1.0)
    >>> value, error = rough.estimate([0.05] * 30, seed=0)
    >>> abs(value - (1 - 0.95**30)) < error < 0.04
    True
    """

    def __init__(
        self,
        set_function: SetFunction,
        n: int,
        *,
        samples: int,
        bound: float,
        signed: bool = False,
        confidence: float = 0.99,
    ):
        for name, number in (("n", n), ("samples", samples)):
            if not (int(number) == number and number >= 1):
                raise ValueError(f"a sampled extension needs a whole {name} of at least 1; got {number}.")
        if not (0 < bound < np.inf and 0 < confidence < 1):
            raise ValueError(
                f"a sampled extension needs a positive bound and a confidence between 0 and 1; got {bound} and "
                f"{confidence}."
            )
        self.set_function, self.n, self.samples = set_function, int(n), int(samples)
        self.low, self.high, self.confidence = -bound if signed else 0.0, float(bound), float(confidence)

    def estimate(self, x: ArrayLike, *, seed: int) -> Estimate:
        """F(x), by `samples` values of f."""
        values = [self._ask(chosen) for chosen in self._draw(x, seed)]
        return Estimate(float(np.mean(values)), self._error(self.high - self.low, 1))

    def estimate_gradient(self, x: ArrayLike, *, seed: int) -> Estimate:
        """The gradient of F at x, by (n + 1) `samples` values of f: with and without each member in turn."""
        total = np.zeros(self.n)
        for chosen in self._draw(x, seed):
            here = self._ask(chosen)
            for i in range(self.n):
                chosen[i] ^= True
                there = self._ask(chosen)
                chosen[i] ^= True
                total[i] += here - there if chosen[i] else there - here
        return Estimate(total / self.samples, self._error(2 * (self.high - self.low), self.n))

    def _draw(self, x: ArrayLike, seed: int) -> Mask:
        point = np.asarray(x, np.float64)
        if point.shape != (self.n,) or not np.all((point >= 0) & (point <= 1)):
            raise ValueError(f"x must be a vector of {self.n} probabilities; got {x!r}.")
        return np.random.default_rng(seed).uniform(size=(self.samples, self.n)) < point

    def _ask(self, chosen: Mask) -> float:
        value = _number(self.set_function, chosen)
        if not self.low <= value <= self.high:
            raise ValueError(
                f"the stated range of f is {self.low:g} to {self.high:g}, and f({members_of(chosen)}) is {value:g}: the "
                "error would be wrong. Raise bound, or pass signed=True for a function with both signs."
            )
        return value

    def _error(self, width: float, entries: int) -> float:
        return width * float(np.sqrt(np.log(2 * entries / (1 - self.confidence)) / (2 * self.samples)))


class MultilinearExtension(eqx.Module):
    """F(x) = sum over subsets S of f(S) prod_{i in S} x_i prod_{i not in S} (1 - x_i): the mean of f over random sets.

    `set_function` gets a boolean NumPy mask and returns a number; it is called once for each of the 2^n subsets, n at
    most 16. F costs O(2^n). A NumPy vector gets a NumPy answer; JAX differentiates and batches F (`jax.grad(F)`,
    `jax.vmap(F)`), and compiles functions that use it (`equinox.filter_jit(F)`). For larger n there is
    `MultilinearExtension.sampled`.

    (Calinescu, Chekuri, Pal and Vondrak, SIAM J. Comput. 2011.)

    >>> pair = MultilinearExtension(lambda chosen: float(chosen.any()), 2)
    >>> float(pair([0.5, 0.5])), pair.gradient([0.5, 0.0]).tolist()
    (0.75, [1.0, 0.5])
    """

    #: F estimated from random sets, for any n
    sampled: ClassVar = SampledExtension

    table: Vector  # (2^n,): f of the subset whose members are the ones of the index, coordinate 0 first

    def __init__(self, set_function: SetFunction, n: int):
        if not (int(n) == n and 1 <= n <= MOST_MEMBERS):
            raise ValueError(
                f"a table of all subsets needs 1 to {MOST_MEMBERS} members; got {n}. For more, use "
                "MultilinearExtension.sampled, or write the formula yourself."
            )
        self.table = np.array([_number(set_function, mask) for mask in all_masks(int(n))])

    @classmethod
    def from_table(cls, table: ArrayLike) -> "MultilinearExtension":
        """From f of all subsets, in the order of `all_masks`."""
        values = np.asarray(table, np.float64)
        if values.ndim != 1 or values.size < 2 or values.size & (values.size - 1):
            raise ValueError(f"a table holds f of all 2^n subsets, n at least 1; got shape {values.shape}.")
        following = iter(values)
        return cls(lambda _: next(following), values.size.bit_length() - 1)

    @property
    def n(self) -> int:
        return int(self.table.shape[0]).bit_length() - 1

    def of(self, chosen: ArrayLike) -> float:
        """f of a set, by its mask."""
        mask = np.asarray(chosen)
        if mask.shape != (self.n,) or mask.dtype != bool:
            raise ValueError(f"a set is a boolean mask of {self.n}; got {mask.dtype} of shape {mask.shape}.")
        return float(self.table[int(mask @ (1 << np.arange(self.n)[::-1]))])

    def __call__(self, x: Any) -> Any:
        return contract(self.table, self._point(x))

    def gradient(self, x: Any) -> Any:
        """dF/dx_i = E[f(R with i) - f(R without i)], R the random set."""
        point = self._point(x)
        return (jnp if isinstance(point, jax.Array) else np).concatenate(slopes(self.table, point))

    def _point(self, x: Any) -> Any:
        point = x if isinstance(x, jax.Array) else np.asarray(x, np.float64)
        if point.shape != (self.n,):
            raise ValueError(f"x must be a vector with {self.n} coordinates; got shape {point.shape}.")
        return point


def all_masks(n: int) -> Mask:
    """All 2^n subsets as rows, in the order of a table: the empty set first, then {n-1}, {n-2}, {n-2, n-1}, ..."""
    return (np.arange(1 << n)[:, None] >> np.arange(n)[::-1]) & 1 == 1


def contract(table: Any, x: Any) -> Any:
    """F(x) from the table of f; in NumPy or JAX, whichever they are.

    The chance of a set is that of its part in the first half of the coordinates, times that of the rest: so F is one
    matrix between two short vectors, 2^n products in all.
    """
    (first, second), _ = _chances(x)
    return first @ table.reshape(first.shape[0], -1) @ second


def slopes(table: Any, x: Any) -> tuple[Any, Any]:
    """The gradient of F at x, as its two halves."""
    (first, second), (first_slopes, second_slopes) = _chances(x)
    square = table.reshape(first.shape[0], -1)
    return first_slopes @ (square @ second), second_slopes @ (first @ square)


def _chances(x: Any) -> tuple[list[Any], list[Any]]:
    """For each half of the coordinates: the chance of every set, and its slope in every coordinate."""
    middle = x.shape[0] // 2
    chances, their_slopes = [], []
    for half in (x[:middle], x[middle:]):
        members = all_masks(half.shape[0]).astype(np.float64)
        each = members * half + (1 - members) * (1 - half)  # (sets, coordinates)
        own = np.eye(half.shape[0])[:, None, :]
        chances.append(each.prod(axis=-1))
        their_slopes.append(((1 - own) * each + own * (2 * members - 1)).prod(axis=-1))
    return chances, their_slopes


def _number(set_function: SetFunction, chosen: Mask) -> float:
    value = np.asarray(set_function(chosen.copy()), np.float64)
    if value.size != 1 or not np.isfinite(value).all():
        raise ValueError(f"a set function returns one finite number; f({members_of(chosen)}) is {value!r}.")
    return float(value.reshape(()))


def members_of(chosen: Mask) -> str:
    return "{" + ", ".join(str(i) for i in np.flatnonzero(chosen)) + "}"
