"""What Kafka tells of where partitions begin and end, where it does not quite know."""

from concurrent.futures import Future
from typing import Any, cast

import pytest

from tamis.broker.kafka import AdminClient, KafkaException, TopicPartition, end_offsets, first_offsets


class Told:
    def __init__(self, offset: int) -> None:
        self.offset = offset


class Admin:
    """Answers as a client does."""

    def __init__(self, *offsets: int) -> None:
        self._offsets = offsets

    def list_offsets(self, asked: dict[TopicPartition, Any], **_: Any) -> dict[TopicPartition, Future[Told]]:
        answers: dict[TopicPartition, Future[Told]] = {}
        for place, offset in zip(asked, self._offsets, strict=True):
            answers[place] = Future()
            answers[place].set_result(Told(offset))
        return answers


def test_offsets_come_by_partition() -> None:
    assert end_offsets(cast(AdminClient, Admin(7, 0)), "topic", [1, 3]) == {1: 7, 3: 0}
    assert first_offsets(cast(AdminClient, Admin()), "topic", []) == {}


def test_what_is_no_offset_is_an_error_and_no_log_that_went_backwards() -> None:
    """A new leader that does not know its log yet tells -1001, without an error: it has to be asked again."""
    with pytest.raises(KafkaException, match="does not know its log yet"):
        end_offsets(cast(AdminClient, Admin(7, -1001)), "topic", [1, 3])
