"""Many threads at one index: they match alike, and what must not happen at once is refused, never done."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference import Node, canonical
from tamis.indexes.batch import EventBatch
from tamis.indexes.columnar import parse_many
from tamis.indexes.engines import create, load
from tamis.indexes.errors import IndexBusy
from tamis.indexes.index import Index
from truth_tables import TruthTables
from workloads import SCALE, Workload, workload

EXPRESSIONS, EVENTS = int(800 * SCALE), int(400 * SCALE)
THREADS = 4


@pytest.fixture(scope="module")
def made() -> Workload:
    return workload(seed=7, expressions=EXPRESSIONS, events=EVENTS)


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Let threads take turns as often as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def filled(engine: str, held: dict[int, Node]) -> Index:
    index = create(engine)
    index.insert_many(np.array(list(held)), [canonical(node) for node in held.values()])
    return index


def at_once(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Run it in threads that start together, and raise what one of them raised."""
    barrier = threading.Barrier(threads)

    def run(number: int) -> None:
        barrier.wait()
        work(number)

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(run, number) for number in range(threads)]:
            done.result()


def test_threads_match_alike(engine: str, made: Workload) -> None:
    """Each its own batch, one batch of all, and single events, all at once."""
    held = dict(enumerate(made.nodes))
    index = filled(engine, held)
    offsets, ids = TruthTables(made.events).matches(held)
    shared = EventBatch.from_events(made.events, weights=made.weights)
    expected = index.match_batch(shared, scores=True)
    assert np.array_equal(expected.ids, ids)
    scores = expected.scores
    assert scores is not None

    def work(number: int) -> None:
        for turn in range(3):
            own = EventBatch.from_events(made.events, made.weights, index.vocabulary if turn % 2 else None)
            for batch in (shared, own):
                matches = index.match_batch(batch, scores=True)
                assert np.array_equal(matches.offsets, offsets)
                assert np.array_equal(matches.ids, ids)
                assert matches.scores is not None
                assert np.array_equal(matches.scores, scores)
            for event in range(number, EVENTS, 10 * THREADS):
                found = index.match(made.events[event])
                assert np.array_equal(found, ids[int(offsets[event]) : int(offsets[event + 1])])

    at_once(work)
    index.insert(0, "a = 1")


def test_other_threads_run_while_an_index_matches(engine: str, made: Workload) -> None:
    index = filled(engine, dict(enumerate(made.nodes)))
    batch = EventBatch.from_events(made.events)
    over = threading.Event()
    turns = 0

    def counting() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0)

    sys.setswitchinterval(10)  # nobody is asked to let go of the interpreter
    thread = threading.Thread(target=counting)
    index.match_batch(batch)
    thread.start()
    before = turns
    end = time.monotonic() + 5  # before anybody would be asked
    while turns == before and time.monotonic() < end:
        index.match_batch(batch)
    after = turns
    over.set()
    thread.join()
    assert after > before


def until_busy(attempt: Callable[[], object], seconds: float = 30.0) -> bool:
    """Whether it is refused once, while others are at work."""
    refused = threading.Event()
    deadline = threading.Timer(seconds, refused.set)
    deadline.daemon = True
    deadline.start()
    for _ in count():
        try:
            attempt()
        except IndexBusy:
            deadline.cancel()
            return True
        if refused.is_set():
            return False
    raise AssertionError


@pytest.mark.parametrize("write", ["insert", "insert_many", "delete", "maintain", "learn"])
def test_a_write_beside_a_match_is_refused(engine: str, made: Workload, write: str) -> None:
    held = dict(enumerate(made.nodes))
    index = filled(engine, held)
    batch = EventBatch.from_events(made.events)
    expected = index.match_batch(batch)
    writes: dict[str, Callable[[], Any]] = {
        "insert": lambda: index.insert(0, canonical(held[0])),
        "insert_many": lambda: index.insert_many([0, 1], [canonical(held[0]), canonical(held[1])]),
        "delete": lambda: index.delete(2**32 - 1),
        "maintain": lambda: index.maintain(0),
        "learn": lambda: index.learn(batch),
    }
    over = threading.Event()
    failures: list[object] = []

    def matching() -> None:
        while not over.is_set():
            try:
                found = index.match_batch(batch)
            except IndexBusy:
                continue
            if not np.array_equal(found.ids, expected.ids):
                failures.append(found)

    def attempt() -> None:
        with contextlib.suppress(KeyError):
            writes[write]()

    threads = [threading.Thread(target=matching) for _ in range(2)]
    for thread in threads:
        thread.start()
    refused = until_busy(attempt)
    over.set()
    for thread in threads:
        thread.join()
    assert refused
    assert failures == []
    assert np.array_equal(index.match_batch(batch).ids, expected.ids)


@pytest.mark.parametrize(
    "read",
    [
        *("match", "match_batch", "top_k", "getitem", "contains", "len", "ids", "freeze", "memory", "insert", "delete"),
        *("batch", "event"),
    ],
)
def test_whatever_meets_a_write_is_refused(engine: str, made: Workload, read: str) -> None:
    """Of many at once, which lets other threads run."""
    texts = [canonical(node) for node in made.nodes] * 20
    columns, errors = parse_many(texts)
    assert not errors
    index = create(engine)
    index.insert_many(np.arange(len(texts)), columns)
    batch = EventBatch.from_events(made.events[:1])
    bound = EventBatch.from_events(made.events[:1], vocabulary=index.vocabulary)
    reads: dict[str, Callable[[], object]] = {
        "match": lambda: index.match({}),
        "match_batch": lambda: index.match_batch(batch),
        "top_k": lambda: index.top_k_batch(batch, 1),
        "getitem": lambda: index[0],
        "contains": lambda: 0 in index,
        "len": lambda: len(index),
        "ids": index.ids,
        "freeze": index.freeze,
        "memory": index.memory_bytes,
        "insert": lambda: index.insert(0, texts[0]),
        "delete": lambda: index.delete(0),
        "batch": lambda: EventBatch.from_events(made.events[:9], vocabulary=index.vocabulary),
        "event": lambda: bound[0],
    }
    over = threading.Event()

    def writing() -> None:
        while not over.is_set():
            try:
                index.insert_many(np.arange(len(texts)), columns)
            except IndexBusy:
                continue

    def attempt() -> None:
        with contextlib.suppress(KeyError):  # it was deleted, and not yet inserted again
            reads[read]()

    thread = threading.Thread(target=writing)
    thread.start()
    refused = until_busy(attempt)
    over.set()
    thread.join()
    assert refused
    index.insert_many(np.arange(len(texts)), columns)
    assert len(index) == len(texts)


def test_what_was_frozen_is_saved_beside_writes(engine: str, made: Workload, tmp_path: Path) -> None:
    """Each file holds what the index held when it was frozen, whatever came and went meanwhile."""
    held = dict(enumerate(made.nodes))
    index = filled(engine, held)
    tables = TruthTables(made.events)
    saved: list[tuple[Path, dict[int, Node]]] = []
    with ThreadPoolExecutor(2) as pool:
        writes = []
        for turn in range(6):
            path = tmp_path / f"snapshot-{turn}"
            frozen = index.freeze()
            writes += [pool.submit(frozen.save, path), pool.submit(frozen.save, path.with_suffix(".twin"))]
            saved += [(path, dict(held)), (path.with_suffix(".twin"), dict(held))]
            for number in range(turn, EXPRESSIONS, 3):
                if number in held:
                    index.delete(number)
                    del held[number]
            for number in range(turn, EXPRESSIONS, 2):
                node = made.nodes[(number * 7 + turn) % EXPRESSIONS]
                index.insert(number, canonical(node))
                held[number] = node
            index.maintain(0.001)
        for write in writes:
            write.result()
    for path, then in [*saved]:
        loaded = load(path)
        assert loaded.ids().tolist() == sorted(then)
        matches = loaded.match_batch(EventBatch.from_events(made.events))
        offsets, ids = tables.matches(then)
        assert np.array_equal(matches.offsets, offsets)
        assert np.array_equal(matches.ids, ids)
    offsets, ids = tables.matches(held)
    assert np.array_equal(index.match_batch(EventBatch.from_events(made.events)).ids, ids)
