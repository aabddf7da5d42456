import time

import pytest

from tamis.broker.view_records import ViewRecords
from tamis.codecs.layout import Layout
from tamis.codecs.view import Position, View
from tamis.indexes.limits import Limits

LAYOUT = Layout(1, 1, 2, {"subscriptions": "S", "events": "E"}, Limits())
FIRST, SECOND = View(1, [Position(0, 1)]), View(1, [Position(0, 2)])


def told(records: ViewRecords, view: View, **firsts: int) -> list[tuple[int, int]]:
    places = {("events", int(partition[1:])): (offset, "") for partition, offset in firsts.items()}
    return [(record.partition, record.first_offset) for record in records.wanted(places, view)]


def test_a_view_is_told_for_each_partition_when_it_is_new() -> None:
    records = ViewRecords(LAYOUT, 0, "subscriptions")
    assert told(records, FIRST, p0=5, p1=7) == [(0, 5), (1, 7)]
    assert told(records, FIRST, p0=6, p1=8) == []
    assert told(records, SECOND, p0=9) == [(0, 9)]
    assert told(records, SECOND, p0=10, p1=11) == [(1, 11)]


def test_it_is_told_again_after_a_while_and_after_what_may_have_been_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    records = ViewRecords(LAYOUT, 0, "subscriptions")
    assert told(records, FIRST, p0=5) == [(0, 5)]
    records.forget()
    assert told(records, FIRST, p0=5) == [(0, 5)]
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 601)
    assert told(records, FIRST, p0=6) == [(0, 6)]


def test_a_record_says_whose_topics_and_rules_it_speaks_of() -> None:
    (record,) = ViewRecords(LAYOUT, 0, "subscriptions").wanted({("events", 3): (7, "ann")}, FIRST)
    assert (record.topic_id, record.subscriptions_id, record.rules, record.view) == ("E", "S", LAYOUT.rules, FIRST)
    assert (record.first_offset, record.after) == (7, "ann")
