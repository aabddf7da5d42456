"""Notifications of many matches at once, beside the same made one by one of plain objects."""

import io
import json
import threading
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import fastavro
import numpy as np
import pytest

from records import physical
from tamis.codecs.event import Event
from tamis.codecs.event_columns import EventColumns
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.grouping import grouped
from tamis.codecs.groups import Groups
from tamis.codecs.messages import Messages
from tamis.codecs.notification import SCHEMA, Match, Notification
from tamis.codecs.notification_encoder import Notifications, encoded
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes import EventBatch, IndexBusy, Matches, create

AVRO, JSON = NotificationFormat
NAMES = ["cheap", "ALL", "ünïcode", 'quo"te\\', "x" * 200]
TAGS: list[dict[str, str]] = [{}, {"team": "a"}, {"a": "1", "b": '"\n\x01'}, {"é": "日本"}]


def table_of(count: int, subscribers: int, kind: NotificationFormat = AVRO, scored: int = 3) -> SubscriptionTable:
    """Of which every `scored` subscription tells its score."""
    table = SubscriptionTable(kind)
    for number in range(count):
        table.put(number, number % subscribers, NAMES[number % 5], TAGS[number % 4], number % scored == 0)
    return table


def matches_of(events: Iterable[Iterable[int]], *, scored: bool = True) -> Matches:
    lists = [list(ids) for ids in events]
    ids = np.array([number for ids in lists for number in ids], np.uint32)
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.uint64)
    return Matches(offsets, ids, len(lists), np.arange(len(ids)) / 8 if scored else None, {})


def columns_of(count: int, kind: NotificationFormat = AVRO) -> EventColumns:
    events = [Event(f"é{number}", -5 + number, {"a": number, "b": "x" * number}) for number in range(count)]
    values = [json.dumps(event.attributes).encode() if kind is JSON else event.encode() for event in events]
    return EventColumns(
        [event.id for event in events],
        np.array([event.time for event in events]),
        [f"topic-{number % 2}" for number in range(count)],
        np.arange(count, dtype=np.int32),
        np.arange(count) + (1 << 40),
        values,
    )


def expected(groups: Groups, columns: EventColumns, scored: int = 3) -> list[Notification]:
    made = []
    for group, event in enumerate(map(int, groups.events)):
        span = slice(int(groups.starts[group]), int(groups.starts[group + 1]))
        scores = [None] * len(groups.ids) if groups.scores is None else groups.scores.tolist()
        matches = [
            Match(NAMES[number % 5], TAGS[number % 4], score if number % scored == 0 else None)
            for number, score in zip(groups.ids[span].tolist(), scores[span], strict=True)
        ]
        made.append(
            Notification(
                id=columns.ids[event],
                time=int(columns.times[event]),
                topic=columns.topics[event],
                partition=int(columns.partitions[event]),
                offset=int(columns.offsets[event]),
                matches=matches,
                event=columns.values[event],
            )
        )
    return made


EVENTS = [[0, 3, 7, 11], [], [5], [10, 2, 6, 14, 18], range(20), [19]]


class TestGrouping:
    def test_a_group_is_an_event_and_a_subscriber(self) -> None:
        groups = grouped(matches_of(EVENTS), table_of(20, 4))
        found = [
            (event, subscriber, groups.ids[int(start) : int(end)].tolist())
            for event, subscriber, start, end in zip(
                groups.events.tolist(), groups.subscribers.tolist(), groups.starts, groups.starts[1:], strict=False
            )
        ]
        assert found == [
            (event, subscriber, ids)
            for event, all_ids in enumerate(EVENTS)
            for subscriber in range(4)
            if (ids := [number for number in all_ids if number % 4 == subscriber])
        ]
        assert len(groups) == len(found)

    def test_scores_go_with_their_ids(self) -> None:
        matches = matches_of(EVENTS)
        groups = grouped(matches, table_of(20, 4))
        assert groups.scores is not None
        assert matches.scores is not None
        pairs = zip(matches.ids.tolist(), matches.scores.tolist(), strict=True)
        assert sorted(zip(groups.ids.tolist(), groups.scores.tolist(), strict=True)) == sorted(pairs)
        assert grouped(matches_of(EVENTS, scored=False), table_of(20, 4)).scores is None

    def test_a_part_of_a_batch_keeps_its_places(self) -> None:
        assert grouped(matches_of([[1], [2]]), table_of(20, 4), 7).events.tolist() == [7, 8]

    def test_nothing_gives_nothing(self) -> None:
        groups = grouped(matches_of([[], []]), table_of(1, 1))
        assert len(groups) == 0
        assert groups.starts.tolist() == [0]

    @pytest.mark.parametrize("id", [20, 1 << 31, (1 << 32) - 1])
    def test_a_subscription_that_is_not_there_is_told(self, id: int) -> None:
        with pytest.raises(KeyError, match=str(id)):
            grouped(matches_of([[1], [2, id]]), table_of(20, 4))

    @pytest.mark.parametrize("offsets", [[], [1, 2], [0, 3], [0, 2, 1, 2]])
    def test_offsets_that_cannot_be_are_refused(self, offsets: list[int]) -> None:
        matches = Matches(np.array(offsets, np.uint64), np.zeros(2, np.uint32), 1, None, {})
        with pytest.raises(ValueError, match="offsets"):
            grouped(matches, table_of(20, 4))


class TestAvro:
    def test_each_is_what_a_plain_object_gives(self) -> None:
        columns, table = columns_of(len(EVENTS)), table_of(20, 4)
        groups = grouped(matches_of(EVENTS), table)
        made = encoded(groups, table, columns)
        assert [Notification.decode(value) for value in made] == expected(groups, columns)
        assert list(made) == [notification.encode() for notification in expected(groups, columns)]
        assert b"".join(made) == bytes(memoryview(made))

    def test_any_avro_tool_reads_them(self) -> None:
        columns, table = columns_of(len(EVENTS)), table_of(20, 4)
        groups = grouped(matches_of(EVENTS), table)
        for value, notification in zip(encoded(groups, table, columns), expected(groups, columns), strict=True):
            read: Any = fastavro.schemaless_reader(io.BytesIO(value[10:]), physical(SCHEMA.source), None)
            assert value[:10] == SCHEMA.header
            assert read["event"] == notification.event
            assert [match["score"] for match in read["matches"]] == [match.score for match in notification.matches]

    def test_events_come_from_any_messages(self) -> None:
        """Of several topics, and some of them refused."""
        values = [[b'{"a": 1}', b"none", Event("mine", 7, {"a": 2}).encode()], [b'{"a": 3}']]
        messages = [
            Messages("x", 2, [5, 6, 7], [1, 1, 1], values[0]),
            Messages("y", np.array([4], np.int32), np.array([9]), [2], values[1]),
        ]
        decoded = EventDecoder().decode(messages)
        table = table_of(2, 2)
        groups = grouped(matches_of([[1], [1], [1]]), table)
        made = [Notification.decode(value) for value in encoded(groups, table, EventColumns.of(decoded, messages))]
        assert [(one.id, one.time, one.topic, one.partition, one.offset, one.event) for one in made] == [
            ("x/2/5", 1000, "x", 2, 5, values[0][0]),
            ("mine", 7, "x", 2, 7, values[0][2]),
            ("y/4/9", 2000, "y", 4, 9, values[1][0]),
        ]

    def test_lengths_of_any_size(self) -> None:
        """Of one byte, of two, of three."""
        table = table_of(1, 1)
        for size in (0, 1, 63, 64, 8191, 8192, 1 << 20):
            columns = EventColumns(
                ["e" * size], np.array([0]), ["t"], np.zeros(1, np.int32), np.array([0]), [b"x" * size]
            )
            (made,) = encoded(grouped(matches_of([[0]]), table), table, columns)
            assert Notification.decode(made).event == b"x" * size
            assert Notification.decode(made).id == "e" * size

    def test_an_engine_s_matches_are_told(self) -> None:
        index = create()
        index.insert_many([0, 1, 2], ["a > 1 weight 3", "exists b", "a = 0"])
        table = table_of(3, 2)
        events: list[dict[str, Any]] = [{"a": 2, "b": "x"}, {"a": 0}]
        groups = grouped(index.match_batch(EventBatch.from_events(events), scores=True), table)
        made = [Notification.decode(value).matches for value in encoded(groups, table, columns_of(2))]
        assert [[(match.name, match.score) for match in matches] for matches in made] == [
            [("cheap", 3.0)],
            [("ALL", None)],
            [("ünïcode", None)],
        ]


class TestJson:
    def test_each_is_an_object_of_the_same_fields(self) -> None:
        columns, table = columns_of(len(EVENTS), JSON), table_of(20, 4, JSON)
        groups = grouped(matches_of(EVENTS), table)
        made = [json.loads(value) for value in encoded(groups, table, columns)]
        assert made == [
            {
                "id": one.id,
                "time": one.time,
                "topic": one.topic,
                "partition": one.partition,
                "offset": one.offset,
                "matches": [
                    {"name": match.name, "tags": match.tags} | ({} if match.score is None else {"score": match.score})
                    for match in one.matches
                ],
                "event": json.loads(one.event or b""),
            }
            for one in expected(groups, columns)
        ]

    @pytest.mark.parametrize(
        ("score", "text"),
        [(0.1, "0.1"), (2.0, "2"), (1e300, "1e+300"), (5e-324, "5e-324"), (np.inf, "1e999"), (-np.inf, "-1e999")],
    )
    def test_a_score_is_the_shortest_number(self, score: float, text: str) -> None:
        table = table_of(1, 1, JSON)
        matches = Matches(np.array([0, 1], np.uint64), np.zeros(1, np.uint32), 1, np.array([score]), {})
        (made,) = encoded(grouped(matches, table), table, columns_of(1, JSON))
        assert f'"score":{text}}}' in made.decode()
        assert json.loads(made)["matches"][0]["score"] == score

    def test_any_id_is_a_string(self) -> None:
        table = table_of(1, 1, JSON)
        for text in ('"', "\\", "\x00\x1f\x7f", "é\u2028😀", "a\nb"):
            columns = EventColumns([text], np.array([0]), ["t"], np.zeros(1, np.int32), np.array([0]), [b"{}"])
            (made,) = encoded(grouped(matches_of([[0]]), table), table, columns)
            assert json.loads(made)["id"] == text


@pytest.mark.parametrize("kind", NotificationFormat)
class TestParts:
    @pytest.mark.parametrize("bytes_max", [0, 1, 500, 2000, 1 << 20])
    def test_parts_are_all_of_it_once(self, kind: NotificationFormat, bytes_max: int) -> None:
        columns, table = columns_of(len(EVENTS), kind), table_of(20, 4, kind)
        groups = grouped(matches_of(EVENTS), table)
        whole = list(encoded(groups, table, columns))
        parts: list[Notifications] = []
        while not parts or parts[-1].end < len(groups):
            parts.append(encoded(groups, table, columns, parts[-1].end if parts else 0, bytes_max))
            assert len(parts[-1]) == 1 or memoryview(parts[-1]).nbytes <= bytes_max
        assert [value for part in parts for value in part] == whole
        assert [part.first for part in parts] == [0, *(part.end for part in parts[:-1])]

    def test_of_nothing_there_is_nothing(self, kind: NotificationFormat) -> None:
        table = table_of(1, 1, kind)
        made = encoded(grouped(matches_of([[]]), table), table, columns_of(1, kind))
        assert (len(made), made.first, made.end, bytes(memoryview(made))) == (0, 0, 0, b"")
        assert made.starts.tolist() == [0]

    def test_places_from_either_end(self, kind: NotificationFormat) -> None:
        table = table_of(3, 3, kind)
        made = encoded(grouped(matches_of([[0, 1, 2]]), table), table, columns_of(1, kind))
        assert made[-1] == made[2]
        for place in (3, -4):
            with pytest.raises(IndexError):
                made[place]
        assert not made.starts.flags.writeable

    def test_what_was_written_outlives_what_it_was_made_of(self, kind: NotificationFormat) -> None:
        table = table_of(3, 3, kind)
        made = encoded(grouped(matches_of([[0, 1, 2]]), table), table, columns_of(1, kind))
        before = list(made)
        view = memoryview(made)
        for number in range(3):
            table.delete(number)
        del made
        assert b"".join(before) == bytes(view)


class TestRefusals:
    def test_scores_are_there_where_they_are_asked_for(self) -> None:
        table = table_of(4, 1)
        groups = grouped(matches_of([[1, 2, 3]], scored=False), table)
        with pytest.raises(ValueError, match="subscription 3 asks for scores"):
            encoded(groups, table, columns_of(1))

    def test_a_subscription_that_went_meanwhile_is_told(self) -> None:
        table = table_of(4, 1)
        groups = grouped(matches_of([[1, 2]]), table)
        table.delete(2)
        with pytest.raises(KeyError, match="2"):
            encoded(groups, table, columns_of(1))

    def test_an_event_that_is_not_there_is_told(self) -> None:
        table = table_of(4, 1)
        with pytest.raises(IndexError, match="none at 1"):
            encoded(grouped(matches_of([[1], [2]]), table), table, columns_of(1))

    def test_a_group_that_is_not_there_is_told(self) -> None:
        table = table_of(4, 1)
        for first in (-1, 2):
            with pytest.raises(ValueError, match="1 groups"):
                encoded(grouped(matches_of([[1]]), table), table, columns_of(1), first)

    def test_columns_are_equally_long(self) -> None:
        with pytest.raises(ValueError, match="equally long"):
            EventColumns(["e"], np.array([0, 1]), ["t"], np.zeros(1, np.int32), np.array([0]), [b""])

    @pytest.mark.parametrize("value", [None, "text", bytearray(b"x")])
    def test_a_value_is_bytes(self, value: Any) -> None:
        columns = EventColumns(["e"], np.array([0]), ["t"], np.zeros(1, np.int32), np.array([0]), [value])
        table = table_of(1, 1)
        with pytest.raises(TypeError, match="bytes"):
            encoded(grouped(matches_of([[0]]), table), table, columns)

    @pytest.mark.parametrize("starts", [[0], [0, 1, 2], [2, 1], [0, 3]])
    def test_groups_that_cannot_be_are_refused(self, starts: list[int]) -> None:
        zero = np.zeros(1, np.uint32)
        groups = Groups(zero, zero, np.array(starts, np.uint64), np.zeros(2, np.uint32), None)
        with pytest.raises(ValueError, match="start"):
            encoded(groups, table_of(4, 1), columns_of(1))

    def test_there_are_as_many_scores_as_ids(self) -> None:
        zero = np.zeros(1, np.uint32)
        groups = Groups(zero, zero, np.array([0, 2], np.uint64), np.zeros(2, np.uint32), np.zeros(1))
        with pytest.raises(ValueError, match="2 ids, but 1 scores"):
            encoded(groups, table_of(4, 1), columns_of(1))


class TestTable:
    def test_a_subscription_is_replaced(self) -> None:
        table = table_of(1, 1)
        table.put(0, 5, "other", {}, scores=False)
        assert table.subscriber(0) == 5
        assert len(table) == 1
        groups = grouped(matches_of([[0]]), table)
        assert groups.subscribers.tolist() == [5]
        (made,) = encoded(groups, table, columns_of(1))
        assert Notification.decode(made).matches == (Match("other", {}, None),)

    def test_what_went_is_gone(self) -> None:
        table = table_of(100, 7)
        for number in range(100):
            table.delete(number)
            assert number not in table
            with pytest.raises(KeyError, match=str(number)):
                table.delete(number)
            with pytest.raises(KeyError, match=str(number)):
                table.subscriber(number)
        assert len(table) == 0
        assert (0 in table, -1 in table, "0" in table, 1 << 40 in table) == (False,) * 4

    def test_nothing_grows_under_churn(self) -> None:
        table = table_of(1000, 7)
        before = table.memory_bytes()
        for turn in range(20):
            for number in range(1000):
                table.put(number, number % 7, NAMES[(number + turn) % 5], TAGS[number % 4], scores=False)
            names = [NAMES[(number + turn) % 5] for number in range(1000)]
            tags = [TAGS[(number + turn) % 4] for number in range(1000)]
            table.put_many(
                np.arange(1000, dtype=np.uint32), np.zeros(1000, np.uint32), names, tags, np.zeros(1000, np.bool_)
            )
        assert table.memory_bytes() <= before * 1.5

    @pytest.mark.parametrize("ids", [np.array([1, -1]), np.array([1, 1 << 32]), [0.5, 1.0]])
    def test_ids_of_another_type_are_not_made_to_fit(self, ids: Any) -> None:
        table = table_of(1, 1)
        with pytest.raises(ValueError, match="uint32"):
            table.put_many(ids, np.zeros(2, np.uint32), ["a", "b"], [{}, {}], np.zeros(2, np.bool_))
        assert len(table) == 1

    def test_names_and_tags_that_are_alike_are_held_once(self) -> None:
        table = SubscriptionTable()
        for number in range(100_000):
            table.put(number, number, "default", {"team": "a"})
        assert table.memory_bytes() / 100_000 <= 20

    @pytest.mark.parametrize("kind", NotificationFormat)
    def test_many_are_put_as_one_by_one(self, kind: NotificationFormat) -> None:
        """Ids are there twice, and were there before."""
        ids = [3, 1, 7, 3, 9, 1]
        names = [NAMES[place % 5] for place in range(6)]
        tags: list[Mapping[str, str]] = [TAGS[place % 4] for place in range(5)]
        tags.append(MappingProxyType({"p": "q"}))
        scores = [place % 2 == 0 for place in range(6)]
        alone, together = table_of(4, 2, kind), table_of(4, 2, kind)
        for row in zip(ids, range(6), names, tags, scores, strict=True):
            alone.put(*row)
        together.put_many(np.array(ids, np.uint32), np.arange(6, dtype=np.uint32), names, tags, np.array(scores))
        assert len(alone) == len(together) == 6
        matches, columns = matches_of([sorted({*ids, 0, 2})]), columns_of(1, kind)
        groups = [grouped(matches, table) for table in (alone, together)]
        assert groups[0].subscribers.tolist() == groups[1].subscribers.tolist()
        assert list(encoded(groups[0], alone, columns)) == list(encoded(groups[1], together, columns))
        together.put_many(np.zeros(0, np.uint32), np.zeros(0, np.uint32), [], [], np.zeros(0, np.bool_))
        assert len(together) == 6

    @pytest.mark.parametrize(
        ("changed", "error"),
        [
            ({"subscribers": [0, 1 << 31]}, OverflowError),
            ({"subscribers": [0]}, ValueError),
            ({"ids": [1]}, ValueError),
            ({"names": ["a"]}, ValueError),
            ({"names": ["a", None]}, TypeError),
            ({"names": ["a", b"b"]}, TypeError),
            ({"names": ["a", "\ud800"]}, UnicodeEncodeError),
            ({"tags": [{}]}, ValueError),
            ({"tags": [{}, {"a": 1}]}, TypeError),
            ({"scores": [True]}, ValueError),
        ],
    )
    def test_of_many_all_are_taken_or_none(self, changed: dict[str, Any], error: type[Exception]) -> None:
        table = table_of(4, 2)
        before = table.memory_bytes()
        columns: dict[str, Any] = {"ids": [0, 9], "subscribers": [0, 1], "names": ["n", "m"], "tags": [{}, {}]}
        columns |= {"scores": [False, True]} | changed
        columns |= {name: np.array(columns[name], np.uint32) for name in ("ids", "subscribers")}
        with pytest.raises(error):
            table.put_many(**columns)
        assert (len(table), table.memory_bytes(), 9 in table) == (4, before, False)
        assert table.subscriber(0) == 0

    @pytest.mark.parametrize(("id", "subscriber"), [(-1, 0), (1 << 32, 0), (0, -1), (0, 1 << 31)])
    def test_numbers_out_of_range_are_refused(self, id: int, subscriber: int) -> None:
        table = SubscriptionTable()
        with pytest.raises(OverflowError):
            table.put(id, subscriber, "n")
        assert len(table) == 0

    def test_a_format_is_one_of_two(self) -> None:
        assert SubscriptionTable().format is AVRO
        with pytest.raises(ValueError, match="xml"):
            SubscriptionTable("xml")  # type: ignore[arg-type]

    def test_it_is_not_written_while_it_is_read(self) -> None:
        """Threads that encode, beside one that writes: each write is done, or refused."""
        table = table_of(5000, 50)
        groups = grouped(matches_of([range(5000)] * 20), table)
        columns = columns_of(20)
        whole = [bytes(memoryview(encoded(groups, table, columns)))]
        stop = threading.Event()
        wrong: list[str] = []

        def encode() -> None:
            while not stop.is_set():
                if bytes(memoryview(encoded(groups, table, columns))) != whole[0]:
                    wrong.append("other bytes")

        threads = [threading.Thread(target=encode) for _ in range(2)]
        for thread in threads:
            thread.start()
        refused = 0
        for turn in range(200_000):
            try:
                table.put(5000 + turn % 100, 1, f"n{turn}", {})
            except IndexBusy:
                refused += 1
                if refused > 20:
                    break
        stop.set()
        for thread in threads:
            thread.join()
        assert not wrong
        assert refused > 20
