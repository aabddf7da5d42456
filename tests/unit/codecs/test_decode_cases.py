"""Messages that are hostile, broken or at a border, each with what it must give: tests/cases/decode.json."""

import json
from typing import Any

import pytest

import reference
from decoding import avro_bytes, decoded, messages, own, raw, written_out
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.limits import DecodingLimits
from tamis.codecs.messages import EventFormat, Framing
from tamis.codecs.reasons import Reason
from tamis.indexes import create

CASES = reference.cases("decode")
GOOD = b'{"before":"and behind"}'
UNMET = {Reason.NO_VALUE, Reason.UNUSABLE_SCHEMA, Reason.POISON}
"""That no bytes alone can bring about."""


def bytes_of(case: dict[str, Any]) -> bytes:
    return case["text"].encode() if "text" in case else bytes.fromhex(case["hex"])


def format_of(case: dict[str, Any]) -> EventFormat:
    given = dict(case.get("format", {"framing": "detect"}))
    if "schema" in given:
        given["schema"] = json.dumps(given["schema"])
    return EventFormat(Framing(given.pop("framing")), **given)


def expected(case: dict[str, Any]) -> dict[str, Any]:
    return {name: float("inf") if value == "inf" else value for name, value in case["event"].items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_a_message_gives_what_its_case_says(case: dict[str, Any]) -> None:
    decoder = EventDecoder(limits=DecodingLimits(**case.get("limits", {})))
    result = decoder.decode(messages([bytes_of(case)], format_of(case)))
    if "reason" in case:
        assert len(result) == len(result.batch) == 0
        (refusal,) = result.refusals
        assert (refusal.reason, refusal.byte) == (case["reason"], case["byte"])
        assert refusal.position == 0
    else:
        assert result.refusals == []
        assert written_out(own(result.batch[0])) == written_out(expected(case))
        left_out = {"reserved": 0, "collisions": 0, "arrays": 0, "binaries": 0} | case.get("left_out", {})
        assert vars(result.left_out) == left_out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_a_message_is_no_other_where_nobody_asks_about_it(case: dict[str, Any]) -> None:
    decoder = EventDecoder(limits=DecodingLimits(**case.get("limits", {})))
    index = create("scan")
    result = decoder.decode(messages([bytes_of(case)], format_of(case)), index.vocabulary)
    if "reason" in case:
        assert [(refusal.reason, refusal.byte) for refusal in result.refusals] == [(case["reason"], case["byte"])]
    else:
        assert list(result.batch) == [{}]
        assert vars(result.left_out) | case.get("left_out", {}) == vars(result.left_out)
    assert len(index.vocabulary) == 0


def test_a_message_leaves_its_neighbours_as_they_are() -> None:
    """Each between two that are good, all in one batch, one group for each format."""
    decoder = EventDecoder()
    groups = []
    for case in CASES:
        if "limits" not in case:
            groups.append(messages([bytes_of(case)], format_of(case)))
            groups.append(messages([GOOD]))
    result = decoder.decode(groups)
    told = {refusal.position: refusal for refusal in result.refusals}
    events = dict(zip(result.positions.tolist(), result.batch, strict=True))
    position = 0
    for case in CASES:
        if "limits" in case:
            continue
        if "reason" in case:
            assert (told[position].reason, told[position].byte) == (case["reason"], case["byte"]), case["why"]
        else:
            assert written_out(own(events[position])) == written_out(expected(case)), case["why"]
        assert own(events[position + 1]) == {"before": "and behind"}, case["why"]
        position += 2
    assert position == len(told) + len(events)


@pytest.mark.parametrize("case", [case for case in CASES if "event" in case], ids=lambda case: case["why"])
def test_a_good_message_cut_short_is_refused(case: dict[str, Any]) -> None:
    stripped = bytes_of(case).rstrip()
    decoder = EventDecoder(limits=DecodingLimits(**case.get("limits", {})))
    result = decoder.decode(messages([stripped[:end] for end in range(len(stripped))], format_of(case)))
    assert len(result) == 0
    # A number without its fraction may be too large, and half of a surrogate pair stands alone.
    may_be = {Reason.TRUNCATED, Reason.OVERFLOW, Reason.LONE_SURROGATE}
    assert {refusal.reason for refusal in result.refusals} <= may_be


def test_every_reason_has_a_case() -> None:
    assert {case["reason"] for case in CASES if "reason" in case} == set(Reason) - UNMET


def test_a_reason_is_told_with_its_place() -> None:
    refusals = decoded([GOOD, None, b"{"]).refusals
    assert [str(refusal) for refusal in refusals] == [
        "message 1: the record has no value (byte 0)",
        "message 2: it ends too early (byte 1)",
    ]


def test_a_record_of_many_empty_fields_costs_no_more_than_its_bytes() -> None:
    """Fields without bytes are no steps: a million of them in items of one byte would take seconds."""
    empty = [{"name": f"n{number}", "type": "null"} for number in range(1000)]
    item = {"type": "record", "name": "Item", "fields": [{"name": "b", "type": "boolean"}, *empty]}
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": item}}]}
    count = 500_000
    value = {"a": [{"b": True, **{field["name"]: None for field in empty}}]}
    one = avro_bytes(schema, value)
    assert one == b"\x02\x01\x00"
    many = avro_bytes("long", count) + b"\x01" * count + b"\x00"
    result = decoded([many], raw(schema))
    assert len(result) == 1
