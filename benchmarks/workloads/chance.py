"""Seeded draws: streams of chance, popular and rare items, rows of distinct ones."""

import zlib

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads.errors import WorkloadError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

_ROUNDS = 50
_NEGLIGIBLE = 1e-9
_EARLY = 8  # times as many arrivals as are wanted are put in order first: mostly enough, and far fewer than all


def stream(seed: int, purpose: str, part: int = 0) -> np.random.Generator:
    """A stream of its own for each purpose and part, so that drawing more of one changes no other."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), part])


class Popularity:
    """Items 0 .. size - 1, each drawn with a probability proportional to its weight.

    Items may have keys, which count where a row must be distinct: it has no two items of one key.
    """

    def __init__(self, weights: Floats, keys: Integers | None = None) -> None:
        self.size = len(weights)
        self.weights = weights
        self.keys: Integers = np.arange(self.size) if keys is None else keys
        self._uniform = bool(np.all(weights == weights[0]))
        self._ends: Floats = np.cumsum(weights) / weights.sum()
        self._ends[-1] = 1.0
        self._likely: dict[int, tuple[Integers, Floats]] = {}

    def draw(self, chance: np.random.Generator, count: int) -> Integers:
        if self._uniform:
            return chance.integers(0, self.size, count)
        return self._ends.searchsorted(chance.random(count), side="right")

    def likely(self, count: int) -> tuple[Integers, Floats]:
        """The items that may be among `count` different ones, and their weights."""
        if count not in self._likely:
            rank = self.size - min(count, self.size)
            found = np.flatnonzero(self.weights > np.partition(self.weights, rank)[rank] * _NEGLIGIBLE)
            self._likely[count] = found, self.weights[found]
        return self._likely[count]


def zipf(size: int, alpha: float, keys: Integers | None = None) -> Popularity:
    """Item r, from 0, with a probability proportional to 1 / (r + 1) ** alpha: uniform for alpha 0."""
    return Popularity(np.arange(1, size + 1, dtype=np.float64) ** -alpha, keys)


def offsets_of(sizes: Integers) -> Integers:
    """Where each row of these sizes begins, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def positions_of(rows: Integers, offsets: Integers) -> Integers:
    """The positions of all items of these rows, row after row."""
    sizes = np.diff(offsets)[rows]
    begins = offsets_of(sizes)
    return np.repeat(offsets[rows] - begins[:-1], sizes) + np.arange(begins[-1])


def distinct(chance: np.random.Generator, items: Popularity, sizes: Integers) -> Integers:
    """Rows of `sizes` items each; within a row nothing comes twice."""
    drawn = items.draw(chance, int(sizes.sum()))
    make_distinct(chance, items, sizes, drawn)
    return drawn


def make_distinct(
    chance: np.random.Generator,
    items: Popularity,
    sizes: Integers,
    drawn: Integers,
    free: Booleans | None = None,
) -> None:
    """Draw again in place what a row has twice, of the `free` ones only, until no row has anything twice.

    What is redrawn is the later of two, so a row is what drawing one by one and refusing repeated ones gives.
    """
    if free is None:
        free = np.ones(len(drawn), np.bool_)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    unsettled = np.zeros(len(sizes), np.bool_)
    active = np.arange(len(drawn))
    for _ in range(_ROUNDS):
        again = active[_repeated(rows[active], items.keys[drawn[active]], free[active])]
        if not len(again):
            return
        drawn[again] = items.draw(chance, len(again))
        unsettled[:] = False
        unsettled[rows[again]] = True
        active = active[unsettled[rows[active]]]
    offsets = offsets_of(sizes)
    for row in np.flatnonzero(unsettled):
        here = slice(offsets[row], offsets[row + 1])
        _race(chance, items, drawn[here], free[here])


def _repeated(rows: Integers, keys: Integers, free: Booleans) -> Integers:
    """The positions of what its row has before, where what is not free comes first."""
    both = rows * (int(keys.max(initial=0)) + 1) + keys
    order = np.argsort(both, kind="stable") if free.all() else np.lexsort((free, both))
    ordered = both[order]
    repeated: Integers = order[1:][ordered[1:] == ordered[:-1]]
    return repeated


def _race(chance: np.random.Generator, items: Popularity, row: Integers, free: Booleans) -> None:
    """Choose one row exactly: each item arrives after an exponential time by its weight, and the first ones are taken.

    Items too light to arrive among them are left out, which bounds the work where the distribution is steep.
    """
    likely, weights = items.likely(len(row))
    times = chance.exponential(size=len(likely)) / weights
    wanted = int(free.sum())
    earliest = _EARLY * len(row)
    among = np.argpartition(times, earliest)[:earliest] if earliest < len(likely) else np.arange(len(likely))
    chosen = _first_distinct(items, likely, times, among, row[~free])
    if len(chosen) < wanted and len(among) < len(likely):
        chosen = _first_distinct(items, likely, times, np.arange(len(likely)), row[~free])
    if len(chosen) < wanted:
        raise WorkloadError(
            f"{len(row)} different attributes cannot be drawn from {len(np.unique(items.keys[likely]))}:"
            " ask for smaller subscriptions or events, or for more attributes"
        )
    row[free] = chosen[:wanted]


def _first_distinct(items: Popularity, likely: Integers, times: Floats, among: Integers, taken: Integers) -> Integers:
    """Of these the first to arrive of each key that is not taken, in order."""
    arrived = likely[among[np.argsort(times[among])]]
    keys = items.keys[arrived]
    _, first = np.unique(keys, return_index=True)
    first.sort()
    return arrived[first[~np.isin(keys[first], items.keys[taken])]]
