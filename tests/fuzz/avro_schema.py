"""Any text at all as an Avro schema: refused well, or a plan that reads any bytes without harm."""

import json
from collections.abc import Iterator

from fuzzing import fuzz, instrumented

with instrumented():
    from decoding import messages
    from tamis.codecs.avro_schema import load_json, parse_record
    from tamis.codecs.errors import SchemaError
    from tamis.codecs.event_decoder import EventDecoder
    from tamis.codecs.fingerprint import canonical_form
    from tamis.codecs.limits import SchemaLimits
    from tamis.codecs.messages import EventFormat, Framing

LIMITS = SchemaLimits(depth=6, nodes=60)
VALUES = [b"", b"\0" * 40, b"\x02" * 40, b"\x01\x02" * 20, b"\x02a" * 20, b"\xff" * 40]
KINDS = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


def check(data: bytes) -> None:
    text = data.decode(errors="replace")
    try:
        schema = load_json(text, LIMITS)
        parsed = parse_record(schema, LIMITS)
    except SchemaError:
        return
    assert 1 <= parsed.nodes <= LIMITS.nodes
    form = canonical_form(schema)
    if "namespace" not in text:  # an empty one within another has no canonical form that says so
        again = parse_record(load_json(form), LIMITS)
        assert (again.nodes, again.bytes_min, again.depth) == (parsed.nodes, parsed.bytes_min, parsed.depth)
    result = EventDecoder(schema_limits=LIMITS).decode(messages(VALUES, EventFormat(Framing.RAW, schema=text)))
    assert len(result) + len(result.refusals) == len(VALUES)


def seeds() -> Iterator[bytes]:
    for kind in KINDS:
        yield record(kind)
        yield record(["null", kind, {"type": "array", "items": kind}])
        yield record(
            {"type": "map", "values": {"type": "record", "name": "I", "fields": [{"name": "b", "type": kind}]}}
        )
    yield record({"type": "enum", "name": "E", "symbols": ["x"]})
    yield record({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 3, "scale": 1})
    yield record("R")


def record(own: object) -> bytes:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": own}]}).encode()


def words() -> Iterator[bytes]:
    for word in (*KINDS, "record", "enum", "fixed", "array", "map", "error"):
        yield f'{{"type":"{word}"'.encode()
    for key in ("name", "namespace", "fields", "symbols", "items", "values", "size", "precision", "scale"):
        yield f'"{key}":'.encode()


if __name__ == "__main__":
    fuzz(check, seeds=seeds(), words=words())
