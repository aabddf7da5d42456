"""Structures for intervals, and the PS-Tree beside them: all find what asking each interval finds."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tamis.indexes.baselines import ONE_DIMENSION, Intervals, SegmentTree
from tamis.indexes.ps_tree import PSTree

Ends = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Ends, Ends]]


def grid(chance: np.random.Generator, count: int) -> tuple[Ends, Ends]:
    """Many ends alike, and many intervals that are one value."""
    ends = np.sort(chance.integers(0, 20, (count, 2)), axis=1).astype(np.float64)
    return ends[:, 0], ends[:, 1]


def wide(chance: np.random.Generator, count: int) -> tuple[Ends, Ends]:
    ends: Ends = np.sort(chance.normal(0, 1e6, (count, 2)), axis=1).astype(np.float64)
    return ends[:, 0], ends[:, 1]


def narrow(chance: np.random.Generator, count: int) -> tuple[Ends, Ends]:
    lows = chance.uniform(-1000, 1000, count)
    highs: Ends = lows + chance.exponential(5, count)
    return lows, highs


def nested(chance: np.random.Generator, count: int) -> tuple[Ends, Ends]:
    halves = chance.permutation(count) / 2
    return -halves, halves


def ascending(chance: np.random.Generator, count: int) -> tuple[Ends, Ends]:
    del chance
    lows: Ends = np.arange(count, dtype=np.float64) * 10
    return lows, lows + np.float64(5)


@pytest.mark.parametrize("draw", [grid, wide, narrow, nested, ascending])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 500])
def test_all_agree_with_asking_each_interval(draw: Draw, count: int) -> None:
    chance = np.random.default_rng(count)
    lows, highs = draw(chance, count)
    ids = chance.permutation(count * 3)[:count]
    near = np.concatenate([lows, highs])
    values = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), [0, 1e9, np.inf, -np.inf]])
    expected = [np.sort(ids[(lows <= value) & (value <= highs)]).tolist() for value in values]
    tree = PSTree("a")
    pairs = zip(lows.tolist(), highs.tolist(), strict=True)
    tree.insert_many([f"a between {low!r} and {high!r}" for low, high in pairs], ids)
    every: list[PSTree | Intervals] = [tree, *(kind().build(lows, highs, ids) for kind in ONE_DIMENSION.values())]
    for index in every:
        assert len(index) == count
        offsets, found = index.locate_many(values)
        assert [part.tolist() for part in np.split(found, offsets[1:-1].astype(int))] == expected
        offsets, found = index.locate_many(values, order="any")
        assert [sorted(part.tolist()) for part in np.split(found, offsets[1:-1].astype(int))] == expected
        assert index.count_many(values).tolist() == [len(some) for some in expected]
        assert [index.locate(value).tolist() for value in values[:20].tolist()] == expected[:20]
        assert [index.count(value) for value in values[:20].tolist()] == [len(some) for some in expected[:20]]


def test_a_segment_tree_tells_elementary_intervals_apart() -> None:
    tree = SegmentTree().build([0, 1], [2, 3])
    assert tree.place_many([-1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4]).tolist() == list(range(9))


@pytest.mark.parametrize("name", ONE_DIMENSION)
def test_building_again_forgets_what_was_there(name: str) -> None:
    index = ONE_DIMENSION[name]()
    assert index.name == name
    assert index.locate(1).tolist() == []
    assert index.build([0, 1], [2, 3]).locate(1).tolist() == [0, 1]
    before = index.memory_bytes()
    assert index.build([0], [1]).locate(1).tolist() == [0]
    assert (len(index), index.locate(2.5).tolist()) == (1, [])
    assert index.memory_bytes() <= before


@pytest.mark.parametrize("name", ONE_DIMENSION)
def test_an_empty_interval_is_refused(name: str) -> None:
    for low, high in [(2, 1), (float("nan"), 1), (0, float("nan"))]:
        with pytest.raises(ValueError, match="interval at 1 is empty"):
            ONE_DIMENSION[name]().build([0, low], [1, high])
    with pytest.raises(ValueError, match="2 lows, 1 highs and 2 ids"):
        ONE_DIMENSION[name]().build([0, 0], [1], [0, 1])


@pytest.mark.parametrize("name", ONE_DIMENSION)
def test_memory_grows_as_the_papers_say(name: str) -> None:
    """An interval tree's with the number of intervals, a segment tree's with its product with the logarithm."""
    chance = np.random.default_rng(1)
    small, large = (ONE_DIMENSION[name]().build(*wide(chance, count)).memory_bytes() for count in (1_000, 64_000))
    assert small / 1_000 >= 16
    assert large / 64_000 <= (3 if name == "segment-tree" else 1.3) * small / 1_000
