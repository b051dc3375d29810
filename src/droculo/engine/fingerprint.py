"""The identity of a stored run: what was asked for, exactly, and the numbers that it rests on, up to rounding. What problems
and algorithms do at a few fixed places stands for their code."""

from __future__ import annotations

import functools
import hashlib
import json
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from droculo.algorithms import Algorithm
from droculo.algorithms.contract import Answers, Keys, SilentPorts, SlotPlay
from droculo.engine.compiling import program
from droculo.engine.plan import first_slot
from droculo.engine.results_version import RESULTS_VERSION
from droculo.engine.run import cast
from droculo.precision import double
from droculo.problems import Problem
from droculo.sets import Set

#: two processors agree on a number to far more digits than this, and two problems do not
RELATIVE = 1e-7
#: and here relative to the largest number of the same array, whose smaller ones may be all rounding
OF_LARGEST = 1e-9
#: below this, everything is zero
NEGLIGIBLE = 1e-13
#: longer arrays are kept as their norm and a few random projections
FEW = 16

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Fingerprint:
    """What tells runs apart. Names and addresses of Python objects are no part of it, and neither is the last digit of a
    number, so that it survives a renamed class and another processor.

    >>> fingerprint(3, 0.1 + 0.2).matches(fingerprint(3, 0.3))
    True
    >>> fingerprint(3, 0.1 + 0.2).matches(fingerprint(3, 0.31))
    False
    """

    exact: str  # a digest of whole numbers, texts and shapes
    numbers: tuple[Numbers, ...]  # one entry for every scalar and every array

    def matches(self, other: Fingerprint) -> bool:
        """True if both are of the same run."""
        same = self.exact == other.exact and len(self.numbers) == len(other.numbers)
        return same and all(map(_close, self.numbers, other.numbers))

    def to_json(self) -> dict[str, Any]:
        """As plain data, with all digits."""
        return {"exact": self.exact, "numbers": [list(each) for each in self.numbers]}

    def owns(self, file: Path, about: Mapping[str, Any] | None = None) -> bool:
        """Write this identity, and what else there is to know `about` the run, to a file that is not there yet; of one that
        is there, True if it says the same."""
        if not file.exists():
            told = self.to_json() if about is None else {"identity": self.to_json(), **about}
            half = file.with_suffix(".part")
            half.write_text(json.dumps(told))
            half.replace(file)
            return True
        try:
            told = json.loads(file.read_text())
            identity = told if about is None else told.pop("identity")
            return Fingerprint.from_json(identity).matches(self) and (about is None or told == about)
        except (ValueError, KeyError):  # damaged, or of an earlier version
            return False

    @classmethod
    def from_json(cls, data: Any) -> Fingerprint:
        """The way back; a ValueError if it is something else."""
        try:
            return cls(str(data["exact"]), tuple(tuple(float(x) for x in each) for each in data["numbers"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not the identity of a run: {error!r}.") from None


def fingerprint(*parts: Any) -> Fingerprint:
    """The identity of anything made of numbers, texts, arrays, containers, dataclasses and functions.

    Of a function it holds the values that it captured; what it does is told by its behaviour. Other objects are left out.
    """
    digest = hashlib.sha256(f"results {RESULTS_VERSION}".encode())
    numbers: list[Numbers] = []
    for found in _values(parts, set()):
        if isinstance(found, str):
            digest.update(f"{len(found)}:{found}".encode())
        else:
            digest.update(f"{found.dtype.kind}{found.shape}".encode())
            if np.issubdtype(found.dtype, np.floating):
                numbers.append(_summary(found))
                if not np.all(np.isfinite(found)):
                    signs = np.nan_to_num(np.where(np.isfinite(found), 0.0, found), nan=2.0, posinf=1.0, neginf=-1.0)
                    digest.update(np.ascontiguousarray(signs, np.float64).tobytes())
            else:
                digest.update(np.ascontiguousarray(found, np.int64).tobytes())
    return Fingerprint(digest.hexdigest(), tuple(numbers))


def _values(part: Any, seen: set[int]) -> Iterator[str | NDArray]:
    """Everything in it that counts, in a fixed order: whole numbers and texts as text, the rest as arrays."""
    if part is None or isinstance(part, str | bool | int):
        yield f"{part!r}"
    elif isinstance(part, bytes):
        yield hashlib.sha256(part).hexdigest()
    elif isinstance(part, Enum):
        yield part.name
    elif isinstance(part, jax.Array) and jnp.issubdtype(part.dtype, jax.dtypes.prng_key):
        yield np.asarray(jax.random.key_data(part))
    elif isinstance(part, float | np.ndarray | np.generic | jax.Array):
        array = np.asarray(part)
        if array.dtype.kind in "fiub":
            yield array
        elif array.dtype.kind in "US":
            yield from map(str, array.ravel())
    elif is_dataclass(part) and not isinstance(part, type):  # Equinox modules too
        yield from _each((getattr(part, field.name, None) for field in fields(part)), seen)
    elif isinstance(part, Mapping):
        yield from _each([x for item in sorted(part.items(), key=repr) for x in item], seen)
    elif isinstance(part, list | tuple):
        yield from _each(part, seen)
    elif id(part) not in seen:
        yield from _each(_captured(part), seen | {id(part)})


def _each(parts: Iterable[Any], seen: set[int]) -> Iterator[str | NDArray]:
    yield "("
    for part in parts:
        yield from _values(part, seen)
    yield ")"


def _captured(function: Any) -> list[Any]:
    """The values that a function took along: from around it, as defaults, from its module."""
    if isinstance(function, functools.partial):
        return [function.func, function.args, function.keywords]
    if isinstance(function, types.MethodType):
        return [function.__self__, function.__func__]
    if not isinstance(function, types.FunctionType):
        inner = getattr(function, "__wrapped__", None)  # of jit and the like
        return [] if inner is None else [inner]
    cells = [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
    names = sorted(name for name in _names(function.__code__) if name in function.__globals__)
    used = [function.__globals__[name] for name in names]
    data = [value for value in used if isinstance(value, int | float | np.ndarray | jax.Array | list | tuple | dict)]
    return [*cells, *(function.__defaults__ or ()), *data]


def _names(code: types.CodeType) -> set[str]:
    """The global names that a function and the functions inside it mention."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*(_names(each) for each in inner))


def _is_empty(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:  # its variable was not bound
        return True


def _summary(array: NDArray) -> Numbers:
    """All numbers of a short array; of a longer one its norm and two random projections, which no change leaves alone."""
    flat = np.nan_to_num(np.asarray(array, np.float64).ravel(), nan=0.0, posinf=0.0, neginf=0.0)
    if flat.size <= FEW:
        return tuple(flat.tolist())
    weights = np.random.default_rng(flat.size).standard_normal((2, flat.size))
    return (float(np.linalg.norm(flat)), *(weights @ flat).tolist())


def _close(mine: Numbers, theirs: Numbers) -> bool:
    a, b = np.asarray(mine), np.asarray(theirs)
    if a.shape != b.shape:
        return False
    room = RELATIVE * np.abs(a) + OF_LARGEST * np.max(np.abs(a), initial=0.0) + NEGLIGIBLE
    return bool(np.all(np.abs(a - b) <= room))


def behaviour_of_problem(problem: Problem, agents: NDArray[np.int64], rounds: int) -> list[NDArray]:
    """The set's oracle in three directions, and values of the first and the last agent in early, middle and late rounds."""
    directions = np.random.default_rng(0).standard_normal((3, problem.set.dim))
    times = sorted({0, min(1, rounds - 1), rounds // 2, rounds - 1})
    with double():
        # One program for each question: one for every operation in it would take longer to compile.
        corner, value = program(_corner, quick=True), program(_value, quick=True)
        corners = [np.asarray(corner(problem.set, direction)) for direction in directions]
        x = sum(corners[1:], corners[0]) / 3
        asked = [
            (jnp.asarray(agent), jnp.asarray(t)) for agent in sorted({int(agents[0]), int(agents[-1])}) for t in times
        ]
        return [*corners, *(np.asarray(value(problem, agent, t, x)) for agent, t in asked)]


def _corner(domain: Set, direction: Array) -> Array:
    return domain.argmax(direction)


def _value(problem: Problem, agent: Array, t: Array, x: Array) -> Array:
    return problem.value(agent, t, x)


def behaviour_of_algorithm(algorithm: Algorithm) -> list[NDArray]:
    """What an agent plays and asks in its first slot, its decisions before and after its first block, and a random number."""
    with double():
        exact = jax.tree.map(lambda leaf: cast(leaf, np.dtype(np.float64)), algorithm)
        return [np.asarray(leaf) for leaf in jax.tree.leaves(program(_first_block, quick=True)(exact))]


class _Imagined(SilentPorts):
    """Ports to a world whose answers are made up, and without neighbours."""

    def ask(self, played: SlotPlay, order: int) -> Answers:
        number, dim = played.points.shape
        shape = (number, dim) if order == 1 else (number,)
        made_up = jnp.cos(1.0 + jnp.arange(np.prod(shape))).reshape(shape)
        return Answers(made_up, None if played.earned is None else jnp.cos(1.0 * played.earned))


def _first_block(algorithm: Algorithm) -> Any:
    state, ports = algorithm.init(), _Imagined()
    key = jax.random.key(0)
    keys = Keys(key, key)
    share, played = algorithm.play(ports, state, first_slot(algorithm, keys))
    moved, _ = algorithm.update(ports, state, share, keys)
    return played.actions, played.points, algorithm.decision(state), algorithm.decision(moved), jax.random.uniform(key)
