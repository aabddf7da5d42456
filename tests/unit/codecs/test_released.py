"""Released schemas never change, and every record that was ever written stays readable."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from records import RECORDS, physical, zigzag
from tamis.codecs import released
from tamis.codecs.avro_types import type_of
from tamis.codecs.errors import RecordError
from tamis.codecs.fingerprint import fingerprint, single_object_header
from tamis.codecs.released import RELEASED, SCHEMAS_FOLDER, Schema
from tamis.codecs.subscription import Subscription

CASES: dict[str, Any] = json.loads((Path(__file__).parents[2] / "cases" / "released.json").read_text())
SAMPLES = [
    pytest.param(name, sample, id=f"{name}-{place}")
    for name, case in CASES.items()
    for place, sample in enumerate(case["records"])
]
SUBSCRIPTION = Subscription("ann", "cheap", "price < 5", {"team": "a"})


def plain(value: Any) -> Any:
    """As `CASES` spells it."""
    if isinstance(value, bytes):
        return f"hex:{value.hex()}"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_a_released_schema_stays_what_it_is() -> None:
    """To change a record, add a file with the next number, and here its fingerprint and what was written with it."""
    fingerprints = {
        path.stem: f"{fingerprint(json.loads(path.read_text())):016x}" for path in SCHEMAS_FOLDER.glob("*.avsc")
    }
    assert fingerprints == {name: case["fingerprint"] for name, case in CASES.items()}
    assert len(RELEASED) == len(CASES)


@pytest.mark.parametrize("name", RECORDS)
def test_versions_are_counted_from_one(name: str) -> None:
    versions = sorted(schema.version for schema in RELEASED.values() if schema.name == name)
    assert versions == [*range(1, len(versions) + 1)]
    assert released.newest(name).version == len(versions)


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_what_was_written_with_any_version_is_read(name: str, sample: dict[str, Any]) -> None:
    data = bytes.fromhex(sample["bytes"])
    newest = released.newest(RELEASED[data[:10]].name)
    read = released.decode(newest, data)
    assert {field: plain(value) for field, value in read.items() if field in sample["fields"]} == sample["fields"]
    record = RECORDS[newest.name].decode(data)
    assert RECORDS[newest.name].decode(record.encode()) == record
    if name == f"{newest.name.lower()}-{newest.version}":
        assert record.encode() == data


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_any_avro_tool_reads_any_version_with_the_newest_schema(name: str, sample: dict[str, Any]) -> None:
    data = bytes.fromhex(sample["bytes"])
    written = RELEASED[data[:10]]
    newest = released.newest(written.name)
    read = fastavro.schemaless_reader(io.BytesIO(data[10:]), physical(written.source), physical(newest.source))
    assert isinstance(read, dict)
    assert read.keys() == released.decode(newest, data).keys(), name


def test_every_record_can_grow_a_field_and_lose_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the newest version has and an older one had not is its default, in records within records too."""
    one = released.newest("Notification")
    source = json.loads(json.dumps(one.source))
    matches = next(field for field in source["fields"] if field["name"] == "matches")
    matches["type"]["items"]["fields"][1:2] = [{"name": "rank", "type": "long", "default": 7}]
    source["fields"].append({"name": "labels", "type": {"type": "map", "values": "string"}, "default": {"a": "b"}})
    two = Schema(one.name, 2, source, single_object_header(source), type_of(source))
    monkeypatch.setitem(RELEASED, two.header, two)
    old = {"id": "e", "time": 1, "topic": "t", "partition": 0, "offset": 2, "event": b"x"}
    data = released.encode(one, old | {"matches": [{"name": "n", "tags": {}, "score": 0.5}]})
    new = old | {"matches": [{"name": "n", "rank": 7, "score": 0.5}], "labels": {"a": "b"}}
    assert released.decode(two, data) == new
    assert fastavro.schemaless_reader(io.BytesIO(data[10:]), physical(one.source), physical(two.source)) == new
    with pytest.raises(KeyError):  # back is no way: `tags` never had a default
        released.decode(one, released.encode(two, new))


def test_every_field_that_may_be_left_out_says_what_it_is_then() -> None:
    """A default that fastavro can write is one that a reader can have."""
    for schema in RELEASED.values():
        for field in schema.source["fields"]:
            if "default" in field:
                fastavro.schemaless_writer(io.BytesIO(), fastavro.parse_schema(field["type"]), field["default"])


HEADER = SUBSCRIPTION.encode()[:10]
BODY = SUBSCRIPTION.encode()[10:]
KEY_TWICE = zigzag(2) + b"\x02a\x02x" + b"\x02a\x02y" + zigzag(0)
START = b"\x02s\x02n\x02e"
"""A subscriber, a name and an expression; tags follow."""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"\xc3", "truncated"),
        (HEADER[:9], "truncated"),
        (HEADER, "truncated"),
        (b"{}", "unknown_framing"),
        (b"\x00\x00\x00\x00\x01", "unknown_framing"),
        (b"\xc3\x01" + bytes(8), "unknown_schema"),
        (released.newest("Event").header + BODY, "unknown_schema"),
        (HEADER + BODY[:-1], "truncated"),
        (HEADER + BODY + b"\x00", "trailing_bytes"),
        (HEADER + zigzag(-1), "bad_length"),
        (HEADER + zigzag(100) + b"short", "truncated"),
        (HEADER + zigzag((1 << 63) - 1), "truncated"),
        (HEADER + b"\xff" * 10, "overflow"),
        (HEADER + b"\xff" * 9 + b"\x02", "overflow"),
        (HEADER + b"\xff" * 9, "truncated"),
        (HEADER + b"\x02\xff", "bad_utf8"),
        (HEADER + b"\x06\xed\xa0\x80", "bad_utf8"),
        (HEADER + START + zigzag(1 << 40), "truncated"),
        (HEADER + START + zigzag(-(1 << 63)) + zigzag(2), "truncated"),
        (HEADER + START + zigzag(-1) + zigzag(-1), "bad_block"),
        (HEADER + START + zigzag(-1) + zigzag(3) + b"\x02a\x02x" + b"\x00\x00\x00", "bad_block"),
        (HEADER + START + KEY_TWICE + b"\x00\x00", "duplicate_key"),
        (HEADER + START + b"\x00\x02\x00", "bad_boolean"),
        (HEADER + START + b"\x00\x00\x04", "bad_union_index"),
        (HEADER + START + b"\x00\x00\x01", "bad_union_index"),
        (HEADER + b"\x02_\x02n\x02e\x00\x00\x00", "bad_key"),
    ],
)
def test_what_is_no_record_is_refused_for_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(RecordError) as raised:
        Subscription.decode(data)
    assert raised.value.reason == reason
    assert str(raised.value)


def test_an_int_has_32_bits() -> None:
    data = released.newest("Layout").header + zigzag(1 << 31)
    with pytest.raises(RecordError, match="32 bits") as raised:
        RECORDS["Layout"].decode(data)
    assert raised.value.reason == "overflow"


def test_a_count_is_refused_before_its_items_are_read() -> None:
    with pytest.raises(RecordError, match="3 items at 16 take more than the 5 bytes left"):
        Subscription.decode(HEADER + START + zigzag(3) + b"\x02a\x02\xff\x00")
