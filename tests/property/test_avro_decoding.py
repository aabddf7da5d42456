"""Random schemas and values: what is decoded is what fastavro reads, from bytes of either's making."""

import io
import json
from random import Random
from typing import Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st

import avro_strategies
from avro_strategies import encode, records, values
from decoding import (
    EVENT_SCHEMA,
    NotDecodable,
    avro_value,
    decoded,
    flattened,
    in_longs,
    messages,
    own,
    raw,
    written_out,
)  # fmt: skip
from tamis.codecs.avro_schema import load_json, parse_record
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.event_schema import EVENT_HEADER
from tamis.codecs.fingerprint import canonical_form
from tamis.codecs.reasons import Reason
from tamis.indexes import create

EVENT_FORM = json.loads(canonical_form(EVENT_SCHEMA))
SCHEMAS_AND_VALUES = records().flatmap(lambda schema: st.tuples(st.just(schema), st.lists(values(schema), max_size=4)))


def expectation(schema: Any, data: bytes) -> list[tuple[str, str]] | None:
    """None: not decodable."""
    try:
        return written_out(flattened(avro_value(schema, data)))
    except NotDecodable:
        return None


@given(SCHEMAS_AND_VALUES, st.randoms(use_true_random=False))
def test_a_record_is_decoded_as_fastavro_reads_it(made: tuple[Any, list[Any]], chance: Random) -> None:
    schema, some = made
    data = [encode(schema, value, chance) for value in some]
    result = decoded(data, raw(schema))
    assert result.refusals == []
    assert [written_out(own(event)) for event in result.batch] == [expectation(schema, bytes_) for bytes_ in data]


@given(SCHEMAS_AND_VALUES, st.randoms(use_true_random=False))
def test_what_fastavro_writes_is_decoded(made: tuple[Any, list[Any]], chance: Random) -> None:
    schema, some = made
    parsed = fastavro.parse_schema(schema)
    data = []
    for value in some:
        read = avro_value(schema, encode(schema, value, chance))
        target = io.BytesIO()
        try:
            fastavro.schemaless_writer(target, parsed, read)
        except (ValueError, TypeError, OverflowError):  # of a union it may take another branch, or none
            continue
        data.append(target.getvalue())
    result = decoded(data, raw(schema))
    assert result.refusals == []
    assert [written_out(own(event)) for event in result.batch] == [expectation(schema, bytes_) for bytes_ in data]


@given(SCHEMAS_AND_VALUES, st.randoms(use_true_random=False), st.data())
def test_bytes_that_were_changed_give_what_fastavro_reads_or_nothing(
    made: tuple[Any, list[Any]], chance: Random, data: st.DataObject
) -> None:
    schema, some = made
    broken = []
    for value in some:
        whole = bytearray(encode(schema, value, chance))
        if whole and data.draw(st.booleans()):
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
        broken.append(bytes(whole[: data.draw(st.integers(0, len(whole)))] if data.draw(st.booleans()) else whole))
    result = decoded(broken, raw(schema))
    for event, position in zip(result.batch, result.positions.tolist(), strict=True):
        assert written_out(own(event)) == expectation(schema, broken[position])
    assert len(result) + len(result.refusals) == len(broken)


@given(st.lists(values(EVENT_FORM), max_size=4), st.randoms(use_true_random=False))
def test_an_event_is_decoded_as_fastavro_reads_it(some: list[Any], chance: Random) -> None:
    for value in some:
        value["weights"] = {}
    data = [encode(EVENT_FORM, value, chance) for value in some]
    result = decoded([EVENT_HEADER + bytes_ for bytes_ in data])
    assert result.refusals == []
    for place, (event, bytes_) in enumerate(zip(result.batch, data, strict=True)):
        read = avro_value(EVENT_SCHEMA, bytes_ if in_longs(some[place]["time"]) else b"")
        names = {name: held for name, held in read["attributes"].items() if not name.startswith("$")}
        assert written_out(own(event)) == written_out(flattened(names))
        assert result.id(place) == read["id"]
        assert event["$time"] == result.times[place] == some[place]["time"]


@given(st.lists(values(EVENT_FORM), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_a_vocabulary_changes_what_is_kept_and_nothing_else(some: list[Any], chance: Random) -> None:
    index = create("scan")
    index.insert(0, 'a = 1 or $id = "x" or `a.b` = "a"')
    data = [EVENT_HEADER + encode(EVENT_FORM, value, chance) for value in some] + [b"{"]
    everything = EventDecoder().decode(messages(data))
    asked = EventDecoder().decode(messages(data), index.vocabulary)
    kept: list[dict[str, Any]] = [
        {name: event[name] for name in ("a", "a.b", "$id") if name in event} for event in everything.batch
    ]
    assert [written_out(event) for event in asked.batch] == [written_out(event) for event in kept]
    assert asked.refusals == everything.refusals
    assert asked.left_out == everything.left_out
    assert asked.times.tolist() == everything.times.tolist()


@given(records())
def test_a_schema_is_the_same_in_its_canonical_form(schema: Any) -> None:
    text = json.dumps(schema)
    parsed = parse_record(load_json(text))
    again = parse_record(load_json(canonical_form(schema)))
    assert (parsed.nodes, parsed.bytes_min, parsed.depth) == (again.nodes, again.bytes_min, again.depth)


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_any_bytes_at_all_are_refused_or_decoded(some: list[bytes]) -> None:
    framed = [EVENT_HEADER + bytes_ for bytes_ in some] + some
    result = decoded(framed)
    assert len(result) + len(result.refusals) == len(framed)
    for refusal in result.refusals:
        assert 0 <= refusal.byte <= len(framed[refusal.position])
        assert refusal.reason in Reason


def test_the_encoder_of_these_tests_writes_blocks_of_every_shape() -> None:
    schema = {"type": "array", "items": "int"}
    shapes = {avro_strategies.encode(schema, [1, 2], Random(seed)) for seed in range(100)}
    assert shapes >= {
        b"\x04\x02\x04\x00",
        b"\x03\x04\x02\x04\x00",
        b"\x02\x02\x02\x04\x00",
        b"\x01\x02\x02\x02\x04\x00",
    }
