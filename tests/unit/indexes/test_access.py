"""Engines that find expressions by access predicates: what they look at, what they learn, what they leave behind."""

from collections.abc import Iterable
from itertools import product
from random import Random
from typing import Any

import pytest

from tamis.indexes.batch import EventBatch
from tamis.indexes.engines import create
from tamis.indexes.expressions import parse
from tamis.indexes.index import Index

ENGINES = ("pst-bloom", "pst-hash", "pst-hash-eager")


@pytest.fixture(params=ENGINES)
def index(request: pytest.FixtureRequest) -> Index:
    return create(request.param)


def filled(index: Index, texts: Iterable[str]) -> Index:
    for number, text in enumerate(texts):
        index.insert(number, text)
    return index


def tried(index: Index, *events: dict[str, Any]) -> int:
    return index.match_batch(EventBatch.from_events(events)).work["expressions"]


def settled(index: Index, events: list[dict[str, Any]]) -> Index:
    index.learn(EventBatch.from_events(events))
    while index.maintain():
        pass
    return index


def assert_right(index: Index, events: Iterable[dict[str, Any]]) -> None:
    expressions = {number: index[number] for number in index.ids().tolist()}
    for event in events:
        wanted = [number for number, expression in expressions.items() if expression.evaluate(event)]
        assert index.match(event).tolist() == wanted, event


def test_only_what_the_values_lead_to_is_tried(index: Index) -> None:
    filled(index, (f"a = {value} and b = 1" for value in range(1_000)))
    assert tried(index, {"a": 7, "b": 1}) == 1
    assert tried(index, {"a": 5_000, "b": 1}) == 0


def test_what_needs_an_attribute_that_is_not_there_is_not_tried(index: Index) -> None:
    filled(index, (f"a = 1 and b{number} = 1" for number in range(50)))
    assert tried(index, {"a": 1}) == 0
    assert tried(index, {"a": 1, "b7": 1}) == 1


def test_each_expression_is_tried_once_whatever_leads_to_it(index: Index) -> None:
    filled(index, ["a = 1 or b = 1 or c > 0", "a in (1, 2) and b in (1, 2)", "not (a = 2 and b = 2)"])
    matches = index.match_batch(EventBatch.from_events([{"a": 1, "b": 1, "c": 1}]))
    assert matches.ids.tolist() == [0, 1, 2]
    assert matches.work["expressions"] == 3


def test_learned_events_change_what_is_found_by_what(index: Index) -> None:
    """`often` holds for all events and `seldom` for few: that is not to be seen from the expressions."""
    filled(index, (f"often = {number % 3} and seldom = {number % 3}" for number in range(3_000)))
    events = [{"often": number % 3, "seldom": 3 + number} for number in range(300)]
    before = tried(index, *events)
    settled(index, events)
    assert tried(index, *events) <= before / 10
    assert_right(index, [{"often": 1, "seldom": 1}, *events[:3]])


def test_what_was_learned_of_numbers_counts_for_ranges(index: Index) -> None:
    filled(index, (f"a < {number} and b < {number}" for number in range(1, 1_001)))
    events = [{"a": 1, "b": 990 + number % 10} for number in range(300)]
    settled(index, events)
    assert tried(index, *events) <= 300 * 20
    assert_right(index, events[:20])


def test_equalities_make_pairs() -> None:
    index = filled(
        create("pst-hash-eager"), (f"a = {a} and b = {b} and c > 0" for a, b in product(range(20), repeat=2))
    )
    assert index.statistics()["pairs"] == 400
    assert index.match({"a": 3, "b": 4, "c": 1}).tolist() == [3 * 20 + 4]


def test_ranges_make_pairs_too() -> None:
    random = Random(1)
    starts = [(random.randrange(1_000), random.randrange(1_000)) for _ in range(1_000)]
    texts = [f"a between {a} and {a + 40} and b between {b} and {b + 40}" for a, b in starts]
    one, two = filled(create("pst-bloom"), texts), filled(create("pst-hash-eager"), texts)
    events = [{"a": random.randrange(1_000), "b": random.randrange(1_000)} for _ in range(100)]
    assert two.statistics()["pairs"] > 0
    assert tried(two, *events) < tried(one, *events) / 2
    assert_right(two, events)


def test_a_value_that_very_many_ask_for(index: Index) -> None:
    """Lists beyond one block, emptied in any order."""
    filled(index, ["region = 'eu'"] * 5_000)
    assert len(index.match({"region": "eu"})) == 5_000
    numbers = list(range(5_000))
    Random(2).shuffle(numbers)
    for number in numbers[:4_990]:
        index.delete(number)
    assert index.match({"region": "eu"}).tolist() == sorted(numbers[4_990:])


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_ranges_in_any_order_of_insertion(index: Index, order: str) -> None:
    starts = list(range(0, 6_000, 3))
    if order == "descending":
        starts.reverse()
    elif order == "shuffled":
        Random(3).shuffle(starts)
    for start in starts:
        index.insert(start, f"a between {start} and {start + 10}")
    for value in (0, 1, 999, 3_000, 5_999, 6_007):
        assert index.match({"a": value}).tolist() == [start for start in sorted(starts) if start <= value <= start + 10]


@pytest.mark.parametrize("edge", [2**53, 2**60, 2**63 - 2, -(2**53), -(2**63) + 1])
def test_whole_numbers_that_share_a_double(index: Index, edge: int) -> None:
    near = (edge - 1, edge, edge + 1)
    texts = [f"a {operator} {value}" for operator in ("<", "<=", ">", ">=", "=", "!=") for value in near]
    texts += [
        f"a {negation}between {low} and {high}"
        for negation in ("", "not ")
        for low in near
        for high in near
        if low <= high
    ]
    texts += [f"a {negation}in ({low}, {edge})" for negation in ("", "not ") for low in near]
    filled(index, texts)
    assert_right(index, [{"a": value} for value in (*near, edge - 1025, edge + 1025) if -(2**63) <= value < 2**63])
    assert_right(index, [{"a": float(edge)}, {"a": 1e300}, {"a": -1e300}, {"a": float("inf")}, {"a": float("-inf")}])


def test_strings_of_which_each_begins_with_the_one_before(index: Index) -> None:
    """However deep such strings are in one another, nothing recurses as deep."""
    filled(index, (f'a starts with "{"x" * size}"' for size in range(1_500)))
    assert len(index.match({"a": "x" * 700})) == 701
    for number in range(0, 1_500, 2):
        index.delete(number)
    assert len(index.match({"a": "x" * 700 + "y"})) == 350


@pytest.mark.parametrize(
    "texts",
    [
        ["a = true", "a != true", "a = false", "a != false", "a in (true, false)", "a not in (true, false)"],
        ["a < 'b'", "a <= 'b'", "a > 'b'", "a >= 'b'", "a < ''", "a <= ''", "a between '' and 'b'", "a starts with ''"],
        ["a = 1.5", "a != 1.5", "a in (1, 1.5, 2)", "a not in (1, 1.5)", "a < 1.5", "a > 1.5", "a = 1"],
        ["exists a", "missing a", "missing b", "missing a and missing b", "missing a or a = 1", "not exists a"],
        [
            "a ends with 'b'",
            "a contains 'b'",
            "a matches 'b'",
            "a not matches 'b'",
            "a not starts with 'b'",
            "a != 'b'",
        ],
    ],
)
def test_every_operator_finds_what_it_should(index: Index, texts: list[str]) -> None:
    values: tuple[Any, ...] = (True, False, 0, 1, 1.5, 2, -1, "", "a", "b", "ba", "b\0", "c", "\U0010ffff", None)
    filled(index, texts)
    assert_right(index, [{"a": value, **other} for value in values for other in ({}, {"b": 1})])


def test_nothing_is_left_of_what_went() -> None:
    for engine in ENGINES:
        index = create(engine)
        empty = index.statistics()
        texts = [
            "a = 1 and b = 2",
            "a > 1 and b < 7",
            "a = 1 or b starts with 'x'",
            "missing a",
            "exists b and c = 1",
        ] * 40
        filled(index, texts)
        assert index.statistics() != empty
        for number in range(len(texts)):
            index.delete(number)
        assert index.statistics() == empty


def test_an_expression_alone_is_explained_by_its_engine(index: Index) -> None:
    index.insert(7, parse("a = 1 and b > 2"))
    assert str(index.explain(7, {"a": 1, "b": 1})) == str(parse("a = 1 and b > 2").explain({"a": 1, "b": 1}))


@pytest.mark.parametrize("engine", ["pst-bloom", "pst-hash"])
def test_ranges_within_each_other_go_together(engine: str) -> None:
    """And what is counted is what is there, though the attribute stays in use."""
    index = create(engine)
    index.insert(0, "a = 1")
    before = index.statistics()
    for _ in range(3):
        index.insert(1, "a > 5 or a > 7")
        assert index.match({"a": 6}).tolist() == [1]
        index.delete(1)
        assert index.statistics()["ranges"] == before["ranges"] == 0
