"""Random JSON: what is decoded is what the standard library reads, and what it refuses is refused."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from decoding import NotDecodable, decoded, flattened, json_value, own, written_out
from tamis.codecs.messages import EventFormat, Framing
from tamis.codecs.reasons import Reason

JSON_EVENTS = EventFormat(Framing.JSON)
KEYS = st.sampled_from(("a", "b", "a.b", "", "$x", 'q"', "é", "k" * 16, "k" * 20)) | st.text(max_size=4)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXTS
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=6)
PIECES = (
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    '"a"',
    '"b"',
    "1",
    "-",
    "0",
    ".5",
    "e3",
    "true",
    "null",
    " ",
    "\\u0041",
    "\\",
)


def expectation(data: bytes) -> list[tuple[str, str]] | None:
    """None: not decodable."""
    try:
        return written_out(flattened(json_value(data)))
    except NotDecodable:
        return None


def check(some: list[bytes]) -> None:
    result = decoded(some, JSON_EVENTS)
    found: dict[int, Any] = {refusal.position: None for refusal in result.refusals}
    found |= {
        position: written_out(own(event))
        for position, event in zip(result.positions.tolist(), result.batch, strict=True)
    }
    assert [found[position] for position in range(len(some))] == [expectation(data) for data in some]


@given(st.lists(OBJECTS, max_size=4), st.booleans(), st.sampled_from((None, 1)))
def test_an_object_is_decoded_as_the_standard_library_reads_it(
    some: list[Any],
    ensure_ascii: bool,  # noqa: FBT001 - hypothesis fills it
    indent: int | None,
) -> None:
    texts = [json.dumps(value, ensure_ascii=ensure_ascii, indent=indent) for value in some]
    check([text.encode(errors="surrogatepass") for text in texts])


@given(OBJECTS, st.data())
def test_text_that_was_changed_gives_what_the_standard_library_reads_or_nothing(
    value: Any, data: st.DataObject
) -> None:
    whole = bytearray(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    check([bytes(whole), bytes(whole[: data.draw(st.integers(0, len(whole)))])])


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12), max_size=6))
def test_pieces_of_json_in_any_order_are_taken_or_refused_as_by_the_standard_library(some: list[list[str]]) -> None:
    check([("{" + "".join(pieces) + "}").encode() for pieces in some])


@given(st.from_regex(r"-?[0-9]{0,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{0,4})?", fullmatch=True))
def test_a_number_is_the_standard_library_s(digits: str) -> None:
    check([f'{{"a":{digits}}}'.encode(), f'{{"a":[{digits}]}}'.encode()])


@given(st.integers(0, 2**53 + 2), st.integers(-330, 310), st.sampled_from(("", "-")))
def test_a_double_is_the_nearest(digits: int, exponent: int, sign: str) -> None:
    check([f'{{"a":{sign}{digits}e{exponent}}}'.encode(), f'{{"a":{digits / 1000}}}'.encode()])


@given(st.integers(1, 200))
def test_depth_has_its_limit(depth: int) -> None:
    objects = '{"a":' * depth + "1" + "}" * depth
    arrays = '{"a":' + "[" * (depth - 1) + "1" + "]" * (depth - 1) + "}"
    result = decoded([objects.encode(), arrays.encode()], JSON_EVENTS)
    assert [refusal.reason for refusal in result.refusals] == ([Reason.TOO_DEEP] * 2 if depth > 64 else [])
