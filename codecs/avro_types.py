"""Avro values by the schemas of Tamis's own records, which are in `schemas/` and trusted. Bytes are not.

Reading is bounded by the input: no count is believed that the bytes left could not hold, and these schemas have neither
types that contain themselves nor items of no bytes.
"""

import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tamis.codecs.errors import RecordError

_INT32, _INT64 = 1 << 31, 1 << 63
_VARINT_BYTES_MAX = 10
_DOUBLE = struct.Struct("<d")


class Input:
    """Bytes, and how far they are read."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        start, end = self.at, self.at + count
        if end > len(self.data):
            raise RecordError("truncated", f"{count} bytes are to follow at {start}, but {self.left} are left")
        self.at = end
        return self.data[start:end]

    def whole(self) -> int:
        """A whole number of 64 bits, as Avro writes it: seven bits a byte, its sign in the lowest."""
        if self.at < len(self.data) and (only := self.data[self.at]) < 0x80:  # noqa: PLR2004 - as most are
            self.at += 1
            return (only >> 1) ^ -(only & 1)
        value = 0
        for place in range(_VARINT_BYTES_MAX):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follows
                if value >= 2 * _INT64:
                    break
                return (value >> 1) ^ -(value & 1)
        raise RecordError("overflow", f"the whole number that ends at {self.at} has more than 64 bits")


class Type(Protocol):
    """Reads and writes the values of one type."""

    @property
    def bytes_min(self) -> int: ...  # how short a value may be

    def read(self, source: Input, /) -> Any: ...

    def write(self, value: Any, target: bytearray, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts."""

    name: str
    read: Callable[[Input], Any]
    write: Callable[[Any, bytearray], None]
    bytes_min: int


@dataclass(frozen=True, slots=True)
class Union:
    """One of several types: its place, then a value of it."""

    branches: Sequence[Type]
    branch_of: Callable[[Any], int]
    """Which branch a value belongs to; whoever encodes has seen to it that there is one."""
    bytes_min: int = 1

    def read(self, source: Input) -> Any:
        at = source.at
        index = source.whole()
        if not 0 <= index < len(self.branches):
            raise RecordError("bad_union_index", f"{index} at {at} names none of {len(self.branches)} branches")
        return self.branches[index].read(source)

    def write(self, value: Any, target: bytearray) -> None:
        index = self.branch_of(value)
        write_whole(index, target)
        self.branches[index].write(value, target)


@dataclass(frozen=True, slots=True)
class Record:
    """Fields, one after the other."""

    fields: Mapping[str, Type]

    @property
    def bytes_min(self) -> int:
        return sum(field.bytes_min for field in self.fields.values())

    def read(self, source: Input) -> dict[str, Any]:
        return {name: field.read(source) for name, field in self.fields.items()}

    def write(self, value: Any, target: bytearray) -> None:
        """Of a mapping, or an object whose attributes are the fields."""
        held = value.__getitem__ if isinstance(value, Mapping) else functools.partial(getattr, value)
        for name, field in self.fields.items():
            field.write(held(name), target)


@dataclass(frozen=True, slots=True)
class Array:
    """Items of one type, in blocks."""

    items: Type
    bytes_min: int = 1

    def read(self, source: Input) -> list[Any]:
        found: list[Any] = []
        _read_blocks(source, self.items.bytes_min, lambda: found.append(self.items.read(source)))
        return found

    def write(self, value: Any, target: bytearray) -> None:
        if value:
            write_whole(len(value), target)
            for item in value:
                self.items.write(item, target)
        target.append(0)


@dataclass(frozen=True, slots=True)
class Map:
    """Keys, each with a value of one type, in blocks."""

    values: Type
    bytes_min: int = 1

    def read(self, source: Input) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def read_entry() -> None:
            at = source.at
            key = read_string(source)
            if key in found:
                raise RecordError("duplicate_key", f"{key!r} at {at} was there before")
            found[key] = self.values.read(source)

        _read_blocks(source, 1 + self.values.bytes_min, read_entry)
        return found

    def write(self, value: Any, target: bytearray) -> None:
        if value:
            write_whole(len(value), target)
            for key, item in value.items():
                write_string(key, target)
                self.values.write(item, target)
        target.append(0)


def _read_blocks(source: Input, bytes_min: int, read_item: Callable[[], None]) -> None:
    """The items of an array or a map: blocks of so many, of which some tell their size, and an empty one at last."""
    while True:
        at = source.at
        count = source.whole()
        if count == 0:
            return
        size = source.whole() if count < 0 else None
        count, end = abs(count), source.at + (size or 0)
        if size is not None and size < 0:
            raise RecordError("bad_block", f"the block at {at} says that it has {size} bytes")
        if count * bytes_min > source.left:
            raise RecordError("truncated", f"{count} items at {at} take more than the {source.left} bytes left")
        for _ in range(count):
            read_item()
        if size is not None and source.at != end:
            raise RecordError("bad_block", f"the block at {at} says {size} bytes and has {source.at - end + size}")


def write_whole(value: int, target: bytearray) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:  # noqa: PLR2004
        target.append(value & 0x7F | 0x80)
        value >>= 7
    target.append(value)


def _read_int(source: Input) -> int:
    at = source.at
    value = source.whole()
    if not -_INT32 <= value < _INT32:
        raise RecordError("overflow", f"{value} at {at} does not fit an int of 32 bits")
    return value


def _write_int(value: int, target: bytearray) -> None:
    if not -_INT32 <= value < _INT32:
        raise RecordError("overflow", f"{value} does not fit an int of 32 bits")
    write_whole(value, target)


def _write_long(value: int, target: bytearray) -> None:
    if not -_INT64 <= value < _INT64:
        raise RecordError("overflow", f"{value} does not fit a long of 64 bits")
    write_whole(value, target)


def _read_bytes(source: Input) -> bytes:
    at = source.at
    length = source.whole()
    if length < 0:
        raise RecordError("bad_length", f"a length of {length} at {at}")
    return source.take(length)


def write_bytes(value: bytes, target: bytearray) -> None:
    write_whole(len(value), target)
    target += value


def read_string(source: Input) -> str:
    at = source.at
    try:
        return _read_bytes(source).decode()
    except UnicodeDecodeError as error:
        raise RecordError("bad_utf8", f"the string at {at} is no UTF-8: {error.reason}") from None


def write_string(value: str, target: bytearray) -> None:
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise RecordError("bad_utf8", f"{value!r} has a lone surrogate, which no UTF-8 can hold") from None
    size = len(data)
    if size < 64:  # noqa: PLR2004 - what one byte can tell, as most names and short texts need
        target.append(size << 1)
    else:
        write_whole(size, target)
    target += data


def _read_boolean(source: Input) -> bool:
    byte = source.take(1)[0]
    if byte > 1:
        raise RecordError("bad_boolean", f"{byte} at {source.at - 1} is neither 0 nor 1")
    return byte == 1


def _read_double(source: Input) -> float:
    value: float = _DOUBLE.unpack(source.take(8))[0]
    return value


PRIMITIVES = {
    "null": Primitive("null", lambda _: None, lambda _value, _target: None, 0),
    "boolean": Primitive("boolean", _read_boolean, lambda value, target: target.append(value), 1),
    "int": Primitive("int", _read_int, _write_int, 1),
    "long": Primitive("long", Input.whole, _write_long, 1),
    "double": Primitive("double", _read_double, lambda value, target: target.extend(_DOUBLE.pack(value)), 8),
    "bytes": Primitive("bytes", _read_bytes, write_bytes, 1),
    "string": Primitive("string", read_string, write_string, 1),
}
_PYTHON_TYPES = {"null": type(None), "boolean": bool, "long": int, "double": float, "bytes": bytes, "string": str}


def type_of(schema: Any) -> Type:
    """Of a schema as `json.loads` gives it: one of ours, without references to named types."""
    if isinstance(schema, list):
        places = {_PYTHON_TYPES[branch]: place for place, branch in enumerate(schema)}
        return Union([type_of(branch) for branch in schema], lambda value: places[type(value)])
    if isinstance(schema, str):
        return PRIMITIVES[schema]
    match schema["type"]:
        case "record":
            return Record({field["name"]: type_of(field["type"]) for field in schema["fields"]})
        case "array":
            return Array(type_of(schema["items"]))
        case "map":
            return Map(type_of(schema["values"]))
    return type_of(schema["type"])
