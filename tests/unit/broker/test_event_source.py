"""What happens inside one poll, which a real Kafka does too rarely to be waited for."""

from collections.abc import Callable
from typing import Any

import pytest

from polled import Record
from tamis.broker.event_source import End, EventSource
from tamis.broker.kafka import KafkaError, KafkaException, TopicPartition
from tamis.broker.transactions import RebuildError


class Client:
    """Hands out what it is told, and calls back in the midst of it, as librdkafka's consumer does."""

    def __init__(self) -> None:
        self.on: dict[str, Callable[..., None]] = {}
        self.committed_offset = 5
        self.committed_metadata: str | None = None
        self.committed_epoch = -1
        self.sought: list[TopicPartition] = []
        self.is_fetching = True
        self.next: list[tuple[list[Record], Callable[[], None] | None]] = []

    def subscribe(self, _topics: list[str], **on: Callable[..., None]) -> None:
        self.on = on

    def committed(self, partitions: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        return [
            TopicPartition(
                at.topic, at.partition, self.committed_offset, self.committed_metadata or "", self.committed_epoch
            )
            for at in partitions
        ]

    def incremental_assign(self, _partitions: list[TopicPartition]) -> None:
        pass

    incremental_unassign = incremental_assign

    def seek(self, place: TopicPartition) -> None:
        if not self.is_fetching:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self.sought.append(place)

    def assign(self) -> None:
        self.on["on_assign"](self, [TopicPartition("events", 0)])

    def revoke(self) -> None:
        self.on["on_revoke"](self, [TopicPartition("events", 0)])

    def poll(self, _seconds: float) -> Record | None:
        found = self.consume(1, 0)
        return found[0] if found else None

    def consume(self, _most: int, _seconds: float) -> list[Record]:
        if not self.next:
            return []
        records, call = self.next.pop(0)
        if call is not None:
            call()
        return records


def source_of(client: Any) -> EventSource:
    source = EventSource(client, ["events"], lambda _partitions: None)
    client.assign()
    return source


def test_what_is_fetched_twice_is_handed_out_once() -> None:
    client = Client()
    source = source_of(client)
    client.next = [([Record(5)], None), ([Record(6), Record(5), Record(6), Record(7)], None)]
    assert [message.offset() for message in source.poll(0, 10)] == [5, 6, 7]


def test_partitions_that_go_and_come_back_within_one_poll_lose_nothing() -> None:
    client = Client()
    source = source_of(client)

    def turn() -> None:
        client.revoke()
        client.assign()

    client.next = [([Record(5)], None), ([Record(6), Record(7)], turn)]
    with pytest.raises(RebuildError, match="went and came back"):
        source.poll(0, 10)


def test_partitions_that_come_back_later_begin_where_they_were_committed() -> None:
    client = Client()
    source = source_of(client)
    client.next = [([Record(5)], None), ([Record(6)], None)]
    assert len(source.poll(0, 10)) == 2
    client.revoke()
    assert source.poll(0, 10) == []
    client.assign()
    client.next = [([Record(5)], None), ([Record(6)], None)]
    assert [message.offset() for message in source.poll(0, 10)] == [5, 6]


def test_a_partition_is_read_once_its_log_was_compared_with_what_is_committed() -> None:
    client = Client()
    client.committed_epoch = 3
    client.is_fetching = False
    source = source_of(client)
    client.next = [([Record(5)], None), ([Record(6)], None)]
    assert source.poll(0, 10) == []
    client.is_fetching = True
    assert source.poll(0, 10) == []
    assert [(place.offset, place.leader_epoch) for place in client.sought] == [(5, 3)]
    client.next = [([Record(5)], None), ([Record(6)], None)]
    assert [message.offset() for message in source.poll(0, 10)] == [5, 6]
    source.poll(0, 10)
    assert len(client.sought) == 1


def test_a_partition_that_goes_before_it_is_compared_is_compared_when_it_comes_back() -> None:
    client = Client()
    client.committed_epoch = 3
    client.is_fetching = False
    source = source_of(client)
    client.next = [([], client.revoke)]
    source.poll(0, 10)
    client.is_fetching = True
    source.poll(0, 10)
    assert client.sought == []
    client.assign()
    source.poll(0, 10)
    assert [place.offset for place in client.sought] == [5]


def test_what_is_committed_without_a_leaders_epoch_is_compared_with_nothing() -> None:
    client = Client()
    source = source_of(client)
    client.next = [([Record(5)], None), ([], None)]
    assert len(source.poll(0, 10)) == 1
    assert client.sought == []
    assert source.end(("events", 0)) == End(6, "", -1)
    source.passed({("events", 0): End(6, "", 4)})
    assert source.end(("events", 0)) == End(6, "", 4)


def test_what_is_held_back_comes_first_and_goes_with_its_partition() -> None:
    client = Client()
    source = source_of(client)
    client.next = [([Record(5)], None), ([Record(6)], None)]
    messages = source.poll(0, 10)
    source.hold_back(messages[1:])
    assert source.position(("events", 0)) == 6
    assert source.poll(0, 10) == messages[1:]
    source.hold_back(messages)
    client.revoke()
    assert source.poll(0, 10) == []


def test_where_enough_is_held_back_the_client_still_hears_of_partitions_that_go() -> None:
    client = Client()
    source = source_of(client)
    client.next = [([Record(5)], None), ([Record(6)], None)]
    source.hold_back(source.poll(0, 10))
    client.next = [([], client.revoke)]
    assert source.poll(0, 1) == []


def test_an_event_that_was_begun_is_known_until_it_is_done() -> None:
    client = Client()
    client.committed_metadata = "1;3;0:7:1|ann"
    source = source_of(client)
    place = ("events", 0)
    assert source.has_begun_events
    assert (source.sent_before(place, 5), source.sent_before(place, 6)) == ("ann", "")
    source.passed({place: End(5, "bob")})  # in part: what is known was committed before
    assert source.sent_before(place, 5) == "ann"
    client.committed_metadata = "1;3;0:7:1|bob"
    source.rewind()
    assert source.sent_before(place, 5) == "bob"
    source.passed({place: End(6)})
    assert not source.has_begun_events
    view = source.view_before(place)
    assert view is not None
    assert view.text == "1;3;0:7:1"
    client.revoke()
    assert source.view_before(place) is None


@pytest.mark.parametrize("metadata", [None, "", "somebody else's"])
def test_what_others_committed_tells_nothing(metadata: str | None) -> None:
    client = Client()
    client.committed_metadata = metadata
    source = source_of(client)
    assert source.view_before(("events", 0)) is None
    assert not source.has_begun_events
