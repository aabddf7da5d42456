"""Which versions of subscriptions were in force at an event's view, beside a plain model of the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.broker.errors import ConflictError
from tamis.broker.partitions import partition_of
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import Position, View, ViewRecord
from tamis.indexes import parse
from tamis.indexes.limits import Limits
from tamis.spark_sink.match_file import MatchFile, load_match_file, write_match_file
from tamis.spark_sink.versions import FOREVER, LogPlace, PartitionLog, Version, Window
from tamis.spark_sink.views import Source, ViewHistory

PARTITIONS = 3
SHARDS = 2
LAYOUT = Layout(1, SHARDS, PARTITIONS, {"tamis.subscriptions": "log", "events": "t"}, Limits(predicates=2))
SUBSCRIBERS = ["ann", "bob", "cy", "dave"]
EXPRESSIONS = ["exists a", "a = 1", "a = ", "a = 1 and b = 2 and c = 3"]

Record = tuple[int, bytes | None, bytes | None]


@st.composite
def log_records(draw: st.DrawFn) -> Record:
    subscriber = draw(st.sampled_from(SUBSCRIBERS))
    one = Subscription(
        subscriber,
        draw(st.sampled_from("xy")),
        draw(st.sampled_from(EXPRESSIONS)),
        paused=draw(st.sampled_from([None, None, "for now"])),
    )
    home = partition_of(subscriber, PARTITIONS)
    value = draw(st.sampled_from([one.encode(), one.encode(), None, b"", b"rubbish"]))
    key = draw(st.sampled_from([one.key, one.key, one.key, b"no key", None]))
    return draw(st.sampled_from([home, home, home, 0])), key, value


def placed(records: Sequence[Record], gaps: Sequence[int]) -> dict[int, list[tuple[int, bytes | None, bytes | None]]]:
    """By partition: offset, key, value; offsets have gaps where markers were, or compaction took something."""
    found: dict[int, list[tuple[int, bytes | None, bytes | None]]] = {number: [] for number in range(PARTITIONS)}
    for place, (partition, key, value) in enumerate(records):
        before = found[partition][-1][0] if found[partition] else -1
        found[partition].append((before + 1 + gaps[place % len(gaps)], key, value))
    return found


def versions_of(log: Mapping[int, Sequence[tuple[int, bytes | None, bytes | None]]], window: Window) -> list[Version]:
    found: list[Version] = []
    for partition, records in log.items():
        follower = PartitionLog(LogPlace("log", partition), LAYOUT, window)
        for cut in (records[:2], records[2:]):
            follower.apply([each[0] for each in cut], [each[1] for each in cut], [each[2] for each in cut])
        found += follower.versions()
    return found


@given(st.lists(log_records(), max_size=25), st.lists(st.integers(0, 2), min_size=1, max_size=5), st.data())
def test_a_version_is_in_force_where_the_brokers_state_has_it(
    records: list[Record], gaps: list[int], data: st.DataObject
) -> None:
    log = placed(records, gaps)
    partition = data.draw(st.integers(0, PARTITIONS - 1))
    view = data.draw(st.integers(0, 40))
    state = SubscriptionState(LAYOUT, "scan")
    before = [each for each in log[partition] if each[0] < view]
    state.apply(partition, [each[1] for each in before], [each[2] for each in before])
    expected = {state.key(each): state.index[each].text for each in state.index.ids().tolist()}
    of_partition = [each for each in versions_of(log, Window(view, view)) if each.place.partition == partition]
    assert {each.key: each.expression.text for each in of_partition if each.since < view <= each.until} == expected
    assert len(of_partition) == len(expected), "a version is kept that the window does not want"


@dataclass(frozen=True)
class Told:
    """A mark as the model has it."""

    shard: int
    partition: int
    offset: int
    after: str
    ends: tuple[int, ...]

    def record(self) -> ViewRecord:
        own = [number for number in range(PARTITIONS) if number % SHARDS == self.shard]
        view = View(1, [Position(number, self.ends[number]) for number in own])
        return ViewRecord(self.shard, "events", "t", self.partition, self.offset, LAYOUT.rules, "log", view, self.after)


def told() -> st.SearchStrategy[Told]:
    ends = st.tuples(*[st.integers(0, 12)] * PARTITIONS)
    after = st.sampled_from(["", "", "", *SUBSCRIBERS, "aaa", "zoe"])
    return st.builds(Told, st.integers(0, SHARDS - 1), st.integers(0, 1), st.integers(0, 6), after, ends)


def in_force(marks: Sequence[Told], version: Version, partition: int, offset: int) -> bool:
    """One pair after the other, from the words of the design."""
    shard = version.place.partition % SHARDS
    current: list[Told] = []
    for mark in marks:
        if (mark.shard, mark.partition) == (shard, partition):
            current = [each for each in current if (each.offset, each.after) < (mark.offset, mark.after)]
            current.append(mark)
    good = [each for each in current if (each.offset, each.after) < (offset, version.subscriber)]
    return bool(good) and version.since < good[-1].ends[version.place.partition] <= version.until


def held_by(file: MatchFile, partition: int, offsets: Sequence[int]) -> set[tuple[int, str, int]]:
    """Offset, key, and beginning of the versions that hold."""
    holding = file.holding
    assert holding is not None
    columns = np.array(offsets, np.int64)
    marks = holding.table.marks_of("t", np.full(len(offsets), partition, np.int32), columns)
    events = np.repeat(np.arange(len(offsets)), len(file.keys))
    ids = np.tile(np.arange(len(file.keys), dtype=np.uint32), len(offsets))
    held = holding.holds(marks, columns, events, ids, file.owners)
    return {
        (offsets[event], file.keys[place].decode(), int(holding.since[place]))
        for event, place in zip(events[held].tolist(), ids[held].tolist(), strict=True)
    }


@given(
    records=st.lists(log_records(), max_size=25),
    marks=st.lists(told(), max_size=12),
    partition=st.integers(0, 1),
    chunks=st.integers(1, 3),
)
def test_an_event_meets_the_versions_of_its_view(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], marks: list[Told], partition: int, chunks: int
) -> None:
    """Also if the views are taken some at a time: then each pair is found in one of the passes."""
    versions = versions_of(placed(records, [0]), Window())
    history = ViewHistory()
    history.apply([mark.record() for mark in marks])
    views = history.needed()
    found: list[tuple[int, str, int]] = []
    for chunk in range(chunks):
        some = views[chunk::chunks]
        windows = history.windows(some)
        chosen = [each for each in versions if windows.get(each.place, Window(1, 0)).concerns(each)]
        path = tmp_path_factory.mktemp("files") / "versions.tamis"
        write_match_file(path, chosen, history, SHARDS, some)
        found += held_by(load_match_file(path, "scan"), partition, range(8))
    expected = [
        (offset, version.key, version.since)
        for offset in range(8)
        for version in versions
        if in_force(marks, version, partition, offset)
    ]
    assert sorted(found) == sorted(expected)


@given(st.lists(told(), max_size=12), st.integers(0, 6), st.integers(0, 6))
def test_what_is_kept_of_the_views_is_what_the_events_need(marks: list[Told], low: int, high: int) -> None:
    whole, cut = ViewHistory(), ViewHistory()
    for history in (whole, cut):
        history.apply([mark.record() for mark in marks])
    cut.keep({("t", 0): (low, high)})
    assert {source.partition for source in cut.marks} <= {0}

    def last(history: ViewHistory, shard: int, offset: int, after: bytes) -> Any:
        good = [m for m in history.marks.get(Source("t", 0, shard), []) if (m.offset, m.after) < (offset, after)]
        return history.views[good[-1].view] if good else None

    for offset in range(low, high + 1):
        for shard in range(SHARDS):
            for subscriber in (b"", b"ann", b"zzz"):
                assert last(cut, shard, offset, subscriber) == last(whole, shard, offset, subscriber)


def test_a_version_holds_behind_its_record_and_up_to_the_next_one_of_its_key(tmp_path: Path) -> None:
    """Written at 7 and again at 12, the first one holds at views 8 to 12."""
    versions = [
        Version("ann/x", parse("exists a"), place=LogPlace("log", 0), since=7, until=12),
        Version("ann/x", parse("exists a"), place=LogPlace("log", 0), since=12),
    ]
    history = ViewHistory()
    history.apply([Told(0, 0, offset, "", (7 + offset, 0, 0)).record() for offset in range(8)])
    write_match_file(tmp_path / "versions.tamis", versions, history, SHARDS, history.needed())
    found = held_by(load_match_file(tmp_path / "versions.tamis", "scan"), 0, range(8))
    assert {7 + offset: since for offset, _, since in found} == {8: 7, 9: 7, 10: 7, 11: 7, 12: 7, 13: 12, 14: 12}


def test_a_subscriber_behind_a_cut_has_the_view_after_it_and_the_others_the_one_before(tmp_path: Path) -> None:
    names = ["ann", "bob", "cy"]
    versions = [Version(f"{name}/x", parse("exists a"), place=LogPlace("log", 0), since=1) for name in names]
    history = ViewHistory()
    history.apply([Told(0, 0, 0, "", (1, 0, 0)).record(), Told(0, 0, 3, "bob", (2, 0, 0)).record()])
    write_match_file(tmp_path / "versions.tamis", versions, history, SHARDS, history.needed())
    found = held_by(load_match_file(tmp_path / "versions.tamis", "scan"), 0, range(5))
    assert sorted((offset, key) for offset, key, _ in found) == [
        (3, "cy/x"),
        *((4, f"{name}/x") for name in names),
    ]


def test_a_log_that_was_made_anew_is_another_one(tmp_path: Path) -> None:
    old = Version("ann/x", parse("exists a"), place=LogPlace("old", 0), since=0, until=FOREVER)
    new = replace(old, place=LogPlace("new", 0))
    mark = Told(0, 0, 0, "", (5, 5, 5)).record()
    history = ViewHistory()
    history.apply([replace(mark, subscriptions_id="new")])
    write_match_file(tmp_path / "versions.tamis", [old, new], history, SHARDS, history.needed())
    file = load_match_file(tmp_path / "versions.tamis", "scan")
    assert file.holding is not None
    marks = file.holding.table.marks_of("t", np.zeros(1, np.int32), np.zeros(1, np.int64))
    held = file.holding.holds(
        marks, np.zeros(1, np.int64), np.zeros(2, np.int64), np.arange(2, dtype=np.uint32), file.owners
    )
    assert held.sum() == 1


def test_other_rules_and_several_layouts_are_refused() -> None:
    record = Told(0, 0, 0, "", (1, 1, 1)).record()
    history = ViewHistory()
    history.apply([record, replace(record, first_offset=5, rules="others")])
    with pytest.raises(ConflictError, match="others, and this version"):
        history.layout_of([LAYOUT])
    history.keep({("t", 0): (0, 4)})
    assert history.layout_of([replace(LAYOUT, number=2), LAYOUT]) == LAYOUT
    history.apply([replace(record, first_offset=6, view=replace(record.view, layout=2))])
    with pytest.raises(ConflictError, match="layouts 1, 2"):
        history.layout_of([LAYOUT])
