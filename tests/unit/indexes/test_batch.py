"""What an event may hold, what a batch makes of it, and that nothing else gets in."""

import gc
import math
from collections import ChainMap, OrderedDict
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from tamis.indexes.batch import EventBatch
from tamis.indexes.engines import create
from tamis.indexes.errors import EventError

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


class Colour(IntEnum):
    RED = 1


def kept(event: Any) -> dict[str, Any]:
    (result,) = EventBatch.from_events([event])
    return result


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[(same, same) for same in (0, 1, -1, INT64_MIN, INT64_MAX, 2**53 + 1, True, False, 0.5, -1e300, 5e-324)],
        *[(same, same) for same in (math.inf, -math.inf, "", "x", "日本 😀", "a\0b", "\U0010ffff", "y" * 70_000)],
        (5.0, 5),
        (-0.0, 0),
        (2.0**53, 2**53),
        (-(2.0**63), INT64_MIN),
        (9223372036854774784.0, 9223372036854774784),
        (2.0**63, 2.0**63),
        (1e300, 1e300),
        (Colour.RED, 1),
        (np.float64(0.25), 0.25),
        (np.str_("x"), "x"),
    ],
)
def test_a_value_is_kept_in_its_one_form(value: Any, expected: Any) -> None:
    got = kept({"a": value})["a"]
    assert (type(got), got) == (type(expected), expected)
    assert math.copysign(1, got) == math.copysign(1, expected) if isinstance(expected, float) else True


@pytest.mark.parametrize("value", [None, math.nan, -math.nan, float("nan"), np.float64("nan")])
def test_what_is_missing_has_no_entry(value: Any) -> None:
    assert kept({"a": value, "b": 1}) == {"b": 1}
    assert kept({"a": value}) == {}


@pytest.mark.parametrize("kind", [dict, OrderedDict, MappingProxyType, lambda event: ChainMap({}, event)])
def test_an_event_is_any_mapping(kind: Any) -> None:
    assert kept(kind({"b": 1, "a": "x"})) == {"a": "x", "b": 1}


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ({"a": INT64_MAX + 1}, "attribute 'a': 9223372036854775808"),
        ({"a": INT64_MIN - 1}, "attribute 'a': -9223372036854775809"),
        ({"a": 10**400}, "attribute 'a'"),
        ({"b": "x\ud800"}, "attribute 'b'.*surrogate"),
        ({"\udfff": 1}, "attribute '.udfff'.*surrogate"),
        ({"\udfff": None}, "attribute '.udfff'.*surrogate"),
        ({5: 1}, "not int: 5"),
        ({None: 1}, "not NoneType: None"),
        *[({"c": wrong}, f"attribute 'c'.*{type(wrong).__name__}") for wrong in ([], b"x", 1j, (), {}, object(), {1})],
        ({"c": np.int64(1)}, "attribute 'c'.*int64"),
        ({"c": np.bool_(1)}, "attribute 'c'.*bool"),
        ({"c": bytearray(b"x")}, "attribute 'c'.*bytearray"),
    ],
)
def test_a_wrong_value_is_refused_by_attribute_and_event(event: Any, named: str) -> None:
    with pytest.raises(EventError, match=rf"event 2: .*{named}"):
        EventBatch.from_events([{"a": 1}, {}, event, {"a": 1}])
    with pytest.raises(EventError, match=named):
        create().match(event)


def test_attributes_that_no_subscription_asks_for_are_as_strict() -> None:
    index = create()
    index.insert(1, "a = 1")
    with pytest.raises(EventError, match=r"event 0: .*'unused'"):
        EventBatch.from_events([{"unused": []}], vocabulary=index.vocabulary)
    with pytest.raises(EventError, match=r"event 0: .*'unused'"):
        EventBatch.from_events([{}], weights=[{"unused": -1}], vocabulary=index.vocabulary)


@pytest.mark.parametrize("events", [[5], [None], [[("a", 1)]], ["a"], [{"a": 1}, 7]])
def test_what_is_no_mapping_is_no_event(events: Any) -> None:
    with pytest.raises(TypeError, match="mapping"):
        EventBatch.from_events(events)


def test_a_batch_is_a_sequence_of_events() -> None:
    events: list[dict[str, Any]] = [{"a": 1}, {}, {"a": "x", "b": False}]
    batch = EventBatch.from_events(iter(events))
    assert len(batch) == 3
    assert [batch[at] for at in (0, 1, 2, -1, -3)] == [events[at] for at in (0, 1, 2, -1, -3)]
    assert list(batch) == events
    for at in (3, -4):
        with pytest.raises(IndexError, match=str(at)):
            batch[at]
    with pytest.raises(TypeError):
        batch["a"]  # type: ignore[index]
    assert len(EventBatch.from_events([])) == 0


def test_a_batch_is_made_of_events_only() -> None:
    with pytest.raises(TypeError, match="from_events"):
        EventBatch()
    with pytest.raises(TypeError, match="Vocabulary"):
        EventBatch.from_events([], vocabulary="a")  # type: ignore[arg-type]


def test_a_batch_keeps_its_own_strings() -> None:
    """Whatever becomes of the events; and nothing is interned anywhere else."""
    index = create()
    index.insert(1, "name = 'value'")
    before = len(index.vocabulary)
    batch = EventBatch.from_events([{"na" + "me": "val" * 2 + str(at)} for at in range(100)])
    gc.collect()
    assert batch[99] == {"name": "valval99"}
    assert index.match_batch(batch).ids.size == 0
    assert not batch.bound
    assert len(index.vocabulary) == before
    assert len(batch.vocabulary) == 101


def test_a_batch_of_a_vocabulary_keeps_what_it_asks_for() -> None:
    index = create()
    index.insert(1, "name = 'value' or b = 2")
    batch = EventBatch.from_events([{"name": "other", "unused": 1, "value": 2}], vocabulary=index.vocabulary)
    assert batch.bound
    assert batch.vocabulary is index.vocabulary
    assert batch[0] == {"name": "other", "value": 2}
    assert len(index.vocabulary) == 3


@pytest.mark.parametrize("weight", [-1, -0.5, math.nan, math.inf, "1", True, [1], pytest.param(10**400, id="huge")])
def test_a_wrong_weight_is_refused_by_attribute_and_event(weight: Any) -> None:
    with pytest.raises(EventError, match="event 1: attribute 'a'"):
        EventBatch.from_events([{}, {"a": 1}], weights=[None, {"a": weight}])


def test_weights_are_one_mapping_an_event() -> None:
    events = [{"a": 1}, {"a": 1}]
    assert len(EventBatch.from_events(events, weights=[None, {"b": 2}])) == 2
    for count in (1, 3):
        with pytest.raises(ValueError, match=r"zip\(\)"):
            EventBatch.from_events(events, weights=[None] * count)
    with pytest.raises(TypeError, match="mapping, not int"):
        EventBatch.from_events(events, weights=[None, 7])  # type: ignore[list-item]
    with pytest.raises(EventError, match="event 1: "):
        EventBatch.from_events(events, weights=[None, {7: 1}])  # type: ignore[dict-item]


def test_weights_are_those_of_the_attributes_of_their_event() -> None:
    """From an event on which others left unweighed, too; a weight of what is missing counts for `missing`."""
    index = create()
    index.insert(1, "a = 1 or missing b weight 2")
    events = [{"a": 1}] * 5
    weights: list[dict[str, float] | None] = [None, {"a": 3}, {"b": 0.5}, {}, {"a": 0, "b": 0, "c": 9}]
    for vocabulary in (None, index.vocabulary):
        batch = EventBatch.from_events(events, weights, vocabulary)
        scores = index.match_batch(batch, scores=True).scores
        assert scores is not None
        assert scores.tolist() == [3.0, 5.0, 2.0, 3.0, 0.0]
        last = index.match_batch(batch, first=3, scores=True).scores
        assert last is not None
        assert last.tolist() == [3.0, 0.0]


def test_an_entry_costs_seventeen_bytes() -> None:
    few = EventBatch.from_events([{"a": 1, "b": 2.5, "c": True, "d": -1}] * 1_000)
    many = EventBatch.from_events([{"a": 1, "b": 2.5, "c": True, "d": -1}] * 11_000)
    assert many.memory_bytes() - few.memory_bytes() == 10_000 * (4 * 17 + 4)


def test_a_string_costs_its_bytes() -> None:
    few = EventBatch.from_events([{"a": "value"}] * 1_000)
    many = EventBatch.from_events([{"a": "value"}] * 11_000)
    assert many.memory_bytes() - few.memory_bytes() == 10_000 * (17 + 4 + 4 + len("value"))
