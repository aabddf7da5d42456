"""What scan does, beside what it answers: it asks each expression once for 64 events, and no predicate without need."""

from typing import Any

import pytest

from tamis.indexes.batch import EventBatch
from tamis.indexes.engines import create


def work(texts: list[str], events: list[dict[str, Any]]) -> tuple[int, int]:
    index = create("scan")
    index.insert_many(range(len(texts)), texts)
    done = index.match_batch(EventBatch.from_events(events)).work
    assert done.keys() == {"expressions", "predicates"}
    return done["expressions"], done["predicates"]


@pytest.mark.parametrize(("events", "tiles"), [(0, 0), (1, 1), (63, 1), (64, 1), (65, 2), (129, 3)])
def test_an_expression_is_asked_once_for_sixty_four_events(events: int, tiles: int) -> None:
    assert work(["a = 1", "b = 1", "a = 1"], [{"a": 1, "b": 2}] * events) == (3 * tiles, 3 * tiles)


def test_what_asks_first_for_an_attribute_that_no_event_has_is_not_looked_at() -> None:
    texts = ["a = 1", "a = 1 and b = 1", "b = 1 and a = 1", "exists a", "missing a", "not a = 1", "a = 1 or b = 1"]
    assert work(texts, [{"b": 1}])[0] == 5
    assert work(texts, [{"b": 1}] * 63 + [{"a": 1}])[0] == 7


@pytest.mark.parametrize(
    ("text", "event", "predicates"),
    [
        ("a = 1 and b = 1 and c = 1", {"a": 2, "b": 1, "c": 1}, 1),
        ("a = 1 and b = 1 and c = 1", {"a": 1, "b": 2, "c": 1}, 2),
        ("a = 1 and b = 1 and c = 1", {"a": 1, "c": 1}, 2),  # unknown is as good as false
        ("a = 1 or b = 1 or c = 1", {"a": 1}, 1),
        ("a = 1 or b = 1 or c = 1", {"c": 1}, 3),
        ("not (a = 1 or b = 1)", {"a": 1, "b": 1}, 1),
        ("not (a = 1 and b = 1)", {"a": 2, "b": 1}, 1),
        ("a = 1 xor b = 1", {"b": 1}, 2),  # whether it is true, whether it is false
    ],
)
def test_no_predicate_is_asked_when_the_rest_decides(text: str, event: dict[str, Any], predicates: int) -> None:
    assert work([text], [event] * 64) == (1, predicates)


@pytest.mark.parametrize(
    ("text", "event", "predicates"),
    [
        ("a = 1 and b = 1 and c = 1", {"a": 2, "b": 1, "c": 1}, 1),
        ("a = 1 and b = 1 and c = 1", {"a": 1, "b": 2, "c": 1}, 2),
        ("a = 1 or b = 1 or c = 1", {"a": 1}, 1),
        ("a = 1 or b = 1 or c = 1", {"c": 1}, 3),
        ("not (a = 1 or b = 1)", {"a": 1, "b": 1}, 1),
    ],
)
def test_no_predicate_is_asked_of_one_event_when_the_rest_decides(
    text: str, event: dict[str, Any], predicates: int
) -> None:
    assert work([text], [event]) == (1, predicates)


def test_events_that_do_not_fit_are_not_looked_at_further() -> None:
    index = create("scan")
    index.insert_many(range(1_000), ["a = 1"] * 1_000)
    batch = EventBatch.from_events([{"a": 1}] * 640)
    whole = index.match_batch(batch).work["expressions"]
    part = index.match_batch(batch, ids_max=1_000)
    assert (whole, part.events) == (10_000, 1)
    assert part.work["expressions"] < 1_100


def test_a_dead_expression_is_not_asked() -> None:
    index = create("scan")
    index.insert_many(range(100), ["a = 1"] * 100)
    for number in range(0, 100, 2):
        index.delete(number)
    assert index.match_batch(EventBatch.from_events([{"a": 1}])).work["expressions"] == 50
