"""The headers that name notifications, beside those made one by one of plain objects."""

from typing import Any

import numpy as np
import pytest

from tamis.codecs.event_columns import EventColumns
from tamis.codecs.groups import Groups
from tamis.codecs.headers import NotificationId
from tamis.codecs.notification_ids import notification_ids

TOPIC_IDS = {"orders": "Zm9vYmFyYmF6cXV4cXV1eA", "é": "AAAAAAAAQACAAAAAAAAAAQ"}
NAMES = [b"ann.b-1", b"x" * 200, b"b"]
PLACES = [0, 0, 0, 1, 3, 3, 4]
OWNERS = [0, 1, 2, 1, 0, 2, 2]


def events() -> EventColumns:
    topics = ["orders", "é", "orders", "é", "orders"]
    partitions = np.array([0, 7, 1, (1 << 31) - 1, 3], np.int32)
    offsets = np.array([0, 9, 10, (1 << 63) - 1, 1 << 40])
    return EventColumns(["e"] * 5, np.zeros(5, np.int64), topics, partitions, offsets, [b""] * 5)


def groups(places: list[int], owners: list[int]) -> Groups:
    starts = np.arange(len(places) + 1, dtype=np.uint64)
    ids = np.zeros(len(places), np.uint32)
    return Groups(np.array(places, np.uint32), np.array(owners, np.uint32), starts, ids, None)


def expected(first: int, end: int) -> list[bytes]:
    columns = events()
    return [
        NotificationId(
            TOPIC_IDS[columns.topics[place]],
            int(columns.partitions[place]),
            int(columns.offsets[place]),
            NAMES[owner].decode(),
        ).header
        for place, owner in zip(PLACES[first:end], OWNERS[first:end], strict=True)
    ]


def test_each_is_what_a_plain_object_gives() -> None:
    made = notification_ids(groups(PLACES, OWNERS), events(), TOPIC_IDS, NAMES)
    assert made == expected(0, len(PLACES))
    assert [NotificationId.parse(header).header for header in made] == made


def test_a_piece_is_a_part_of_all() -> None:
    for first in range(len(PLACES) + 1):
        for end in range(first, len(PLACES) + 1):
            made = notification_ids(groups(PLACES, OWNERS), events(), TOPIC_IDS, NAMES, first, end)
            assert made == expected(first, end)


@pytest.mark.parametrize(("first", "end"), [(-1, 1), (2, 1), (0, 8), (8, 8)])
def test_groups_that_are_not_there_are_told(first: int, end: int) -> None:
    with pytest.raises(ValueError, match="7 groups"):
        notification_ids(groups(PLACES, OWNERS), events(), TOPIC_IDS, NAMES, first, end)


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(IndexError, match="none at 5"):
        notification_ids(groups([5], [0]), events(), TOPIC_IDS, NAMES)
    with pytest.raises(IndexError, match="number 3"):
        notification_ids(groups([0], [3]), events(), TOPIC_IDS, NAMES)
    with pytest.raises(KeyError, match="orders"):
        notification_ids(groups([0], [0]), events(), {}, NAMES)


@pytest.mark.parametrize("name", [None, "ann", bytearray(b"ann")])
def test_a_name_is_bytes(name: Any) -> None:
    with pytest.raises(TypeError, match="bytes"):
        notification_ids(groups([0], [0]), events(), TOPIC_IDS, [name])
