"""Events as lines of JSON, and attributes as `name=value`: what publishers at a terminal write."""

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tamis.broker.errors import InvalidError
from tamis.broker.json_lines import LineError, object_of, typed
from tamis.codecs.errors import RecordError
from tamis.codecs.event import Event
from tamis.indexes import EventError, ExpressionError, parse
from tamis.indexes.values import Value

KEYS = ("attributes", "id", "time", "weights", "key")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Outgoing:
    """An event as a record to be."""

    value: bytes
    key: bytes | None


def outgoing(text: bytes | str) -> Outgoing:
    """Of a line: its event; where it says none, with an id of its own and the time that it is now. Else LineError."""
    found = object_of(text, KEYS, "attributes")
    attributes = typed(found, "attributes", dict, {})
    weights = typed(found, "weights", dict, {})
    key = typed(found, "key", str)
    return _encoded(attributes or {}, typed(found, "id", str), _time_of(found.get("time")), weights or {}, key)


def outgoing_of_attributes(attributes: Mapping[str, Value], key: str | None = None) -> Outgoing:
    """LineError if they cannot be an event's."""
    return _encoded(attributes, None, _now(), {}, key)


def attributes_of(settings: Iterable[str]) -> dict[str, Value]:
    """Of `name=value` each; InvalidError if one is not, or a name is there twice."""
    attributes: dict[str, Value] = {}
    for setting in settings:
        name, separator, text = setting.partition("=")
        if not separator or not name:
            raise InvalidError(f"{setting!r} is no attribute: write name=value, as in price=450 or region=eu.")
        if name in attributes:
            raise InvalidError(f"The attribute {name!r} is given twice: an event has one value an attribute.")
        attributes[name] = value_of(text)
    return attributes


def value_of(text: str) -> Value:
    """What a text is as a constant of the language; one that is none is itself, a string."""
    try:
        # Each form lets through what the other does not: a comma, a weight.
        alone = parse(f"x = {text}").predicates
        member = parse(f"x in ({text})").predicates
    except ExpressionError:
        return text
    return alone[0].operands[0] if len(alone) == len(member) == 1 else text


def _encoded(
    attributes: Mapping[str, Any], id: str | None, time: int, weights: Mapping[str, Any], key: str | None
) -> Outgoing:
    try:
        value = Event(str(uuid.uuid4()) if id is None else id, time, attributes, weights).encode()
        return Outgoing(value, None if key is None else key.encode())
    except (EventError, RecordError) as error:
        raise LineError(str(error)) from None
    except UnicodeEncodeError:
        raise LineError(f"the key {key!r} has a lone surrogate, which no UTF-8 can hold") from None


def _time_of(given: Any) -> int:
    """In microseconds, as given or as ISO 8601 tells it, in UTC where it names no zone."""
    if given is None:
        return _now()
    if isinstance(given, int) and not isinstance(given, bool):
        if not -_INT64 <= given < _INT64:
            raise LineError(f"'time' does not fit 64 bits: {given}")
        return given
    try:
        found = datetime.fromisoformat(given if isinstance(given, str) else "")
    except ValueError:
        raise LineError(
            f"'time' is microseconds since 1970, or a text such as 2026-11-18T08:00:00Z, not {given!r}"
        ) from None
    return ((found if found.tzinfo else found.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def _now() -> int:
    return time.time_ns() // 1000
