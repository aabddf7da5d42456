"""An index beside a dict, through any sequence of calls: what it holds and what it answers is what the dict would."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import reference
from reference import Node
from strategies import events, events_near, expressions, predicates, print_loosely
from tamis.indexes.batch import EventBatch
from tamis.indexes.columnar import parse_many
from tamis.indexes.engines import ENGINES, create, load
from tamis.indexes.errors import ExpressionError, StaleBatchError
from tamis.indexes.expressions import parse
from tamis.indexes.frozen import FrozenIndex
from tamis.indexes.index import Index
from tamis.indexes.matches import Matches

Held = Mapping[int, Node]

IDS = st.sampled_from((0, 1, 2, 3, 255, 256, 1 << 31, (1 << 32) - 2, (1 << 32) - 1)) | st.integers(0, (1 << 32) - 1)
NODES = expressions() | predicates()
SEEDS = st.integers(0, 1 << 32)
WEIGHTS = st.sampled_from((0, 0.5, 1, 3, 1e300))
METADATA = {"view": [1, 2], "naïve": None}
SPARE_BYTES = 4096
"""What an index may keep for later without its being about expressions that left."""


def expected_ids(held: Held, event: Mapping[str, Any]) -> list[int]:
    return sorted(number for number, node in held.items() if reference.evaluate(node, event) is True)


def assert_matches(index: Index, held: Held, some: list[dict[str, Any]]) -> None:
    expected = [expected_ids(held, event) for event in some]
    assert [index.match(event).tolist() for event in some] == expected
    for vocabulary in (None, index.vocabulary):
        matches = index.match_batch(EventBatch.from_events(some, vocabulary=vocabulary))
        assert [found.tolist() for found in matches] == expected


def assert_holds(index: Index, held: Held) -> None:
    assert len(index) == len(held) == index.statistics()["expressions"]
    assert index.ids().tolist() == sorted(held)
    for number, node in held.items():
        assert number in index
        assert index[number].text == reference.canonical(node)
    strings = set().union(*map(strings_of, held.values()))
    assert len(index.vocabulary) == len(strings)
    assert all(string in index.vocabulary for string in strings)


def strings_of(node: Node) -> set[str]:
    """All that a vocabulary keeps for an expression."""
    predicates_of = [predicate for predicate, _ in reference.occurrences(node)]
    operands = [operand for predicate in predicates_of for operand in predicate.operands]
    return {predicate.attribute for predicate in predicates_of} | {text for text in operands if isinstance(text, str)}


class IndexMachine(RuleBasedStateMachine):
    """`held` is what the index should hold; `events` are what it is asked after each step."""

    def __init__(self, engine: str, folder: Path) -> None:
        super().__init__()
        self.engine = engine
        self.path = folder / "snapshot"
        self.index = create(engine)
        self.held: dict[int, Node] = {}
        self.events: deque[dict[str, Any]] = deque([{}], maxlen=6)
        self.frozen: tuple[FrozenIndex, dict[int, Node]] | None = None
        self.bound: tuple[EventBatch, list[dict[str, Any]], int] | None = None

    def teardown(self) -> None:
        self.path.unlink(missing_ok=True)

    def any_node(self, data: st.DataObject) -> Node:
        """Sometimes one that is there under another id, or a part of it."""
        if self.held and data.draw(st.integers(0, 3)) == 0:
            return data.draw(st.sampled_from([self.held[number] for number in sorted(self.held)]))
        node = data.draw(NODES)
        self.events.append(data.draw(events_near(node)))
        return node

    def an_id(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.held)))

    def with_weights(self, data: st.DataObject) -> list[dict[str, float] | None]:
        return [data.draw(st.none() | st.fixed_dictionaries(dict.fromkeys(event, WEIGHTS))) for event in self.events]

    @rule(number=IDS, data=st.data(), seed=SEEDS)
    def insert_a_text(self, number: int, data: st.DataObject, seed: int) -> None:
        node = self.any_node(data)
        self.index.insert(number, print_loosely(node, Random(seed)))
        self.held[number] = node

    @rule(number=IDS, data=st.data())
    def insert_an_expression(self, number: int, data: st.DataObject) -> None:
        node = self.any_node(data)
        self.index.insert(number, parse(reference.canonical(node)))
        self.held[number] = node

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def replace(self, data: st.DataObject) -> None:
        number, node = self.an_id(data), self.any_node(data)
        self.index.insert(number, reference.canonical(node))
        self.held[number] = node

    @rule(ids=st.lists(IDS, max_size=8), data=st.data(), form=st.sampled_from(("texts", "mixed", "columns")))
    def insert_many(self, ids: list[int], data: st.DataObject, form: str) -> None:
        nodes = [self.any_node(data) for _ in ids]
        texts = [reference.canonical(node) for node in nodes]
        if form == "columns":
            self.index.insert_many(np.array(ids, np.uint32), parse_many(texts)[0])
        elif form == "mixed":
            self.index.insert_many(ids, [parse(text) if at % 2 else text for at, text in enumerate(texts)])
        else:
            self.index.insert_many(np.array(ids, np.int64), texts)
        self.held.update(zip(ids, nodes, strict=True))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        number = self.an_id(data)
        self.index.delete(number)
        del self.held[number]
        assert number not in self.index

    @rule(number=IDS)
    def delete_what_is_not_there(self, number: int) -> None:
        if number in self.held:
            return
        assert number not in self.index
        for missed in (self.index.delete, self.index.__getitem__, partial(self.index.explain, event={})):
            with pytest.raises(KeyError):
                missed(number)

    @precondition(lambda self: self.held)
    @rule(chance=st.randoms(use_true_random=False))
    def delete_everything(self, chance: Random) -> None:
        for number in chance.sample(sorted(self.held), len(self.held)):
            self.index.delete(number)
        self.held.clear()
        while self.index.maintain():
            pass
        left, empty = self.index.memory_bytes(), create(self.engine).memory_bytes()
        assert all(left[part] <= empty[part] + SPARE_BYTES for part in ("expressions", "ids", "structure"))
        assert self.index.vocabulary.id_bound == 0

    @rule(number=IDS, data=st.data())
    def insert_wrongly(self, number: int, data: st.DataObject) -> None:
        good = reference.canonical(self.any_node(data))
        wrong: tuple[type[Exception], Callable[[], None]] = data.draw(
            st.sampled_from(
                (
                    (ExpressionError, lambda: self.index.insert(number, good + " and")),
                    (ExpressionError, lambda: self.index.insert_many([number, 1], [good, "is = 1"])),
                    (ExpressionError, lambda: self.index.insert_many([number, 1], [parse(good), "is = 1"])),
                    (ValueError, lambda: self.index.insert(1 << 32, good)),
                    (ValueError, lambda: self.index.insert_many([number, -1], [good, good])),
                    (ValueError, lambda: self.index.insert_many([number], [good, good])),
                    (TypeError, lambda: self.index.insert("1", good)),  # type: ignore[arg-type]
                    (TypeError, lambda: self.index.insert(number, 1)),  # type: ignore[arg-type]
                    (TypeError, lambda: self.index.insert_many([0.5], [good])),
                    (TypeError, lambda: self.index.insert_many([number, 1], [good, None])),  # type: ignore[list-item]
                )
            )
        )
        with pytest.raises(wrong[0]):
            wrong[1]()

    @rule(some=st.lists(events(), min_size=1, max_size=3))
    def meet_other_events(self, some: list[dict[str, Any]]) -> None:
        self.events.extend(some)

    @precondition(lambda self: len(self.held) > 1)
    @rule(data=st.data())
    def meet_an_event_near_several(self, data: st.DataObject) -> None:
        some = data.draw(st.lists(st.sampled_from(sorted(self.held)), min_size=2, max_size=4))
        self.events.append(data.draw(events_near(*(self.held[number] for number in some))))

    @rule(ids_max=st.integers(1, 12), first=st.integers(0, 6))
    def match_in_parts(self, ids_max: int, first: int) -> None:
        some = list(self.events)
        batch = EventBatch.from_events(some)
        at = min(first, len(some))
        while at < len(some):
            expected = [expected_ids(self.held, event) for event in some[at:]]
            whole = 1
            while whole < len(expected) and sum(map(len, expected[: whole + 1])) <= ids_max:
                whole += 1
            matches = self.index.match_batch(batch, at, ids_max, "any")
            assert matches.events == whole
            assert [sorted(found.tolist()) for found in matches] == expected[:whole]
            at += whole

    @rule(data=st.data(), k=st.integers(1, 5))
    def rank(self, data: st.DataObject, k: int) -> None:
        weights = self.with_weights(data)
        batch = EventBatch.from_events(self.events, weights=weights)
        expected = [
            [
                (number, reference.score(self.held[number], event, given or {}))
                for number in expected_ids(self.held, event)
            ]
            for event, given in zip(self.events, weights, strict=True)
        ]
        assert scored(self.index.match_batch(batch, scores=True)) == expected
        best = [sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k] for pairs in expected]
        assert scored(self.index.top_k_batch(batch, k)) == best
        for event, given, pairs in zip(self.events, weights, best, strict=True):
            ids, scores = self.index.top_k(event, k, given)
            assert list(zip(ids.tolist(), scores.tolist(), strict=True)) == pairs

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def explain(self, data: st.DataObject) -> None:
        number = self.an_id(data)
        for event in self.events:
            explained = self.index.explain(number, event)
            assert explained.verdict is reference.evaluate(self.held[number], event)
            assert explained.text == reference.canonical(self.held[number])

    @rule(seconds=st.sampled_from((0.0, 0.001)))
    def maintain(self, seconds: float) -> None:
        for _ in range(1000):
            if not self.index.maintain(seconds):
                return
        pytest.fail("maintenance has no end")

    @rule()
    def learn(self) -> None:
        self.index.learn(EventBatch.from_events(self.events))

    @rule()
    def make_a_bound_batch(self) -> None:
        some, vocabulary = list(self.events), self.index.vocabulary
        self.bound = EventBatch.from_events(some, vocabulary=vocabulary), some, vocabulary.generation

    @precondition(lambda self: self.bound is not None)
    @rule()
    def match_a_bound_batch(self) -> None:
        assert self.bound is not None
        batch, some, generation = self.bound
        if batch.vocabulary is not self.index.vocabulary:
            with pytest.raises(ValueError, match="another index"):
                self.index.match_batch(batch)
        elif generation != self.index.vocabulary.generation:
            with pytest.raises(StaleBatchError):
                self.index.match_batch(batch)
        else:
            expected = [expected_ids(self.held, event) for event in some]
            assert [found.tolist() for found in self.index.match_batch(batch)] == expected

    @rule()
    def freeze(self) -> None:
        self.frozen = self.index.freeze(), dict(self.held)
        assert len(self.frozen[0]) == len(self.held)

    @precondition(lambda self: self.frozen is not None)
    @rule(engine=st.sampled_from(list(ENGINES)))
    def save_what_was_frozen(self, engine: str) -> None:
        assert self.frozen is not None
        frozen, held = self.frozen
        frozen.save(self.path)
        loaded = load(self.path, engine)
        assert_holds(loaded, held)
        assert_matches(loaded, held, list(self.events))

    @rule(engine=st.sampled_from(list(ENGINES)))
    def move_to_another_engine_and_back(self, engine: str) -> None:
        column = np.arange(len(self.held), dtype=np.uint16)
        self.index.save(self.path, {"column": column}, METADATA)
        other = load(self.path, engine)
        assert np.array_equal(other.columns["column"], column)
        assert other.metadata == METADATA
        assert_holds(other, self.held)
        assert_matches(other, self.held, list(self.events))
        other.save(self.path)
        self.index = load(self.path, self.engine)

    @invariant()
    def it_holds_what_the_dict_holds(self) -> None:
        assert_holds(self.index, self.held)

    @invariant()
    def it_matches_what_the_dict_matches(self) -> None:
        assert_matches(self.index, self.held, list(self.events))


def scored(matches: Matches) -> list[list[tuple[int, float]]]:
    assert matches.scores is not None
    pairs = list(zip(matches.ids.tolist(), matches.scores.tolist(), strict=True))
    return [pairs[start:end] for start, end in pairwise(matches.offsets.tolist())]


def test_an_index_is_a_dict_of_expressions(engine: str, tmp_path: Path) -> None:
    class Machine(IndexMachine):
        def __init__(self) -> None:
            super().__init__(engine, tmp_path)

    unhurried = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        Machine, settings=settings(stateful_step_count=25, deadline=None, suppress_health_check=unhurried)
    )
