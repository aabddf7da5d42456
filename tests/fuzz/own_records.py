"""Any bytes as one of Tamis's own records: refused, or read as fastavro reads them and written so again."""

import io
import json
from collections.abc import Iterator

import fastavro

from fuzzing import ROOT, fuzz, instrumented

with instrumented():
    from records import RECORDS, physical
    from tamis.codecs import released
    from tamis.codecs.errors import RecordError
    from tamis.codecs.headers import NotificationId
    from tamis.codecs.view import View

SCHEMAS = list(released.RELEASED.values())
SOURCES = [fastavro.parse_schema(physical(schema.source)) for schema in SCHEMAS]
HEADERS = (NotificationId, View)


def check(data: bytes) -> None:
    """The first byte says which record the rest is, or which header."""
    kind, rest = data[:1], data[1:]
    place = kind[0] if kind else 0
    if place >= len(SCHEMAS):
        check_header(rest, place)
        return
    schema = SCHEMAS[place]
    try:
        fields = released.decode(schema, schema.header + rest)
    except RecordError:
        return
    read = fastavro.schemaless_reader(io.BytesIO(rest), SOURCES[place], None)
    assert repr(read) == repr(fields)  # which tells NaN from nothing
    written = released.encode(schema, fields)
    assert len(written) <= len(schema.header) + len(rest), "the shortest form is longer"
    assert repr(released.decode(schema, written)) == repr(fields)
    try:
        record = RECORDS[schema.name].decode(schema.header + rest)
    except RecordError:
        return
    again = RECORDS[schema.name].decode(record.encode())
    assert again == record or "nan" in repr(record)


def check_header(text: bytes, place: int) -> None:
    try:
        found = HEADERS[place % len(HEADERS)].parse(text)
    except RecordError:
        return
    assert found.header == text


def seeds() -> Iterator[bytes]:
    for name, case in json.loads((ROOT / "tests" / "cases" / "released.json").read_text()).items():
        place = next(at for at, one in enumerate(SCHEMAS) if f"{one.name.lower()}-{one.version}" == name)
        for sample in case["records"]:
            yield bytes([place]) + bytes.fromhex(sample["bytes"])[10:]
    yield bytes([len(SCHEMAS)]) + b"1/Zm9vYmFyYmF6cXV4cXV1eA/3/1099511627776/ann.b-1"
    yield bytes([len(SCHEMAS) + 1]) + b"1;3;0:120:4,8:0:-1"


def words() -> Iterator[bytes]:
    yield from (b"\x01\x02", b"\x03\x08", b"\xff" * 9 + b"\x01", b"\x00\x00\x00", b":-1", b",")


if __name__ == "__main__":
    fuzz(check, seeds=seeds(), words=words(), bytes_max=512)
