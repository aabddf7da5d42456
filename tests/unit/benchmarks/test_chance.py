import numpy as np
import pytest
from benchmarks.workloads.chance import Popularity, distinct, make_distinct, positions_of, stream, zipf
from benchmarks.workloads.errors import WorkloadError


def test_streams_are_apart() -> None:
    streams = [stream(1, "a"), stream(2, "a"), stream(1, "b"), stream(1, "a", 1)]
    assert len({chance.integers(2**62).item() for chance in streams}) == 4


def test_zipf_draws_by_rank() -> None:
    counts = np.bincount(zipf(5, 2.0).draw(stream(1, "test"), 100_000), minlength=5)
    weights = 1 / np.arange(1, 6) ** 2
    assert counts / counts.sum() == pytest.approx(weights / weights.sum(), abs=0.01)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("size", [6, 40])
def test_rows_are_distinct(alpha: float, size: int) -> None:
    sizes = np.array([1, 6, 3, 6, 2] * 20)
    drawn = distinct(stream(1, "test"), zipf(size, alpha), sizes)
    rows = np.split(drawn, np.cumsum(sizes)[:-1])
    assert all(len(set(row.tolist())) == len(row) for row in rows)
    assert (drawn >= 0).all()
    assert (drawn < size).all()


def test_a_distinct_row_is_as_likely_as_when_drawn_one_by_one() -> None:
    """Of three items with weights 1, 1/2 and 1/3, two are drawn: both ways of choosing must know the same odds."""
    pairs = 30_000
    drawn = distinct(stream(1, "test"), zipf(3, 1.0), np.full(pairs, 2)).reshape(pairs, 2)
    missing = np.bincount(3 - drawn.sum(axis=1), minlength=3) / pairs
    p = np.array([6, 3, 2]) / 11
    by_hand = [
        sum(p[i] * p[j] / (1 - p[i]) for i in range(3) for j in range(3) if {i, j, k} == {0, 1, 2}) for k in range(3)
    ]
    assert missing == pytest.approx(by_hand, abs=0.01)


def test_a_steep_distribution_is_drawn_by_a_race() -> None:
    """At alpha 10 drawing and refusing would not come to an end; the race must give the most popular items."""
    drawn = distinct(stream(1, "test"), zipf(1_000, 10.0), np.full(200, 4)).reshape(200, 4)
    assert (np.sort(drawn, axis=1) == np.arange(4)).mean() > 0.8


def test_items_of_one_key_are_not_drawn_together() -> None:
    items = Popularity(np.ones(9), keys=np.arange(9) % 3)
    drawn = distinct(stream(1, "test"), items, np.full(50, 3)).reshape(50, 3)
    assert (np.sort(drawn % 3, axis=1) == np.arange(3)).all()


def test_what_is_not_free_stays() -> None:
    drawn = np.array([3, 3, 3, 1, 2, 1])
    free = np.array([True, False, True, True, False, False])
    make_distinct(stream(1, "test"), zipf(4, 0), np.array([3, 3]), drawn, free)
    assert drawn[~free].tolist() == [3, 2, 1]
    assert len(set(drawn[:3].tolist())) == len(set(drawn[3:].tolist())) == 3


def test_too_large_a_row_is_refused() -> None:
    with pytest.raises(WorkloadError, match="5 different attributes cannot be drawn from 4"):
        distinct(stream(1, "test"), zipf(4, 1.0), np.array([5]))


def test_positions_of_rows() -> None:
    assert positions_of(np.array([2, 0, 2]), np.array([0, 2, 2, 5])).tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
