"""Tamis's own records for tests: any of each kind, and Avro as others might write it."""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tamis.codecs.event import Event
from tamis.codecs.layout import Layout, Start
from tamis.codecs.notification import Match, Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.undelivered import Undelivered
from tamis.codecs.view import Position, View, ViewRecord
from tamis.indexes.limits import Limits

RECORDS: dict[str, Any] = {
    "Event": Event,
    "Subscription": Subscription,
    "Notification": Notification,
    "Layout": Layout,
    "View": ViewRecord,
    "Undelivered": Undelivered,
}
"""By the names of their schemas."""

INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
POSITIVE = st.integers(1, 1 << 30)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text("abcXYZ019.-", min_size=1, max_size=200)
TAGS = st.dictionaries(TEXTS, TEXTS, max_size=3)
DOUBLES = st.floats(allow_nan=False)
VALUES = st.one_of(LONGS, DOUBLES, TEXTS, st.booleans())
WEIGHTS = st.floats(0, allow_nan=False, allow_infinity=False)

_VIEWS = st.builds(
    View,
    INTS,
    st.lists(st.builds(Position, INTS, LONGS, INTS), max_size=4, unique_by=lambda position: position.partition).map(
        lambda positions: sorted(positions, key=lambda position: position.partition)
    ),
)
_MATCHES = st.builds(Match, TEXTS, TAGS, st.one_of(st.none(), DOUBLES))
_BUILT: dict[str, SearchStrategy[Any]] = {
    "Event": st.builds(
        Event, TEXTS, LONGS, st.dictionaries(TEXTS, VALUES, max_size=5), st.dictionaries(TEXTS, WEIGHTS, max_size=2)
    ),
    "Subscription": st.builds(Subscription, NAMES, NAMES, TEXTS, TAGS, st.booleans(), st.one_of(st.none(), TEXTS)),
    "Notification": st.builds(
        Notification,
        TEXTS,
        LONGS,
        TEXTS,
        INTS,
        LONGS,
        st.lists(_MATCHES, max_size=3),
        st.one_of(st.none(), st.binary()),
    ),
    "Layout": st.builds(
        lambda shards, more, **rest: Layout(shards=shards, partitions=shards + more, **rest),
        shards=st.integers(1, 1000),
        more=st.integers(0, 1000),
        number=POSITIVE,
        topics=TAGS,
        limits=st.builds(Limits, text_bytes=st.integers(1, 1 << 20), depth=st.integers(1, 1000)),
        starts=st.lists(st.builds(Start, TEXTS, INTS, LONGS), max_size=3),
        rules=TEXTS,
    ),
    "View": st.builds(ViewRecord, INTS, TEXTS, TEXTS, INTS, LONGS, TEXTS, TEXTS, _VIEWS, TEXTS),
    "Undelivered": st.builds(Undelivered, TEXTS, TEXTS, TEXTS, st.binary(), TEXTS, st.booleans()),
}


def physical(schema: Any) -> Any:
    """A schema without logical types, which fastavro would make Python's own of."""
    if isinstance(schema, dict):
        return {key: physical(value) for key, value in schema.items() if key != "logicalType"}
    return [physical(branch) for branch in schema] if isinstance(schema, list) else schema


def records(name: str) -> SearchStrategy[Any]:
    return _BUILT[name]


Cut = Callable[[], tuple[int, bool]]
"""How many items the next block has at most, and whether it tells its size."""


def in_blocks(schema: Any, value: Any, cut: Cut) -> bytes:
    """A value as Avro allows to write it: arrays and maps in blocks of any length."""
    if isinstance(schema, list):
        index = next(place for place, branch in enumerate(schema) if type(value) is _PYTHON_TYPES[branch])
        return zigzag(index) + in_blocks(schema[index], value, cut)
    if isinstance(schema, str):
        return _primitive(schema, value)
    match schema["type"]:
        case "record":
            return b"".join(in_blocks(field["type"], value[field["name"]], cut) for field in schema["fields"])
        case "array":
            return _blocks([in_blocks(schema["items"], item, cut) for item in value], cut)
        case "map":
            written = [_primitive("string", key) + in_blocks(schema["values"], value[key], cut) for key in value]
            return _blocks(written, cut)
    return in_blocks(schema["type"], value, cut)


def _blocks(items: Sequence[bytes], cut: Cut) -> bytes:
    written = b""
    while items:
        count, sized = cut()
        block = b"".join(items[:count])
        written += zigzag(-len(items[:count])) + zigzag(len(block)) if sized else zigzag(len(items[:count]))
        written += block
        items = items[count:]
    return written + zigzag(0)


_PYTHON_TYPES = {"null": type(None), "boolean": bool, "long": int, "double": float, "bytes": bytes, "string": str}


def _primitive(name: str, value: Any) -> bytes:
    match name:
        case "string" | "bytes":
            data = value.encode() if isinstance(value, str) else value
            return zigzag(len(data)) + data
        case "int" | "long":
            return zigzag(value)
        case "double":
            return struct.pack("<d", value)
        case "boolean":
            return bytes([value])
    return b""


def zigzag(value: int) -> bytes:
    value = 2 * value if value >= 0 else -2 * value - 1
    digits = []
    while value >= 128:
        digits.append(value % 128 + 128)
        value //= 128
    return bytes([*digits, value])
