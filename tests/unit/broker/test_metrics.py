"""What a process counts is what happened, and its text is Prometheus's."""

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics_text import parsed
from polled import Record
from tamis.broker.event_source import EventSource
from tamis.broker.kafka import KafkaError, TopicPartition
from tamis.broker.matching_step import Matched
from tamis.broker.message_batch import MessageBatch
from tamis.broker.metrics import OTHER, Meters, Reasons
from tamis.broker.metrics_families import families
from tamis.broker.metrics_text import Family, Histogram, Kind, text_of
from tamis.codecs.groups import Groups
from tamis.codecs.layout import Layout
from tamis.codecs.messages import Messages
from tamis.codecs.reasons import Reason, Refusal
from tamis.indexes.limits import Limits

BOUNDS = (0.1, 1.0, 10.0)
PLACE = ("events", 0)


@given(st.lists(st.floats(0, 100)))
def test_a_histogram_counts_each_value_in_every_bucket_that_it_is_not_above(values: list[float]) -> None:
    one_by_one, at_once = Histogram(BOUNDS), Histogram(BOUNDS)
    for value in values:
        one_by_one.observe(value)
    at_once.observe_all(np.array(values))
    for histogram in (one_by_one, at_once):
        (family,) = parsed(text_of([Family("seconds", Kind.HISTOGRAM, "x", histogram=histogram)])).values()
        for bound in BOUNDS:
            expected = sum(value <= bound for value in values)
            assert family.value("_bucket", le=f"{bound:g}") == expected
        assert family.value("_count") == len(values)
        assert family.value("_sum") == pytest.approx(sum(values))


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]) | st.just("\n")), st.floats(0, 1e300)
)
def test_labels_may_hold_anything(text: str, number: float) -> None:
    told = text_of([Family("metric", Kind.GAUGE, "two\nlines", [({"label": text}, number)])])
    assert parsed(told)["metric"].value(label=text) == number


def test_reasons_are_bounded() -> None:
    reasons = Reasons(["known"])
    for number in range(1000):
        reasons.add(f"reason-{number}")
    reasons.add("known", 2)
    assert len(reasons) <= 101
    assert reasons["known"] == 2
    assert sum(reasons.values()) == 1002
    assert reasons[OTHER] > 800


class TestCommitted:
    """A batch of two topics, the second of which is cut by the step's bounds."""

    @pytest.fixture
    def meters(self) -> Meters:
        meters = Meters("scan", 2)
        now = round(time.time() * 1000)
        parts = [
            Messages("a", np.array([0, 1, 0], np.int32), np.array([5, 9, 6]), np.array([now, now, -1]), [b""] * 3),
            Messages("b", np.array([0, 0], np.int32), np.array([1, 2]), np.array([now + 10**6, now]), [b""] * 2),
        ]
        batch = MessageBatch([None] * 5, parts)  # type: ignore[list-item]  # they are not looked at
        groups = Groups(
            np.array([0, 0, 2], np.uint32),
            np.array([1, 2, 1], np.uint32),
            np.array([0, 1, 3, 4], np.uint64),
            np.array([7, 8, 9, 7], np.uint32),
            None,
        )
        unread: Any = None
        step = Matched(4, 3, unread, [], groups, unread, [Refusal(1, Reason.TRUNCATED, 0)], 11)
        meters.positions = {("a", 0): 5, ("a", 1): 9, ("b", 0): 1, ("c", 0): 0}
        meters.began()
        meters.caught_up()
        meters.matched()
        meters.reached({("a", 0): 7, ("a", 1): 10, ("b", 0): 2, ("d", 0): 4})
        meters.sent(step)
        meters.finished(batch, step)
        return meters

    def test_what_is_done_is_counted_and_nothing_else(self, meters: Meters) -> None:
        assert meters.events == {"a": 3, "b": 1}
        assert {reason: count for reason, count in meters.rejected.items() if count} == {"truncated": 1}
        assert (meters.notifications, meters.matches, meters.unmatched, meters.candidates) == (3, 4, 1, 11)

    def test_positions_are_those_of_partitions_that_are_owned(self, meters: Meters) -> None:
        assert meters.positions == {("a", 0): 7, ("a", 1): 10, ("b", 0): 2, ("c", 0): 0}

    def test_lag_is_what_is_left_of_partitions_whose_end_is_known(self, meters: Meters) -> None:
        ends = {("a", 0): 9, ("a", 1): 10, ("b", 0): 1, ("b", 1): 100}
        found = parsed(text_of(families(meters, ends, is_ready=True, scrape_errors=0)))
        lag = found["tamis_consumer_lag_records"]
        assert {labels: value for (_, labels), value in lag.samples.items()} == {
            (("partition", "0"), ("topic", "a")): 2,
            (("partition", "1"), ("topic", "a")): 0,
            (("partition", "0"), ("topic", "b")): 0,
        }
        assert found["tamis_partitions"].value(shard="2") == 4
        assert found["tamis_partitions_owned"].value(shard="2") == 4

    def test_where_a_log_was_read_to_its_end_nothing_lies_behind_that(self, meters: Meters) -> None:
        """Only markers did; what came since waits."""
        meters.drained = {("a", 0): 9, ("a", 1): 10, ("b", 0): 2, ("c", 0): 3}
        ends = {("a", 0): 9, ("a", 1): 12, ("b", 0): 2}
        found = parsed(text_of(families(meters, ends, is_ready=True, scrape_errors=0)))
        lag = found["tamis_consumer_lag_records"].samples
        assert {dict(labels)["topic"] + dict(labels)["partition"]: value for (_, labels), value in lag.items()} == {
            "a0": 0,
            "a1": 2,
            "b0": 0,
        }

    def test_what_has_no_timestamp_is_left_out_and_what_is_ahead_took_no_time(self, meters: Meters) -> None:
        found = parsed(text_of(families(meters, {}, is_ready=True, scrape_errors=0)))
        delivery = found["tamis_delivery_duration_seconds"]
        assert delivery.value("_count") == 3
        assert 0 <= delivery.value("_sum") < 60


def test_aborts_in_a_row_end_with_a_commit() -> None:
    meters = Meters()
    for reason in ("_MSG_TIMED_OUT", "commit"):
        meters.failed_to_commit(reason)
    assert meters.aborted_in_a_row == 2
    assert (meters.aborted["msg_timed_out"], meters.aborted["commit"]) == (1, 1)


def test_who_leaves_owns_nothing() -> None:
    meters = Meters()
    meters.joins(Layout(1, 1, 4, {"x": "y"}, Limits()))
    meters.positions = {("x", 0): 1}
    meters.drained = {("x", 0): 2}
    meters.left()
    assert (meters.positions, meters.drained, meters.layout, meters.memberships) == ({}, {}, None, 1)


def test_who_has_worked_by_a_layout_tells_of_its_shards_though_it_has_left() -> None:
    """Else one that makes new clients would end an alert about shards that nobody serves."""
    meters = Meters()

    def shards() -> list[float]:
        found = parsed(text_of(families(meters, {}, is_ready=False, scrape_errors=0)))
        return list(found["tamis_shards"].samples.values())

    assert shards() == []
    meters.joins(Layout(1, 3, 4, {"x": "y"}, Limits()))
    meters.left()
    assert shards() == [3]


class Client:
    """Has a partition from offset 5 on, and then what it is given."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def subscribe(self, _topics: list[str], on_assign: Any, **_others: Any) -> None:
        on_assign(self, [TopicPartition("events", 0)])

    def committed(self, _partitions: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        return [TopicPartition("events", 0, 5)]

    def incremental_assign(self, _partitions: list[TopicPartition]) -> None:
        pass

    seek = incremental_assign

    def poll(self, _seconds: float) -> None:
        return None

    def consume(self, _most: int, _seconds: float) -> list[Record]:
        records, self.records = self.records, []
        return records


class TestDrained:
    """A partition whose log ends behind markers of a transaction."""

    @pytest.fixture
    def client(self) -> Any:
        return Client()

    @pytest.fixture
    def source(self, client: Any) -> EventSource:
        source = EventSource(client, ["events"], lambda _partitions: None)
        client.records = [Record(5), Record(6), Record(8, KafkaError(KafkaError._PARTITION_EOF))]
        return source

    def test_one_that_is_committed_to_its_end_is(self, source: EventSource) -> None:
        source.poll(0, 10)
        assert source.drained({PLACE: 7}) == {PLACE: 8}

    def test_one_of_which_something_is_in_hand_or_held_back_is_not(self, source: EventSource) -> None:
        assert source.drained({PLACE: 5}) == {}
        source.poll(0, 1)
        assert source.drained({PLACE: 5}) == {}
        assert source.drained({PLACE: 6}) == {}

    def test_one_that_others_own_is_not(self, source: EventSource) -> None:
        source.poll(0, 10)
        assert source.drained({}) == {}

    def test_one_that_is_read_again_after_an_abort_is_not(self, source: EventSource) -> None:
        source.poll(0, 10)
        source.rewind()
        assert source.drained({PLACE: 5}) == {}


def test_every_name_has_the_prefix_or_is_one_that_all_exporters_have() -> None:
    names = [family.name for family in families(Meters(), {}, is_ready=False, scrape_errors=0)]
    assert len(names) == len(set(names))
    assert all(name.startswith(("tamis_", "process_")) for name in names)


def test_bounds_rise() -> None:
    for family in families(Meters(), {}, is_ready=False, scrape_errors=0):
        if family.histogram is not None:
            bounds = family.histogram._bounds
            assert all(low < high for low, high in pairwise(bounds))
