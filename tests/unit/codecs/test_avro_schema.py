"""Schemas: which are taken and what is known of them; which are refused, and why."""

import json
from typing import Any

import pytest

from tamis.codecs.avro_record import FieldPlan
from tamis.codecs.avro_schema import AvroType, load_json, parse_record
from tamis.codecs.errors import SchemaError
from tamis.codecs.limits import SchemaLimits


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{at}", "type": own} for at, own in enumerate(fields)],
    }


def parsed(schema: Any, limits: SchemaLimits = SchemaLimits()) -> AvroType:  # noqa: B008 - it is frozen
    return parse_record(load_json(json.dumps(schema), limits), limits)


@pytest.mark.parametrize(
    ("own", "bytes_min"),
    [
        ("null", 0),
        ("boolean", 1),
        ("long", 1),
        ("float", 4),
        ("double", 8),
        ("string", 1),
        (["null", "double"], 1),
        (["long", "double"], 2),
        ({"type": "array", "items": "double"}, 1),
        ({"type": "map", "values": "double"}, 1),
        ({"type": "enum", "name": "E", "symbols": ["x"]}, 1),
        ({"type": "fixed", "name": "F", "size": 16}, 16),
        (record("double", "float", "null", name="I"), 12),
        (record("null", record(name="J"), name="I"), 0),
    ],
)
def test_the_least_that_a_value_takes_is_known(own: Any, bytes_min: int) -> None:
    assert parsed(record(own)).bytes_min == bytes_min


def test_a_named_type_is_found_by_its_name_and_by_its_full_name() -> None:
    inner = record("long", name="Inner") | {"namespace": "x.y"}
    outer = {
        "type": "record",
        "name": "z.Outer",
        "fields": [
            {"name": "a", "type": inner},
            {"name": "b", "type": "x.y.Inner"},
            {"name": "c", "type": {"type": "enum", "name": "E", "symbols": []}},
            {"name": "d", "type": "E"},
            {"name": "e", "type": ["null", "z.E"]},
        ],
    }
    made = parsed(outer)
    assert made.children[0] is made.children[1]
    assert made.children[2] is made.children[3] is made.children[4].children[1]
    assert made.nodes == 1 + 2 + 2 + 1 + 1 + 3


def test_a_decimal_has_a_scale_and_one_that_makes_no_sense_is_bytes() -> None:
    def scale(**attributes: Any) -> int | None:
        own = {"type": "bytes", "logicalType": "decimal"} | attributes
        return parsed(record(own)).children[0].scale

    assert scale(precision=4, scale=2) == 2
    assert scale(precision=4) == 0
    assert [scale(), scale(precision=0), scale(precision=1, scale=2), scale(precision="4")] == [None] * 4
    assert scale(precision=4, logicalType="other") is None


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("string", "an event is a record"),
        ({"type": "array", "items": "int"}, "an event is a record"),
        ("R", "does not define before"),
        (7, "a schema is a name"),
        ({}, "'type' is missing"),
        ({"type": 7}, "'type' is missing"),
        (record("R"), "holds itself"),
        (record(["null", "R"]), "holds itself"),
        (record({"type": "array", "items": "R"}), "holds itself"),
        (record(record({"type": "map", "values": "R"}, name="I")), "holds itself"),
        (record("later", record(name="later")), "does not define before"),
        (record(record(name="R")), "twice"),
        (record(record(name="int")), "twice"),
        (record([]), "one branch or more"),
        (record(["null", ["long"]]), "no union for a branch"),
        (record(["long", "long"]), "twice"),
        (record([{"type": "array", "items": "int"}, {"type": "array", "items": "long"}]), "twice"),
        (record({"type": "array"}), "'items' is missing"),
        (record({"type": "map"}), "'values' is missing"),
        (record({"type": "enum", "name": "E"}), "'symbols' is a list"),
        (record({"type": "enum", "name": "E", "symbols": ["x", "x"]}), "twice"),
        (record({"type": "enum", "name": "E", "symbols": ["x y"]}), "a name is"),
        (record({"type": "fixed", "name": "F"}), "a fixed has a size"),
        (record({"type": "fixed", "name": "F", "size": -1}), "a fixed has a size"),
        (record({"type": "fixed", "name": "F", "size": 2**31}), "a fixed has a size"),
        (record({"type": "fixed", "name": "F", "size": True}), "a fixed has a size"),
        ({"type": "record", "name": "R"}, "'fields' is a list"),
        ({"type": "record", "name": "R", "fields": [1]}, "'fields' is a list"),
        ({"type": "record", "name": "R", "fields": [{"name": "a"}]}, "'type' is missing"),
        ({"type": "record", "name": "R", "fields": [{"type": "int"}]}, "a name is"),
        ({"type": "record", "name": "R", "fields": [{"name": "a.b", "type": "int"}]}, "a name is"),
        ({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}] * 2}, "twice"),
        ({"type": "record", "name": "R..S", "fields": []}, "a name is"),
        ({"type": "record", "name": "1R", "fields": []}, "a name is"),
        ({"type": "record", "fields": []}, "a type's name"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_its_reason(schema: Any, told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        parsed(schema)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ('{"type":', "not JSON"),
        ('{"type":"record","type":"record"}', "key twice"),
        ("[" * 100_000, "deep"),
        ('{"a":' * 100_000, "deep"),
        ("9" * 5000, "not JSON"),
        ('"' + "x" * 2**20 + '"', "characters"),
    ],
)
def test_text_that_is_no_schema_never_reaches_what_it_could_harm(text: str, told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        load_json(text)


def test_brackets_in_strings_are_not_depth() -> None:
    assert load_json(json.dumps({"doc": '[{"' * 1000})) == {"doc": '[{"' * 1000}


def test_types_may_be_nested_as_deeply_as_the_limit_says() -> None:
    def nested(depth: int) -> Any:
        own: Any = "long"
        for level in range(depth - 2):
            own = {"type": "array", "items": own} if level % 2 else ["null", own]
        return record(own)

    assert parsed(nested(64)).depth == 64
    with pytest.raises(SchemaError, match="deep"):
        parsed(nested(65))
    # A type is as deep as it is where it is named again.
    inner = record({"type": "array", "items": {"type": "array", "items": "long"}}, name="I")
    assert parsed(record(inner, "I"), SchemaLimits(depth=5)).depth == 5
    with pytest.raises(SchemaError, match="deep"):
        parsed(record(inner, {"type": "array", "items": "I"}), SchemaLimits(depth=5))


def test_types_that_double_at_each_level_are_counted_before_they_are_laid_out() -> None:
    """Forty records, each with two of the one before: two to the power of forty fields."""
    fields: list[Any] = [{"name": "t0", "type": record("long", name="T0")}]
    for level in range(1, 40):
        own = {"type": "record", "name": f"T{level}", "fields": [
            {"name": "a", "type": f"T{level - 1}"}, {"name": "b", "type": f"T{level - 1}"},
        ]}  # fmt: skip
        fields.append({"name": f"t{level}", "type": own})
    with pytest.raises(SchemaError, match="more than 20000 types"):
        parsed({"type": "record", "name": "R", "fields": fields})


def test_a_plan_has_a_node_for_each_type_that_has_bytes() -> None:
    assert len(FieldPlan(parsed(record("long", "null", ["null", "int"], record("null", name="I"))))) == 5


def test_a_limit_has_a_range() -> None:
    for value in (0, 101):
        with pytest.raises(ValueError, match="depth"):
            SchemaLimits(depth=value)
