"""The schemas of Tamis's own records, `schemas/*.avsc`: every version that was ever released.

A record is written with the newest version of its schema, and begins with that one's fingerprint (Avro's single-object
encoding). It is read with the version that it names: a field that this one lacks takes its default from the newest, one
that the newest lacks is dropped.
"""

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.codecs.avro_types import Input, Type, type_of
from tamis.codecs.errors import RecordError
from tamis.codecs.fingerprint import single_object_header

SCHEMAS_FOLDER = Path(__file__).parent / "schemas"
HEADER_SIZE = 10
_MAGIC = b"\xc3\x01"


@dataclass(frozen=True, slots=True)
class Schema:
    """One version of a record's schema."""

    name: str
    version: int
    source: Any
    """As `json.loads` gives it."""
    header: bytes
    """What every such record begins with."""
    type: Type


def _released() -> dict[bytes, Schema]:
    schemas = {}
    for path in sorted(SCHEMAS_FOLDER.glob("*.avsc")):
        source = json.loads(path.read_text())
        header = single_object_header(source)
        version = int(path.stem.rpartition("-")[2])
        schemas[header] = Schema(source["name"], version, source, header, type_of(source))
    return schemas


RELEASED = _released()
"""By header."""


def newest(name: str) -> Schema:
    return max((schema for schema in RELEASED.values() if schema.name == name), key=lambda schema: schema.version)


def encode(schema: Schema, record: Any) -> bytes:
    """Of a mapping, or an object whose attributes are the fields."""
    target = bytearray(schema.header)
    schema.type.write(record, target)
    return bytes(target)


def decode(schema: Schema, data: bytes) -> dict[str, Any]:
    """The fields of a record, as this schema has them, whichever version it was written with."""
    header = data[:HEADER_SIZE]
    written = RELEASED.get(header)
    if written is None:
        if header[:2] != _MAGIC[: len(header)]:
            raise RecordError("unknown_framing", f"it begins with {header[:2].hex(' ')}, not with c3 01")
        if len(header) < HEADER_SIZE:
            raise RecordError("truncated", f"it has {len(header)} bytes; a record begins with {HEADER_SIZE}")
        raise RecordError(
            "unknown_schema",
            f"no released schema has the fingerprint {header[:1:-1].hex()}: was it written by a newer version?",
        )
    if written.name != schema.name:
        raise RecordError("unknown_schema", f"it is {written.name}, not {schema.name}")
    source = Input(data, HEADER_SIZE)
    found: dict[str, Any] = written.type.read(source)
    if source.left:
        raise RecordError("trailing_bytes", f"{source.left} bytes follow the record")
    return found if written is schema else _resolved(found, schema.source)


def _resolved(found: Any, wanted: Any) -> Any:
    """A value that was written with another version."""
    kind = wanted["type"] if isinstance(wanted, dict) else wanted
    match kind:
        case "record":
            return {
                field["name"]: _resolved(found[field["name"]], field["type"])
                if field["name"] in found
                else copy.copy(field["default"])
                for field in wanted["fields"]
            }
        case "array":
            return [_resolved(item, wanted["items"]) for item in found]
        case "map":
            return {key: _resolved(item, wanted["values"]) for key, item in found.items()}
    return found
