"""Random Avro schemas of records, values of them, and their bytes with blocks of any shape."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_LONGS = st.one_of(
    st.sampled_from((0, 1, -1, 63, 64, -64, -65, 8191, 8192, 2**31, 2**63 - 1, -(2**63))),
    st.integers(-(2**63), 2**63 - 1),
)
_INTS = st.one_of(st.sampled_from((0, -1, 2**31 - 1, -(2**31))), st.integers(-(2**31), 2**31 - 1))
_DOUBLES = st.one_of(st.sampled_from((0.0, -0.0, 2.0**53, 2.0**63, 0.1, float("nan"), float("inf"))), st.floats())
_TEXTS = st.one_of(
    st.sampled_from(("", "a", "$a", "a.b", "x" * 16, "x" * 17, "é", "\0")),
    st.text(st.characters(exclude_categories=["Cs"])),
)
_FIELD_NAMES = st.sampled_from(("a", "b", "c", "d", "e", "a_b", "Z9"))
_SYMBOLS = ("RED", "green", "_blue")

_PLAIN: dict[str, SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": _INTS,
    "long": _LONGS,
    "float": st.floats(width=32),
    "double": _DOUBLES,
    "string": _TEXTS,
    "bytes": st.binary(max_size=20),
}


@dataclass
class _Names:
    """A named type is defined once in a schema, under a name of its own."""

    count: int = field(default=0)

    def next(self) -> str:
        self.count += 1
        return f"T{self.count}"


@st.composite
def records(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """A schema as JSON, without references to types that were defined before."""
    return _record(draw, _Names(), depth)


def _record(draw: st.DrawFn, names: _Names, depth: int) -> dict[str, Any]:
    fields = draw(st.lists(_FIELD_NAMES, unique=True, max_size=5))
    name = names.next()
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": own, "type": _schema(draw, names, depth - 1)} for own in fields],
    }


def _schema(draw: st.DrawFn, names: _Names, depth: int, *, in_union: bool = False) -> Any:
    kinds = ["plain", "plain", "plain", "enum", "fixed", "decimal"]
    if depth > 0:
        kinds += ["record", "map", "array"] + ([] if in_union else ["union", "union"])
    kind = draw(st.sampled_from(kinds))
    made: Any = {"type": kind}
    match kind:
        case "plain":
            made = draw(st.sampled_from(sorted(_PLAIN)))
        case "enum":
            made |= {"name": names.next(), "symbols": list(_SYMBOLS)}
        case "fixed":
            made |= {"name": names.next(), "size": draw(st.integers(0, 4))}
        case "decimal":
            scale = draw(st.sampled_from((0, 0, 2, 5, 20)))
            made = {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": scale}
        case "record":
            made = _record(draw, names, depth)
        case "map":
            made |= {"values": _schema(draw, names, depth - 1)}
        case "array":
            made |= {"items": _schema(draw, names, depth - 1)}
        case "union":
            branches = [_schema(draw, names, depth - 1, in_union=True) for _ in range(draw(st.integers(1, 3)))]
            unnamed = {"array", "map", "bytes"}  # of these a union has one each
            made = list({kind_of(own) if kind_of(own) in unnamed else str(own): own for own in branches}.values())
    return made


def kind_of(schema: Any) -> str:
    if isinstance(schema, list):
        return "union"
    return str(schema["type"] if isinstance(schema, dict) else schema)


def values(schema: Any) -> SearchStrategy[Any]:
    """As `encode` takes them: a union's is a pair of branch and value, a decimal's a whole number."""
    if isinstance(schema, dict) and "logicalType" in schema:
        return st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-1000, 1000)
    made = _PLAIN.get(kind_of(schema), st.integers(0, len(_SYMBOLS) - 1))  # else, of an enum
    match kind_of(schema):
        case "union":
            made = st.one_of([st.tuples(st.just(place), values(branch)) for place, branch in enumerate(schema)])
        case "record":
            made = st.fixed_dictionaries({own["name"]: values(own["type"]) for own in schema["fields"]})
        case "map":
            made = st.dictionaries(_TEXTS, values(schema["values"]), max_size=4)
        case "array":
            made = st.lists(values(schema["items"]), max_size=4)
        case "fixed":
            made = st.binary(min_size=schema["size"], max_size=schema["size"])
    return made


def encode(schema: Any, value: Any, chance: Random) -> bytes:
    """Maps and arrays in blocks of any length, some with their size in bytes before them."""
    kind = kind_of(schema)
    if kind in _ENCODERS and not (isinstance(schema, dict) and "logicalType" in schema):
        return _ENCODERS[kind](value)
    if kind == "bytes":
        return _sized(value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    if kind == "union":
        return varint(value[0]) + encode(schema[value[0]], value[1], chance)
    if kind == "record":
        return b"".join(encode(own["type"], value[own["name"]], chance) for own in schema["fields"])
    if kind == "map":
        held = [_sized(key.encode()) + encode(schema["values"], item, chance) for key, item in value.items()]
    else:
        held = [encode(schema["items"], item, chance) for item in value]
    return _blocks(held, chance)


def _blocks(items: list[bytes], chance: Random) -> bytes:
    parts = []
    while items:
        count = chance.randint(1, len(items))
        body = b"".join(items[:count])
        items = items[count:]
        parts.append(varint(-count) + varint(len(body)) if chance.random() < 0.5 else varint(count))
        parts.append(body)
    return b"".join(parts) + b"\0"


def _sized(data: bytes) -> bytes:
    return varint(len(data)) + data


def varint(value: int) -> bytes:
    bits = (value << 1) ^ (value >> 63)
    parts = bytearray()
    while bits > 0x7F:
        parts.append(bits & 0x7F | 0x80)
        bits >>= 7
    parts.append(bits)
    return bytes(parts)


_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "null": lambda _: b"",
    "boolean": lambda value: bytes([value]),
    "int": varint,
    "long": varint,
    "enum": varint,
    "float": lambda value: struct.pack("<f", value),
    "double": lambda value: struct.pack("<d", value),
    "string": lambda value: _sized(value.encode()),
    "bytes": _sized,
    "fixed": bytes,
}
