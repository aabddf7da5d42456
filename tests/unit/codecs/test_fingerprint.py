"""Canonical forms and fingerprints: the specification's own values, and fastavro's on schemas of every kind."""

import json
from typing import Any

import pytest
from fastavro.schema import fingerprint as fastavro_fingerprint
from fastavro.schema import to_parsing_canonical_form

from tamis.codecs.errors import SchemaError
from tamis.codecs.fingerprint import canonical_form, crc64, fingerprint, single_object_header

SCHEMAS: list[Any] = [
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    {"type": "int", "logicalType": "date"},
    ["null", "string", {"type": "array", "items": ["null", "long"], "default": []}],
    {"type": "map", "values": {"type": "map", "values": "double"}},
    {"type": "fixed", "name": "Digest", "namespace": "x.y", "size": 16, "aliases": ["Old"]},
    {"type": "enum", "name": "x.y.Suit", "namespace": "ignored", "symbols": ["A", "B"], "default": "A", "doc": "d"},
    {
        "doc": "order of keys does not matter",
        "fields": [
            {"name": "inner", "type": {"type": "record", "name": "Inner", "fields": []}, "order": "ignore"},
            {
                "name": "other",
                "type": {"type": "record", "name": "b.Other", "fields": [{"name": "i", "type": "a.Inner"}]},
            },
            {"name": "again", "type": "Inner", "default": {}},
        ],
        "namespace": "a",
        "name": "Outer",
        "type": "record",
    },
]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("null", 0x63DD24E7CC258F8A),
        ("boolean", 0x9F42FC78A4D4F764),
        ("int", 0x7275D51A3F395C8F),
        ("long", 0xD054E14493F41DB7),
        ("float", 0x4D7C02CB3EA8D790),
        ("double", 0x8E7535C032AB957E),
        ("bytes", 0x4FC016DAC3201965),
        ("string", 0x8F014872634503C7),
    ],
)
def test_the_fingerprints_of_primitive_types_are_the_specification_s(schema: str, expected: int) -> None:
    assert fingerprint(schema) == expected
    assert fingerprint({"type": schema, "logicalType": "none"}) == expected


def test_the_empty_form_has_the_polynomial_for_its_fingerprint() -> None:
    assert crc64(b"") == 0xC15D213AA4D7A795


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:40])
def test_form_and_fingerprint_are_fastavro_s(schema: Any) -> None:
    form = canonical_form(schema)
    assert form == to_parsing_canonical_form(schema)
    little_endian = fastavro_fingerprint(form, "CRC-64-AVRO")
    assert fingerprint(schema) == int.from_bytes(bytes.fromhex(little_endian), "little")
    assert single_object_header(schema).hex() == f"c301{little_endian}"


def test_a_canonical_form_is_its_own() -> None:
    for schema in SCHEMAS:
        form = canonical_form(schema)
        assert canonical_form(json.loads(form)) == form


def test_a_type_may_be_wrapped_and_a_namespace_empty() -> None:
    assert canonical_form({"type": {"type": {"type": "string"}}}) == '"string"'
    plain = {"type": "enum", "name": "Plain", "namespace": "", "symbols": []}
    assert '{"name":"Plain","type":"enum"' in canonical_form(
        {"type": "record", "name": "a.Outer", "fields": [{"name": "f", "type": plain}]}
    )


def test_a_size_in_quotes_is_a_number() -> None:
    assert canonical_form({"type": "fixed", "name": "f", "size": "016"}) == '{"name":"f","type":"fixed","size":16}'


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (None, "a name, an object or a list"),
        (7, "a name, an object or a list"),
        ({}, "'type' is missing"),
        ({"type": "record"}, "'name' is missing"),
        ({"type": "record", "name": "r"}, "'fields' is missing"),
        ({"type": "record", "name": "r", "fields": "f"}, "'fields' is a list"),
        ({"type": "record", "name": "r", "fields": ["f"]}, "field is an object"),
        ({"type": "record", "name": "r", "fields": [{"name": "f"}]}, "'type' is missing"),
        ({"type": "record", "name": "r", "fields": [{"name": 1, "type": "int"}]}, "a name is a string"),
        ({"type": "record", "name": "", "fields": []}, "not empty"),
        ({"type": "record", "name": "r", "namespace": 1, "fields": []}, "namespace"),
        ({"type": "enum", "name": "e", "symbols": [1]}, "a name is a string"),
        ({"type": "fixed", "name": "f", "size": -1}, "a size is a whole number"),
        ({"type": "fixed", "name": "f", "size": True}, "a size is a whole number"),
        ({"type": "fixed", "name": "f", "size": "x"}, "a size is a whole number"),
        ({"type": "array"}, "'items' is missing"),
        ({"type": "map"}, "'values' is missing"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: Any, told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        canonical_form(schema)


def test_a_schema_that_is_nested_too_deeply_is_refused_and_does_not_exhaust_the_stack() -> None:
    schema: Any = "int"
    for _ in range(100_000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="deep"):
        canonical_form(schema)
