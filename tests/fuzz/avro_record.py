"""Any bytes at all under schemas of every kind: refused well, or the record that fastavro reads."""

from collections.abc import Iterator
from typing import Any

import fastavro

from fuzzing import fuzz, instrumented

with instrumented():
    import reference
    from decoder_fuzzing import check_same, verdict
    from decoding import avro_value, flattened, raw

INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [
        {"name": "b", "type": ["null", "string", "long", {"type": "map", "values": ["double", "boolean"]}]},
        {"name": "n", "type": "null"},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["x", "y", "z"]}},
    ],
}
FIELDS: list[tuple[str, Any]] = [
    ("a", "long"),
    ("a", "int"),
    ("a", "string"),
    ("a", ["null", "string"]),
    ("a", ["null", "boolean", "int", "float", "double", "bytes"]),
    ("a", {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 3}),
    ("a", {"type": "fixed", "name": "F", "size": 3}),
    ("a", INNER),
    ("a", {"type": "map", "values": INNER}),
    ("a", {"type": "map", "values": {"type": "map", "values": "int"}}),
    ("a", {"type": "array", "items": INNER}),
    ("a", {"type": "array", "items": {"type": "array", "items": "string"}}),
    ("a", {"type": "array", "items": "null"}),
]
SCHEMAS = [
    {"type": "record", "name": "R", "fields": [{"name": name, "type": own}, {"name": "last", "type": "boolean"}]}
    for name, own in FIELDS
]
FORMATS = [raw(schema) for schema in SCHEMAS]
PARSED = [fastavro.parse_schema(schema) for schema in SCHEMAS]


def check(data: bytes) -> None:
    """The first byte chooses the schema."""
    if not data:
        return
    chosen = data[0] % len(SCHEMAS)
    body = data[1:]
    check_same(verdict(body, FORMATS[chosen]), lambda: flattened(avro_value(PARSED[chosen], body)))


def seeds() -> Iterator[bytes]:
    for case in reference.cases("decode"):
        if "hex" in case and "schema" in case.get("format", {}):
            for chosen in range(len(SCHEMAS)):
                yield bytes([chosen]) + bytes.fromhex(case["hex"]) + b"\x01"


def words() -> Iterator[bytes]:
    yield from (b"\x02\x02a", b"\x02k\x02", b"\x01\x04", b"\x06\x02\x02k\x02\x01\0", b"\x04\x04\xd2\x00", b"\x03\x02")
    yield from (b"\xff" * 9 + b"\x01", b"\x80" * 9 + b"\x01", b"\xed\xa0\x80", b"\x80\x80\x80\x80\x10")


if __name__ == "__main__":
    fuzz(check, seeds=seeds(), words=words())
