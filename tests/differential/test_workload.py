"""Thousands of expressions that overlap, come and go, on thousands of events: every id of every event is checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
import pytest

from reference import Node, canonical
from tamis.indexes.batch import EventBatch
from tamis.indexes.columnar import parse_many
from tamis.indexes.engines import ENGINES, create, load
from tamis.indexes.expressions import parse
from tamis.indexes.index import Index
from tamis.indexes.matches import Matches
from truth_tables import TruthTables
from workloads import SCALE, Workload, workload

EXPRESSIONS, EVENTS = int(2_000 * SCALE), int(1_000 * SCALE)
ROUNDS = 6
BATCH_SIZES = (1, 63, 64, 65, 500, 5_000)


@dataclass
class World:
    """What all engines are asked, and what is true of it."""

    workload: Workload
    tables: TruthTables = field(init=False)

    def __post_init__(self) -> None:
        self.tables = TruthTables(self.workload.events, self.workload.weights)

    @cached_property
    def batch(self) -> EventBatch:
        return EventBatch.from_events(self.workload.events, weights=self.workload.weights)

    def assert_all_matches(self, index: Index, held: Mapping[int, Node]) -> None:
        offsets, ids = self.tables.matches(held)
        bound = EventBatch.from_events(self.workload.events, vocabulary=index.vocabulary)
        for batch in (self.batch, bound):
            matches = index.match_batch(batch)
            assert np.array_equal(matches.offsets, offsets)
            assert np.array_equal(matches.ids, ids)


@pytest.fixture(scope="module")
def world() -> World:
    return World(workload(seed=1, expressions=EXPRESSIONS, events=EVENTS))


@pytest.fixture(scope="module")
def held(world: World) -> dict[int, Node]:
    """Some ids dense, some anywhere."""
    random = Random(2)
    ids = {*range(EXPRESSIONS // 2), 2**32 - 1}
    while len(ids) < EXPRESSIONS:
        ids.add(random.randrange(2**32))
    return dict(zip(random.sample(sorted(ids), EXPRESSIONS), world.workload.nodes, strict=True))


def filled(engine: str, held: Mapping[int, Node]) -> Index:
    index = create(engine)
    index.insert_many(np.array(list(held)), [canonical(node) for node in held.values()])
    return index


def test_the_workload_is_worth_it(world: World) -> None:
    """Expressions that are never true and such as nearly always are; equal ones; events with few and many matches."""
    counts = np.array([world.tables.table(node).true.bit_count() for node in world.workload.nodes]) / EVENTS
    assert 0.05 < np.mean(counts == 0) < 0.5
    assert np.mean(counts > 0.5) > 0.05
    assert np.mean((counts > 0) & (counts < 0.1)) > 0.2
    false = np.array([world.tables.table(node).false.bit_count() for node in world.workload.nodes]) / EVENTS
    assert 0.1 < np.mean(1 - counts - false) < 0.8
    assert len({canonical(node) for node in world.workload.nodes}) < EXPRESSIONS


@dataclass
class Churn:
    """Rounds of every kind of write, on an index and on a dict alike."""

    index: Index
    spare: list[Node]
    random: Random
    path: Path
    held: dict[int, Node] = field(default_factory=dict)

    def nodes(self, count: int) -> list[Node]:
        return self.random.choices(self.spare, k=count)

    def some_ids(self, share: float) -> list[int]:
        return self.random.sample(sorted(self.held), int(share * len(self.held)))

    def new_ids(self, count: int) -> list[int]:
        dense = range(count * 3)
        return [self.random.choice((self.random.choice(dense), self.random.randrange(2**32))) for _ in range(count)]

    def insert_singly(self) -> None:
        ids = [*self.new_ids(len(self.spare) // 20), *self.some_ids(0.1)]
        for number, node in zip(ids, self.nodes(len(ids)), strict=True):
            text = canonical(node)
            self.index.insert(number, text if self.random.random() < 0.5 else parse(text))
            self.held[number] = node

    def insert_many(self) -> None:
        ids = [*self.new_ids(len(self.spare) // 5), *self.some_ids(0.1)]
        self.random.shuffle(ids)
        nodes = self.nodes(len(ids))
        texts = [canonical(node) for node in nodes]
        if self.random.random() < 0.5:
            self.index.insert_many(np.array(ids, np.uint32), parse_many(texts)[0])
        else:
            self.index.insert_many(ids, [parse(text) if self.random.random() < 0.5 else text for text in texts])
        self.held.update(zip(ids, nodes, strict=True))

    def delete(self) -> None:
        for number in self.some_ids(self.random.choice((0.1, 0.3, 0.7))):
            self.index.delete(number)
            del self.held[number]

    def exchange(self) -> None:
        """An id goes and comes back with what another one had."""
        ids = self.some_ids(0.2)
        nodes = [self.held[number] for number in ids]
        for number, node in zip(ids, [*nodes[1:], *nodes[:1]], strict=True):
            self.index.delete(number)
            self.index.insert(number, canonical(node))
            self.held[number] = node

    def maintain(self) -> None:
        while self.index.maintain(0.001):
            pass

    def save_and_load(self) -> None:
        self.index.save(self.path)
        self.index = load(self.path, self.index.name)


def test_matches_are_right_after_any_churn(engine: str, world: World, tmp_path: Path) -> None:
    churn = Churn(create(engine), list(world.workload.nodes), Random(3), tmp_path / "snapshot")
    churn.insert_many()
    for round_number in range(ROUNDS):
        churn.insert_singly()
        churn.delete()
        churn.exchange()
        if round_number % 2:
            churn.save_and_load()
        churn.insert_many()
        churn.maintain()
        churn.index.learn(world.batch)
        assert churn.index.ids().tolist() == sorted(churn.held)
        world.assert_all_matches(churn.index, churn.held)


def test_nothing_grows_under_churn(engine: str, world: World, tmp_path: Path) -> None:
    """The same number of expressions, exchanged again and again, take no more memory than at first."""
    churn = Churn(create(engine), list(world.workload.nodes), Random(4), tmp_path / "snapshot")
    churn.insert_many()
    taken = []
    for _ in range(12):
        for number, node in zip(churn.some_ids(0.8), churn.nodes(len(churn.held)), strict=False):
            churn.index.delete(number)
            churn.index.insert(number, canonical(node))
            churn.held[number] = node
        churn.maintain()
        memory = churn.index.memory_bytes()
        taken.append(sum(memory[part] for part in ("expressions", "ids", "structure")))
    assert max(taken[6:]) < 1.3 * max(taken[:3])
    world.assert_all_matches(churn.index, churn.held)


@pytest.mark.parametrize("other", list(ENGINES))
def test_what_one_engine_saved_another_one_loads(
    engine: str, other: str, world: World, held: dict[int, Node], tmp_path: Path
) -> None:
    filled(engine, held).save(tmp_path / "snapshot")
    loaded = load(tmp_path / "snapshot", other)
    world.assert_all_matches(loaded, held)


@pytest.mark.parametrize("order", ["ascending", "any"])
def test_the_size_of_a_batch_makes_no_difference(engine: str, order: Literal["ascending", "any"]) -> None:
    """Fewer expressions, but more events than the largest batch."""
    made = workload(seed=5, expressions=EXPRESSIONS // 8, events=BATCH_SIZES[-1] * 11 // 10)
    held = dict(enumerate(made.nodes, 2**32 - EXPRESSIONS))
    offsets, ids = TruthTables(made.events).matches(held)
    index = filled(engine, held)
    for size in BATCH_SIZES:
        for start in range(0, 130 if size == 1 else len(made.events), size):
            batch = EventBatch.from_events(made.events[start : start + size])
            matches = index.match_batch(batch, order=order)
            assert matches.events == len(batch)
            expected = offsets[start : start + len(batch) + 1]
            assert np.array_equal(matches.offsets, expected - expected[0])
            assert np.array_equal(ordered(matches), ids[int(expected[0]) : int(expected[-1])])


def ordered(matches: Matches) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The ids, each event's ascending; where some are twice, they stay so."""
    parts = [np.sort(found) for found in matches]
    return np.concatenate(parts) if parts else np.empty(0, np.uint32)


@pytest.mark.parametrize("ids_max", [1, 700, 2_000, 50_000, 10**9])
def test_parts_of_a_batch_are_all_of_it_once(engine: str, world: World, held: dict[int, Node], ids_max: int) -> None:
    """Each part has whole events, no more ids than wanted unless it is one event, and could not have had one more."""
    index = filled(engine, held)
    offsets, ids = world.tables.matches(held)
    first, end = 0, min(EVENTS, 60 if ids_max == 1 else EVENTS)
    while first < end:
        matches = index.match_batch(world.batch, first=first, ids_max=ids_max, scores=first == 0)
        done = first + matches.events
        assert matches.events >= 1
        assert np.array_equal(matches.offsets, offsets[first : done + 1] - offsets[first])
        assert np.array_equal(matches.ids, ids[int(offsets[first]) : int(offsets[done])])
        assert matches.ids.size <= ids_max or matches.events == 1
        assert done == EVENTS or offsets[done + 1] - offsets[first] > ids_max
        first = done


def test_scores_are_those_of_the_reference(engine: str, world: World, held: dict[int, Node]) -> None:
    """And the best of each event are its first by score and id."""
    index = filled(engine, held)
    offsets, ids = world.tables.matches(held)
    scores = np.empty(len(ids), np.float64)
    events = np.repeat(np.arange(EVENTS), np.diff(offsets).astype(np.int64))
    for number, node in held.items():
        at = ids == number
        scores[at] = world.tables.scores(node)[events[at]]
    matches = index.match_batch(world.batch, scores=True)
    assert matches.scores is not None
    assert np.array_equal(matches.ids, ids)
    assert np.array_equal(matches.scores, scores)
    for k in (1, 10):
        best = index.top_k_batch(world.batch, k)
        rank = np.lexsort((ids, -scores, events))
        place = np.arange(len(ids)) - offsets[:-1].astype(np.int64)[events]
        assert best.scores is not None
        assert np.array_equal(best.ids, ids[rank][place < k])
        assert np.array_equal(best.scores, scores[rank][place < k])
