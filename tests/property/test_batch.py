"""Random events: a batch keeps of them what the reference does, whole doubles as longs, and refuses what it refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from strategies import events
from tamis.indexes.batch import EventBatch
from tamis.indexes.errors import EventError


def kept(event: dict[str, Any]) -> list[tuple[str, str]]:
    """Written out, since to Python 1, 1.0 and True are one."""
    values = reference.checked(event)
    whole = {name: int(value) if is_whole(value) else value for name, value in values.items()}
    return sorted((name, repr(value)) for name, value in whole.items())


def is_whole(value: reference.Value) -> bool:
    return isinstance(value, float) and value.is_integer() and -(2.0**63) <= value < 2.0**63


@given(st.lists(events(), max_size=6))
def test_a_batch_keeps_what_an_event_says(some: list[dict[str, Any]]) -> None:
    batch = EventBatch.from_events(some)
    assert [sorted((name, repr(value)) for name, value in event.items()) for event in batch] == [*map(kept, some)]


@given(
    st.lists(events(), max_size=3), st.dictionaries(st.text(max_size=2) | st.integers(), st.integers() | st.binary())
)
def test_an_event_is_taken_or_refused_as_by_the_reference(some: list[dict[str, Any]], last: dict[Any, Any]) -> None:
    try:
        expected = kept(last)
    except reference.EventProblem:
        with pytest.raises(EventError, match=f"event {len(some)}: "):
            EventBatch.from_events([*some, last])
    else:
        event = EventBatch.from_events([*some, last])[-1]
        assert sorted((name, repr(value)) for name, value in event.items()) == expected
