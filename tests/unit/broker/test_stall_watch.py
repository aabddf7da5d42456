"""When a client is taken for one that reads no more."""

from collections.abc import Iterable, Mapping
from itertools import count

import pytest

from tamis.broker.kafka import KafkaError, KafkaException
from tamis.broker.lag_ends import Place
from tamis.broker.stall_watch import StallWatch
from tamis.broker.transactions import RebuildError

A, B = ("events", 0), ("events", 1)


class Ends:
    def __init__(self, **_: object) -> None:
        self.told: dict[Place, int] = {A: 10, B: 10}
        self.asked: list[list[Place]] = []
        self.is_away = False

    def __call__(self, places: Iterable[Place]) -> Mapping[Place, int]:
        self.asked.append(sorted(places))
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return {place: self.told[place] for place in self.asked[-1]}


@pytest.fixture
def ends() -> Ends:
    return Ends()


def test_one_that_has_nothing_twice_where_there_is_more_reads_no_more(ends: Ends) -> None:
    watch = StallWatch(ends, 0.0)
    watch.look({A: 10, B: 7})
    with pytest.raises(RebuildError, match=r"no more of events \[1\], which it has up to 7 of 10"):
        watch.look({A: 10, B: 7})


def test_one_that_moves_or_is_at_the_end_reads_on(ends: Ends) -> None:
    watch = StallWatch(ends, 0.0)
    for at in (5, 6, 7):
        watch.look({A: 10, B: at})
    watch.look({A: 10})  # one that went
    watch.look({A: 10, B: 7})
    ends.told[B] = 7
    watch.look({A: 10, B: 7})
    watch.look({A: 10, B: 7})


def test_kafka_is_asked_now_and_then_and_only_about_what_does_not_move(ends: Ends) -> None:
    watch = StallWatch(ends, 3600.0)
    for _ in range(5):
        watch.look({A: 10, B: 7})
    assert ends.asked == []
    watch = StallWatch(ends, 0.0)
    watch.look({})
    assert ends.asked == []


def test_a_kafka_that_is_away_says_nothing_about_the_client(ends: Ends) -> None:
    watch = StallWatch(ends, 0.0)
    ends.is_away = True
    for _ in range(3):
        watch.look({B: 7})
    assert len(ends.asked) == 3


def test_each_client_has_twice_the_time_of_the_one_before_until_one_reads(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first fetch that takes longer than the watch waits must not be begun for ever."""
    clock = count()
    monkeypatch.setattr("tamis.broker.stall_watch.time.monotonic", lambda: float(next(clock)))
    watch = StallWatch(ends, 1.0)

    def looks_until_stalled(at: int) -> int:
        for look in count(1):
            try:
                watch.look({B: at})
            except RebuildError:
                return look
        raise AssertionError

    assert [looks_until_stalled(7) for _ in range(4)] == [3, 4, 8, 16]
    assert looks_until_stalled(8) == 3
