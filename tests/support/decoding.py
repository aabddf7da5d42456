"""What decoders are held to: fastavro and the standard library, and a flattening that shares no code with them."""

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import fastavro

from tamis.codecs.decoded_events import DecodedEvents
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.event_schema import EVENT_FORM
from tamis.codecs.messages import DETECT, EventFormat, Framing, Messages

EVENT_SCHEMA = fastavro.parse_schema(json.loads(EVENT_FORM))
TIMESTAMP_MS = 1_700_000_000_000
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_GIVEN = ("$topic", "$partition", "$key", "$id", "$time")


class NotDecodable(Exception):  # noqa: N818 - it is the answer, not a fault
    """What the reference refuses, whatever the reason."""


def messages(values: Sequence[bytes | None], format: EventFormat = DETECT, **columns: Any) -> Messages:
    count = len(values)
    defaults: dict[str, Any] = {
        "topic": "t",
        "partition": 0,
        "offsets": range(count),
        "timestamps": [TIMESTAMP_MS] * count,
    }
    return Messages(values=values, format=format, **(defaults | columns))


def decoded(
    values: Sequence[bytes | None], format: EventFormat = DETECT, decoder: EventDecoder | None = None
) -> DecodedEvents:
    return (decoder or EventDecoder()).decode(messages(values, format))


def own(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event without what was given to it."""
    return {name: value for name, value in event.items() if name not in _GIVEN}


def written_out(event: Mapping[str, Any]) -> list[tuple[str, str]]:
    """To Python 1, 1.0 and True are one."""
    return sorted((name, repr(value)) for name, value in event.items())


def raw(schema: object) -> EventFormat:
    return EventFormat(Framing.RAW, schema=json.dumps(schema))


def avro_bytes(schema: Any, value: Any) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), value)
    return target.getvalue()


def avro_value(schema: Any, data: bytes) -> Any:
    """As fastavro reads it, all of it; NotDecodable if it does not, or reads what the specification forbids."""
    source = io.BytesIO(data)
    try:
        value = fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)
    except (EOFError, IndexError, ValueError, OverflowError, StopIteration, KeyError, TypeError) as error:
        raise NotDecodable from error
    if source.read():
        raise NotDecodable
    return value


def json_value(data: bytes) -> Any:
    """As the standard library reads it, strictly; objects as lists of pairs in a `Members`."""
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=Members, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise NotDecodable from error
    if not isinstance(value, Members) or text.startswith("\ufeff"):
        raise NotDecodable
    return value


class Members(list[tuple[str, Any]]):
    """An object's, in their order."""


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(digits)
    return value


def flattened(value: Any) -> dict[str, Any]:
    """An event's own attributes, as a batch gives them; NotDecodable if one may not be."""
    event: dict[str, Any] = {}
    for name, held in _leaves(value, ""):
        event.setdefault(name, held)
    return {name: held for name, held in event.items() if not name.startswith("$")}


def _leaves(value: Any, prefix: str) -> Iterable[tuple[str, Any]]:
    pairs = value if isinstance(value, Members) else list(value.items())
    if len({key for key, _ in pairs}) < len(pairs):
        raise NotDecodable
    for key, held in pairs:
        name = f"{prefix}{key}"
        _check_text(key)
        if isinstance(held, (dict, Members)):
            yield from _leaves(held, f"{name}.")
            continue
        plain = _plain(held)
        if plain is not None:
            yield name, plain


def _plain(value: Any) -> Any:
    """A number in its one form; None for what has no place in an event."""
    plain = value
    match value:
        case str():
            _check_text(value)
        case int() if not in_longs(value):
            raise NotDecodable
        case Decimal():
            is_whole = value.as_tuple().exponent == 0 and in_longs(int(value))
            plain = int(value) if is_whole else _plain(float(value))
        case float() if math.isnan(value):
            plain = None
        case float() if value.is_integer() and in_longs(int(value)):
            plain = int(value)
        case list():
            _check_elements(value)
            plain = None
        case bytes():
            plain = None
    return plain


def in_longs(value: int) -> bool:
    return _LONG_MIN <= value <= _LONG_MAX


def _check_elements(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, Members):
            for key, held in value:
                _check_text(key)
                _check_elements([held])
        elif isinstance(value, dict):
            _check_elements([*value, *value.values()])
        elif isinstance(value, list):
            _check_elements(value)
        else:
            _plain(value)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotDecodable from error
