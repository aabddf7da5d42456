"""The record `Event` as a plain object, of Python's own values: for publishers and tests, one at a time."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from tamis.codecs import released
from tamis.codecs.errors import RecordError
from tamis.indexes.errors import EventError
from tamis.indexes.values import Value

SCHEMA = released.newest("Event")
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Event:
    """What is None or NaN is missing, and is not written."""

    id: str
    time: int
    """In microseconds since 1970."""
    attributes: Mapping[str, Value | None]
    weights: Mapping[str, float] = field(default_factory=dict)
    """What the event weighs attributes by in scores, where that is not 1."""

    def encode(self) -> bytes:
        """EventError names the attribute that cannot be written."""
        attributes = {
            name: _plain(name, value)
            for name, value in self.attributes.items()
            if value is not None and not (isinstance(value, float) and math.isnan(value))
        }
        weights = {name: _checked_weight(name, weight) for name, weight in self.weights.items()}
        try:
            return released.encode(
                SCHEMA, {"id": self.id, "time": self.time, "attributes": attributes, "weights": weights}
            )
        except RecordError as error:
            raise EventError(f"event {self.id!r}: {error}") from None

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """RecordError if it is no `Event`, or weighs an attribute by what is no weight."""
        event = cls(**released.decode(SCHEMA, value))
        for name, weight in event.weights.items():
            if not 0 <= weight < math.inf:
                raise RecordError("bad_weight", f"attribute {name!r}: a weight is finite and not below 0, not {weight}")
        return event


def _plain(name: Any, value: Any) -> Value:
    """As one of the four types that the schema has."""
    if not isinstance(name, str):
        raise EventError(f"an attribute's name is a str, not {type(name).__name__}: {name!r}")
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise EventError(f"attribute {name!r}: {value} does not fit a long, which ends at 2**63 - 1")
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str(value)
    raise EventError(f"attribute {name!r}: a value is a str, int, float, bool or None, not {type(value).__name__}")


def _checked_weight(name: Any, weight: Any) -> float:
    if not isinstance(name, str):
        raise EventError(f"an attribute's name is a str, not {type(name).__name__}: {name!r}")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise EventError(f"attribute {name!r}: a weight is a number, not {type(weight).__name__}")
    if not 0 <= weight < math.inf:
        raise EventError(f"attribute {name!r}: a weight is finite and not below 0, not {weight}")
    return float(weight)
