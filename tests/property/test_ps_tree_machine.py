"""A PS-Tree beside a plain list of predicates, each of which is asked, through any sequence of writes."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import reference
from strategies import neighbour, predicates
from tamis.indexes.expressions import Expression, parse
from tamis.indexes.predicate_space import PredicateSpace
from tamis.indexes.ps_tree import PSTree

WORDS = ("ends with", "contains", "matches", "exists", "missing")
ORDERED = predicates().filter(lambda predicate: predicate.operator.removeprefix("not ") not in WORDS)
TEXTS = ORDERED.map(lambda predicate: parse(reference.canonical(replace(predicate, attribute="a", weight=1.0))).text)
IDS = st.integers(0, 30) | st.integers(0, (1 << 32) - 1)
SPARE_BYTES = 40_000
"""What a tree may keep for later: room in tables, and a segment of words."""


@cache
def parsed(text: str) -> Expression:
    return parse(text)


def holds(text: str, value: Any) -> bool:
    return parsed(text).evaluate({"a": value}) is True


def operands(text: str) -> tuple[Any, ...]:
    return parsed(text).predicates[0].operands


def lies_in(space: PredicateSpace, value: Any) -> bool:
    """Needs bounds of the value's family."""
    above = space.low is None or value > space.low or (space.is_low_inside and value == space.low)
    below = space.high is None or value < space.high or (space.is_high_inside and value == space.high)
    return above and below


def family(value: Any) -> str:
    return type(value).__name__ if isinstance(value, bool | str) else "number"


class PSTreeMachine(RuleBasedStateMachine):
    """`held` is every link in the order of its coming."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[tuple[str, int]] = []

    @initialize(leaf_max=st.sampled_from((2, 3, 16)))
    def begin(self, leaf_max: int) -> None:
        self.tree = PSTree("a", leaf_max=leaf_max)
        self.empty_bytes = self.tree.memory_bytes()

    def expected(self, value: Any) -> list[int]:
        return [number for text, number in self.held if holds(text, value)]

    def assert_finds(self, values: list[Any]) -> None:
        every = [self.expected(value) for value in values]
        assert [self.tree.locate(value).tolist() for value in values] == [sorted(set(some)) for some in every]
        assert self.tree.count_many(values).tolist() == [len(some) for some in every]
        offsets, ids = self.tree.locate_many(values)
        assert ids.tolist() == [number for some in every for number in sorted(set(some))]
        assert np.diff(offsets).tolist() == [len(set(some)) for some in every]

    @rule(text=TEXTS, id=IDS)
    def insert(self, text: str, id: int) -> None:
        self.tree.insert(text, id)
        if (text, id) not in self.held:
            self.held.append((text, id))

    @rule(some=st.lists(TEXTS, max_size=20), first=IDS)
    def insert_some(self, some: list[str], first: int) -> None:
        ids = [(first + place) % (1 << 32) for place in range(len(some))]
        self.tree.insert_many(some, ids)
        for link in zip(some, ids, strict=True):
            if link not in self.held:
                self.held.append(link)

    @rule(low=st.integers(0, 50), width=st.integers(0, 50), count=st.integers(1, 40), step=st.integers(1, 3))
    def insert_a_row(self, low: int, width: int, count: int, step: int) -> None:
        """Ranges beside each other, so that leaves are cut."""
        for place in range(count):
            first = low + place * step
            self.insert(f"a between {first} and {first + width}", 100 + place)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        text, number = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        self.tree.delete(text, number)
        with pytest.raises(KeyError):
            self.tree.delete(text, number)

    @precondition(lambda self: self.held)
    @rule(chance=st.randoms(use_true_random=False), share=st.floats(0, 1))
    def delete_some(self, chance: Random, share: float) -> None:
        for text, number in chance.sample(self.held, int(share * len(self.held))):
            self.tree.delete(text, number)
            self.held.remove((text, number))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def find_near_operands(self, data: st.DataObject) -> None:
        known = [value for text, _ in data.draw(st.permutations(self.held))[:20] for value in operands(text)]
        near = st.sampled_from([*known, *map(neighbour, known)])
        self.assert_finds(data.draw(st.lists(near, max_size=20)))

    @rule(values=st.lists(st.integers(-5, 200) | st.floats() | st.text(max_size=3) | st.booleans() | st.none()))
    def find_any(self, values: list[Any]) -> None:
        self.assert_finds(values)

    @rule()
    def go_through_spaces(self) -> None:
        """They are in order, disjoint, whole, of different ids, and each operand lies in the right one."""
        found = list(self.tree.spaces())
        for lower, upper in pairwise(found):
            if lower.high is not None and upper.low is not None and family(lower.high) == family(upper.low):
                assert lower.high <= upper.low  # type: ignore[operator] # one family
                assert lower.ids.tolist() != upper.ids.tolist()
                if lower.high == upper.low:
                    assert lower.is_high_inside != upper.is_low_inside
        for text, _ in self.held[:40]:
            for value in operands(text):
                of_family = [space for space in found if any(self.bounds_like(space, value))]
                around = [space for space in of_family if lies_in(space, value)]
                assert not of_family or [space.ids.tolist() for space in around] == [sorted(set(self.expected(value)))]

    @staticmethod
    def bounds_like(space: PredicateSpace, value: Any) -> list[bool]:
        return [family(bound) == family(value) for bound in (space.low, space.high) if bound is not None]

    @invariant()
    def it_holds_what_is_held(self) -> None:
        if hasattr(self, "tree"):
            assert len(self.tree) == len(self.held) == self.tree.statistics()["links"]
            if not self.held:
                assert self.tree.statistics()["postings"] == 0
                assert self.tree.memory_bytes() <= self.empty_bytes + SPARE_BYTES


TestPSTree = PSTreeMachine.TestCase
TestPSTree.settings = settings(stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
