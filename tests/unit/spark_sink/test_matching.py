"""Matching of Arrow batches, beside `Expression.evaluate`; no Spark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.broker.partitions import partition_of
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.event import Event
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.layout import Layout
from tamis.codecs.messages import EventFormat, Framing, Messages
from tamis.codecs.subscription import Subscription
from tamis.indexes import create, parse
from tamis.indexes.limits import Limits
from tamis.spark_sink import matching
from tamis.spark_sink.match_file import digest_of, load_match_file, write_match_file
from tamis.spark_sink.matching import Matcher, MatchTask, matches_of, tallies_of
from tamis.spark_sink.versions import Version

Row = tuple[str, int, int, bytes | None]
"""Topic, partition, offset, value."""
EXPRESSIONS = ["price < 3", "price >= 3", "exists price", 'name = "x"', "missing price", 'name starts with "x"']


def batch_of(rows: Sequence[Row], keys: Sequence[bytes | None] | None = None) -> pa.RecordBatch:
    """As Spark's connector and an archive have it."""
    columns = [
        pa.array([row[0] for row in rows], pa.string()),
        pa.array([f"id of {row[0]}" for row in rows], pa.string()),
        pa.array([row[1] for row in rows], pa.int32()),
        pa.array([row[2] for row in rows], pa.int64()),
        pa.array([1_000_000 * row[2] for row in rows], pa.timestamp("us", "UTC")),
        pa.array([row[3] for row in rows], pa.binary()),
    ]
    names: list[str] = list(matching.INPUT)
    if keys is not None:
        columns.append(pa.array(keys, pa.binary()))
        names.append("key")
    return pa.RecordBatch.from_arrays(columns, names)


def matcher_for(path: Path, wanted: dict[str, str], **told: Any) -> Matcher:
    write_match_file(path, [Version(key, parse(text)) for key, text in wanted.items()])
    return Matcher(load_match_file(path, "pst-hash"), MatchTask(path.name, digest_of(path), "pst-hash", **told))


def rows_of(found: pa.RecordBatch | list[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    batches = found if isinstance(found, list) else [found]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 5), st.sampled_from([None, "", "x", "xy"])),
        max_size=30,
    ),
    texts=st.dictionaries(st.sampled_from(["ann/1", "bob/2", "bob/10", "cy/0"]), st.sampled_from(EXPRESSIONS)),
    cut=st.integers(0, 30),
    ids_max=st.integers(1, 5),
)
def test_each_event_gets_what_its_attributes_satisfy(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, int, int, str | None]],
    texts: dict[str, str],
    cut: int,
    ids_max: int,
) -> None:
    attributes = [{"price": row[2], "name": row[3]} for row in rows]
    events = [Event("e", 0, {name: value for name, value in each.items() if value is not None}) for each in attributes]
    batch = batch_of([(*row[:3], event.encode()) for row, event in zip(rows, events, strict=True)])
    matcher = matcher_for(tmp_path_factory.mktemp("files") / "wanted.tamis", texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_IDS_MAX", ids_max)
        found = rows_of(list(matches_of(matcher, [batch.slice(0, cut), batch.slice(cut)])))
    expected = [
        (topic, f"id of {topic}", partition, offset, key, None)
        for (topic, partition, offset, _), event in zip(rows, events, strict=True)
        for key in sorted(texts)
        if parse(texts[key]).evaluate(event.attributes) is True
    ]
    assert found == expected


def test_what_cannot_be_decoded_is_told_with_its_reason(tmp_path: Path) -> None:
    matcher = matcher_for(tmp_path / "wanted.tamis", {"ann/all": "exists $topic"})
    batch = batch_of([("t", 0, 0, b"rubbish"), ("t", 0, 1, b'{"a": 1}'), ("t", 0, 2, None), ("u", 0, 0, b"{")])
    found = sorted(rows_of(list(matches_of(matcher, [batch]))))
    assert found == [
        ("t", "id of t", 0, 0, None, "unknown_framing"),
        ("t", "id of t", 0, 1, "ann/all", None),
        ("t", "id of t", 0, 2, None, "no_value"),
        ("u", "id of u", 0, 0, None, "truncated"),
    ]
    tallies = sorted(rows_of(list(tallies_of(matcher, [batch, batch]))), key=str)
    assert tallies == [
        ("ann/all", None, 2),
        (None, "no_value", 2),
        (None, "truncated", 2),
        (None, "unknown_framing", 2),
    ]


def test_a_topic_is_read_in_its_own_format_and_its_records_tell_key_place_and_time(tmp_path: Path) -> None:
    wanted = {
        "ann/key": '$key = "k2"',
        "ann/place": '$partition = 7 and $id = "orders/7/2"',
        "ann/time": "$time = 2000000",
        "ann/topic": '$topic = "other"',
    }
    orders = EventFormat(Framing.JSON)
    matcher = matcher_for(tmp_path / "wanted.tamis", wanted, formats={"orders": orders})
    rows: list[Row] = [("orders", 7, 1, b'{"a": 1}'), ("orders", 7, 2, b'{"a": 1}'), ("other", 7, 3, b'{"a": 1}')]
    found = rows_of(list(matches_of(matcher, [batch_of(rows, [b"k1", b"k2", None])])))
    assert [(row[0], row[3], row[4]) for row in found] == [
        ("orders", 2, "ann/key"),
        ("orders", 2, "ann/place"),
        ("orders", 2, "ann/time"),
        ("other", 3, "ann/topic"),
    ]


def test_values_are_decoded_where_arrow_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = matcher_for(tmp_path / "wanted.tamis", {"ann/all": "exists a"})
    batch = batch_of([("t", 0, place, b'{"a": %d}' % place) for place in range(10)])
    given_values: list[pa.BinaryArray] = []

    def messages(*columns: Any) -> Messages:
        given_values.append(columns[4])
        return Messages(*columns)

    monkeypatch.setattr(matching, "Messages", messages)
    assert sum(part.num_rows for part in matches_of(matcher, [batch.slice(3)])) == 7
    (values,) = given_values
    assert values.buffers()[2].address == batch.column("value").buffers()[2].address


def test_a_snapshot_that_somebody_else_saved_names_subscriptions_by_ids(tmp_path: Path) -> None:
    index = create("pst-hash")
    index.insert_many(np.array([7, 4_000_000_000], np.uint32), ["a = 1", "exists a"])
    path = tmp_path / "today.tamis"
    index.save(path)
    matcher = Matcher(load_match_file(path, "scan"), MatchTask(path.name, digest_of(path), "scan"))
    found = rows_of(list(matches_of(matcher, [batch_of([("t", 0, 0, b'{"a": 1}'), ("t", 0, 1, b'{"a": 2}')])])))
    assert [(row[3], row[4]) for row in found] == [(0, "7"), (0, "4000000000"), (1, "4000000000")]


def test_the_digest_tells_files_apart(tmp_path: Path) -> None:
    digests = []
    for number, text in enumerate(["a = 1", "a = 2", "a = 1"]):
        path = tmp_path / f"{number}.tamis"
        write_match_file(path, [Version("ann/x", parse(text))])
        digests.append(digest_of(path))
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize("format", list(NotificationFormat))
def test_a_snapshot_that_a_broker_keeps_is_matched_under_its_own_names(
    tmp_path: Path, format: NotificationFormat
) -> None:
    layout = Layout(1, 1, 4, {"tamis.subscriptions": "id"}, Limits())
    state = SubscriptionState(layout, "pst-hash", format)
    for subscriber, name, text in (("ann", "gone", "price < 9"), ("bob", "b", "price < 3"), ("ann", "a", "price < 5")):
        one = Subscription(subscriber, name, text, {"team": subscriber}, subscriber == "ann")
        state.apply(partition_of(subscriber, layout.partitions), [one.key], [one.encode()])
    state.apply(partition_of("ann", layout.partitions), [b"ann/gone"], [None])
    state.freeze().save(tmp_path / "kept", {"view": "1;1;0:3:0"})
    file = load_match_file(tmp_path / "kept", "pst-hash")
    ids = file.index.match({"price": 2})
    places = file.places_of(ids)
    assert sorted(file.keys[place] for place in places.tolist()) == [b"ann/a", b"bob/b"]
    assert file.tags is not None
    assert file.scores is not None
    told = {file.keys[place]: (file.tags[place], bool(file.scores[place])) for place in places.tolist()}
    assert told == {b"ann/a": (b'{"team":"ann"}', True), b"bob/b": (b'{"team":"bob"}', False)}
    assert len(set(file.owners[places].tolist())) == 2
