"""How records flatten: what each type becomes, by hand."""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest

from decoding import avro_bytes, decoded, messages, own, raw
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.limits import DecodingLimits
from tamis.codecs.reasons import Reason
from tamis.indexes import create

DAY = dt.date(2024, 2, 29)
MOMENT = dt.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=dt.UTC)


def logical(logical_type: str, kind: str, **attributes: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type} | attributes


def flattened(fields: list[tuple[str, Any]], value: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in fields]}
    result = decoded([avro_bytes(schema, value)], raw(schema))
    assert result.refusals == []
    return own(result.batch[0])


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (logical("date", "int"), DAY, 19782),
        (logical("time-millis", "int"), dt.time(0, 0, 1, 5000), 1005),
        (logical("time-micros", "long"), dt.time(0, 0, 1, 5), 1_000_005),
        (logical("timestamp-millis", "long"), MOMENT, 1_709_209_815_123),
        (logical("timestamp-micros", "long"), MOMENT, 1_709_209_815_123_456),
        (logical("local-timestamp-millis", "long"), MOMENT.replace(tzinfo=None), 1_709_209_815_123),
        (logical("uuid", "string"), uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (logical("decimal", "bytes", precision=10, scale=2), Decimal("12.34"), 12.34),
        (logical("decimal", "bytes", precision=10, scale=2), Decimal("-12.00"), -12),
        (logical("decimal", "bytes", precision=20, scale=0), Decimal(2**53 + 1), 2**53 + 1),
        (logical("decimal", "bytes", precision=38, scale=0), Decimal(10**37), 1e37),
        (logical("decimal", "bytes", precision=38, scale=37), Decimal("0.1"), 0.1),
        (logical("decimal", "fixed", name="F", size=4, precision=5, scale=1), Decimal("-0.1"), -0.1),
        (logical("nobody-knows", "long"), 5, 5),
        ("float", 0.5, 0.5),
        ({"type": "enum", "name": "E", "symbols": ["RED", "GREEN"]}, "GREEN", "GREEN"),
    ],
)
def test_a_value_becomes_what_the_documentation_says(kind: Any, value: Any, expected: Any) -> None:
    got = flattened([("a", kind)], {"a": value})
    assert got == {"a": expected}
    assert type(got["a"]) is type(expected)


def test_records_and_maps_join_their_names_with_dots() -> None:
    deep = {"type": "record", "name": "Deep", "fields": [{"name": "z", "type": "string"}]}
    inner = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": deep}]}
    value = {"x": 1, "y": {"z": "deep"}}
    fields = [("r", inner), ("m", {"type": "map", "values": "I"})]
    assert flattened(fields, {"r": value, "m": {"k": value, "l": value}}) == {
        "r.x": 1, "r.y.z": "deep", "m.k.x": 1, "m.k.y.z": "deep", "m.l.x": 1, "m.l.y.z": "deep",
    }  # fmt: skip


def test_a_union_is_the_branch_that_is_there() -> None:
    inner = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "long"}]}
    fields = [("u", ["null", "long", "string", inner, {"type": "map", "values": "boolean"}])]
    for value, expected in [
        (None, {}), (5, {"u": 5}), ("s", {"u": "s"}), ({"x": 1}, {"u.x": 1}), ({"k": True}, {"u.k": True}),
    ]:  # fmt: skip
        assert flattened(fields, {"u": value}) == expected


def test_bytes_fixed_and_arrays_are_left_out_and_counted() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "b", "type": "bytes"},
            {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}},
            {"name": "d", "type": {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}},
            {"name": "a", "type": {"type": "array", "items": {"type": "array", "items": "bytes"}}},
            {"name": "m", "type": {"type": "map", "values": "bytes"}},
            {"name": "last", "type": "long"},
        ],
    }
    value = {"b": b"x", "f": b"xx", "d": b"x" * 12, "a": [[b"x"], []], "m": {"k": b"", "l": b""}, "last": 7}
    result = decoded([avro_bytes(schema, value)] * 2, raw(schema))
    assert own(result.batch[1]) == {"last": 7}
    assert (result.left_out.binaries, result.left_out.arrays) == (10, 2)


def test_of_two_fields_with_one_name_the_first_that_has_a_value_wins() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": {"type": "map", "values": {"type": "map", "values": ["null", "long"]}}},
        ],
    }
    both = {"a": {"b": {"c.d": 1}, "b.c": {"d": 2}}}
    missing = {"a": {"b": {"c.d": None}, "b.c": {"d": 2}}}
    result = decoded([avro_bytes(schema, both), avro_bytes(schema, missing)], raw(schema))
    assert [own(event) for event in result.batch] == [{"a.b.c.d": 1}, {"a.b.c.d": 2}]
    assert result.left_out.collisions == 1


def test_a_plan_serves_batch_after_batch_and_index_after_index() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "long"}, {"name": "m", "type": {"type": "map", "values": "long"}}],
    }
    decoder = EventDecoder()
    data = avro_bytes(schema, {"a": 1, "m": {"x": 2}})
    for text, expected in [("a = 1", {"a": 1}), ("`m.x` = 2", {"m.x": 2}), ("other = 2", {})]:
        index = create("scan")
        index.insert(0, text)
        for _ in range(3):
            result = decoder.decode(messages([data], raw(schema)), index.vocabulary)
            assert list(result.batch) == [expected]
        index.insert(1, "a = 1")
        assert decoder.decode(messages([data], raw(schema)), index.vocabulary).batch[0].keys() >= {"a"}


def test_a_field_whose_name_is_beyond_the_limit_is_a_mistake_of_the_schema() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "a" * 11, "type": "long"}]}
    with pytest.raises(ValueError, match="longer than the limit"):
        decoded([b"\x02"], raw(schema), EventDecoder(limits=DecodingLimits(name_bytes=10)))


def test_work_is_bounded_by_the_bytes_that_are_there() -> None:
    """Counts that promise more than there is are refused before anything is done about them."""
    record = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": "null"}]}
    for held in ("null", record, {"type": "fixed", "name": "Z", "size": 0}, "string"):
        for kind in ({"type": "array", "items": held}, {"type": "map", "values": held}):
            schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}
            result = decoded([b"\xfe" + b"\xff" * 8 + b"\x01" + b"\0" * 20], raw(schema))
            assert [refusal.reason for refusal in result.refusals] in ([Reason.TRUNCATED], [Reason.TOO_MANY_ITEMS])
