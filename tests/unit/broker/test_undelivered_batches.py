"""How much of what waits goes into one transaction."""

from typing import cast

import pytest

from tamis.broker.undelivered_batches import BYTES_MAX, RECORDS_MAX, TOPICS_MAX, Pending
from tamis.broker.undelivered_ready import Ready
from tamis.broker.undelivered_targets import Hindrance, Target, Targets
from tamis.codecs.headers import WaitingPlace

MIB = 1 << 20


class Known:
    """Topics that are known already, by their bounds."""

    def __init__(self, **bounds: int) -> None:
        self.bounds = bounds
        self.closed: set[str] = set()

    def of(self, subscriber: str) -> Target | Hindrance:
        if subscriber in self.closed:
            return Hindrance("topic_forbidden", "not any more")
        return Target(f"t.{subscriber}", 1, self.bounds.get(subscriber))


def pending(known: Known, *records: tuple[str, int]) -> Pending:
    """Of these subscribers and sizes."""
    made = Pending(cast("Targets", known))
    for offset, (subscriber, size) in enumerate(records):
        value = bytes(size - Ready(WaitingPlace(0, 0), "", "", 0, b"", None, {}).size)
        made.add(Ready(WaitingPlace(0, offset), subscriber, f"t.{subscriber}", 0, value, None, {}))
    return made


@pytest.mark.parametrize(
    ("bounds", "records", "sizes"),
    [
        ({}, [("ann", 1000)] * (RECORDS_MAX + 5), [RECORDS_MAX, 5]),
        ({}, [("ann", MIB)] * 9, [BYTES_MAX // MIB, 1]),
        ({}, [("ann", 9 * MIB), ("ann", 1000)], [1, 1]),
        ({}, [(f"s{number}", 1000) for number in range(TOPICS_MAX + 1)] + [("s0", 1000)], [TOPICS_MAX, 2]),
        ({"ann": 3000}, [("ann", 1000)] * 7, [3, 3, 1]),
        ({"ann": 3000}, [("ann", 1000), ("bob", 9000)] * 5, [6, 4]),
        ({"ann": 3000}, [("bob", 1000), ("ann", 4000), ("bob", 1000), ("bob", 1000)], [1, 1, 2]),
        ({"ann": 2 * MIB}, [("ann", MIB)] * 4, [4]),
        ({"ann": 2 * MIB}, [("bob", 1000), ("ann", 3 * MIB), ("bob", 1000)], [1, 1, 1]),
    ],
)
def test_it_is_bounded(bounds: dict[str, int], records: list[tuple[str, int]], sizes: list[int]) -> None:
    """One that is larger than its topic takes goes alone; several go together if their sum surely fits."""
    waiting = pending(Known(**bounds), *records)
    found, offsets = [], []
    while waiting:
        batch = waiting.first()
        offsets += [ready.place.offset for ready in batch]
        found.append(len(batch))
        waiting.drop(len(batch))
    assert found == sizes
    assert offsets == list(range(len(records))), "the order stays"
    assert not waiting.is_full


def test_what_cannot_be_sent_any_more_is_sorted_out() -> None:
    known = Known()
    waiting = pending(known, *[("ann", 1000), ("bob", 1000)] * 3)
    known.closed.add("bob")
    too_large = Hindrance("too_large", "")
    told = {
        ready.place.offset: hindrance.reason for ready, hindrance in waiting.sort_out({WaitingPlace(0, 2): too_large})
    }
    assert told == {1: "topic_forbidden", 2: "too_large", 3: "topic_forbidden", 5: "topic_forbidden"}
    assert [ready.place.offset for ready in waiting] == [0, 4]
