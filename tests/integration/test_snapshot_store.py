"""Generations in a real Redis: what is kept, what moves the pointer, and whatever else may be found there."""

import json
import math
import random
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tamis.broker.configuration import Settings
from tamis.broker.redis import Redis, connect
from tamis.broker.snapshot_store import CHUNK_BYTES, Generation, OvertakenError, SnapshotStore
from tamis.codecs.layout import Layout
from tamis.codecs.view import Position, View
from tamis.indexes import SnapshotError
from tamis.indexes.limits import Limits

LAYOUT = Layout(1, 1, 2, {"tamis.subscriptions": "id"}, Limits())
LIFETIME = 600.0


@pytest.fixture
def client(settings: Settings) -> Redis:
    return connect(settings.redis)


@pytest.fixture
def store(client: Redis, unique: str) -> SnapshotStore:
    return SnapshotStore(client, unique, "topic-id", LAYOUT, 0)


def about(store: SnapshotStore, *offsets: int) -> Generation:
    view = View(1, [Position(partition, offset) for partition, offset in enumerate(offsets)])
    return Generation("", store.now(), view, 7, LAYOUT.rules, 0)


def put(store: SnapshotStore, path: Path, content: bytes, *offsets: int) -> Generation:
    path.write_bytes(content)
    return store.put(path, about(store, *offsets), LIFETIME)


def fetched(store: SnapshotStore, path: Path, name: str) -> bytes:
    store.fetch(store.generation(name), path)
    return path.read_bytes()


def keys(client: Redis, store: SnapshotStore) -> set[str]:
    return {key.decode() for key in client.scan_iter(f"{store.key.replace('[', '?')}*")}


def test_a_file_comes_back_as_it_went_and_the_two_newest_are_kept(
    client: Redis, store: SnapshotStore, tmp_path: Path
) -> None:
    contents = [random.Random(seed).randbytes(CHUNK_BYTES * seed + 17) for seed in range(3)]
    made = [put(store, tmp_path / "out", content, seed, 0) for seed, content in enumerate(contents)]
    assert store.names() == [made[2].name, made[1].name]
    assert fetched(store, tmp_path / "in", made[2].name) == contents[2]
    assert fetched(store, tmp_path / "in", made[1].name) == contents[1]
    assert store.generation(made[2].name) == made[2]
    assert len(keys(client, store)) == 1 + (1 + 3) + (1 + 2), "nothing is left of the first one"
    assert all(0 < client.ttl(key) <= LIFETIME for key in keys(client, store))
    with pytest.raises(SnapshotError, match="does not have it any more"):
        store.generation(made[0].name)


def test_the_pointer_never_moves_back(client: Redis, store: SnapshotStore, tmp_path: Path) -> None:
    newest = put(store, tmp_path / "out", b"newest", 5, 5)
    before = keys(client, store)
    for offsets in ((4, 5), (4, 9), (0, 0)):
        with pytest.raises(OvertakenError, match=newest.name):
            put(store, tmp_path / "out", b"older", *offsets)
    assert store.names() == [newest.name]
    assert keys(client, store) == before, "what was not kept leaves nothing behind"
    again = put(store, tmp_path / "out", b"the same once more", 5, 5)
    assert store.names() == [again.name, newest.name]


class Sleeper(SnapshotStore):
    """A writer that falls asleep when all but the pointer is written."""

    def __init__(self, client: Redis, prefix: str) -> None:
        super().__init__(client, prefix, "topic-id", LAYOUT, 0)
        self.is_asleep = threading.Event()
        self.wakes = threading.Event()

    def _point_to(self, made: Generation, seconds: int) -> list[str]:
        self.is_asleep.set()
        assert self.wakes.wait(60)
        return super()._point_to(made, seconds)


def test_a_writer_that_slept_does_not_overwrite_what_came_meanwhile(
    settings: Settings, store: SnapshotStore, unique: str, tmp_path: Path
) -> None:
    sleeper = Sleeper(connect(settings.redis), unique)
    failures: list[Exception] = []

    def sleep() -> None:
        try:
            put(sleeper, tmp_path / "older", b"older", 1, 1)
        except OvertakenError as error:
            failures.append(error)

    thread = threading.Thread(target=sleep)
    thread.start()
    assert sleeper.is_asleep.wait(60)
    newer = put(store, tmp_path / "out", b"newer", 2, 1)
    sleeper.wakes.set()
    thread.join()
    assert len(failures) == 1
    assert store.names() == [newer.name]


def test_writers_that_race_leave_the_newest(
    settings: Settings, store: SnapshotStore, unique: str, tmp_path: Path
) -> None:
    def write(writer: int) -> None:
        mine = SnapshotStore(connect(settings.redis), unique, "topic-id", LAYOUT, 0)
        for number in range(20):
            try:
                put(mine, tmp_path / f"out-{writer}", b"x", number, number)
            except OvertakenError:
                continue

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in threads:
        thread.start()
    seen: list[View] = []
    while any(thread.is_alive() for thread in threads):
        for name in store.names()[:1]:
            try:
                seen.append(store.generation(name).view)
            except SnapshotError:
                continue  # it went between two questions
    for thread in threads:
        thread.join()
    assert all(later.reaches(earlier) for earlier, later in pairwise(seen))
    assert store.generation(store.names()[0]).view.positions[0].offset == 19


def test_a_generation_that_is_discarded_makes_room_for_an_older_view(
    client: Redis, store: SnapshotStore, tmp_path: Path
) -> None:
    older = put(store, tmp_path / "out", b"older", 1, 1)
    newer = put(store, tmp_path / "out", b"newer", 9, 9)
    store.discard(newer.name)
    assert store.names() == [older.name]
    between = put(store, tmp_path / "out", b"between", 5, 5)
    assert store.names() == [between.name, older.name]
    for name in (between.name, older.name, "never there"):
        store.discard(name)
    assert keys(client, store) == set()


@pytest.mark.parametrize("harm", ["missing", "cut", "longer", "changed", "another's", "no string"])
def test_a_chunk_that_is_not_what_it_was_is_noticed(
    client: Redis, store: SnapshotStore, tmp_path: Path, harm: str
) -> None:
    made = put(store, tmp_path / "out", bytes(CHUNK_BYTES + 100), 1, 1)
    key = f"{store.key}:{made.name}:1"
    match harm:
        case "missing":
            client.delete(key)
        case "cut":
            client.set(key, bytes(99))
        case "longer":
            client.set(key, bytes(10 * CHUNK_BYTES))
        case "changed":
            client.setrange(key, 50, b"x")
        case "no string":
            client.delete(key)
            client.rpush(key, b"somebody's")
        case _:
            client.rename(f"{store.key}:{made.name}:0", key)
    with pytest.raises(SnapshotError, match=r"chunk [01] of 2 is (missing|damaged|no string)"):
        fetched(store, tmp_path / "in", made.name)


@pytest.mark.parametrize(
    "found", [b"", b"{", b"[]", b"17", b'{"format": 2}', b"[" * 100_000, json.dumps({"format": 1, "name": 3}).encode()]
)
def test_what_is_no_generation_is_told_so(client: Redis, store: SnapshotStore, found: bytes) -> None:
    client.set(f"{store.key}:some", found, ex=60)
    with pytest.raises(SnapshotError):
        store.generation("some")


def test_somebody_elses_data_under_our_names_hinder_nobody(client: Redis, store: SnapshotStore, tmp_path: Path) -> None:
    for foreign in (b"rubbish", b'{"a": 1}', b"[1, 2]", None):
        client.delete(store.key)
        if foreign is None:
            client.rpush(store.key, b"a list")
        else:
            client.set(store.key, foreign)
        assert store.names() == []
        made = put(store, tmp_path / "out", b"ours", 1, 1)
        assert store.names() == [made.name]


def test_manifests_with_any_field_changed_are_refused_or_harmless(
    client: Redis, store: SnapshotStore, tmp_path: Path
) -> None:
    made = put(store, tmp_path / "out", bytes(1000), 1, 1)
    truth = json.loads(made.encode())
    for field in truth:
        values: list[Any] = [None, -1, 10**30, 10**400, math.nan, math.inf, "x", [], {}, True, ["x"] * 3, 1.5]
        for value in values:
            client.set(f"{store.key}:{made.name}", json.dumps({**truth, field: value}), ex=60)
            try:
                found = store.generation(made.name)
                store.fetch(found, tmp_path / "in")
            except SnapshotError:
                continue
            assert math.isfinite(found.created)
            assert (tmp_path / "in").read_bytes() == bytes(1000)
