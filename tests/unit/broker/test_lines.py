"""Subscriptions and events as lines of JSON: what is taken, and what is said of the rest."""

import io
import math
from typing import Any

import pytest

from tamis.broker import json_lines
from tamis.broker.errors import InvalidError
from tamis.broker.event_lines import attributes_of, outgoing, value_of
from tamis.broker.json_lines import LineError, numbered_lines
from tamis.broker.subscription_lines import Numbered, parsed_lines
from tamis.codecs.event import Event
from tamis.codecs.subscription import Subscription, default_name
from tamis.indexes import Limits


def subscriptions_of(*lines: str, limits: Limits | None = None) -> tuple[list[Numbered], list[tuple[int, str]]]:
    source = io.BytesIO("\n".join(lines).encode(errors="surrogatepass"))
    good, wrong = [], []
    for some, refused in parsed_lines(numbered_lines(source), limits or Limits()):
        good += some
        wrong += [(one.line, one.reason) for one in refused]
    return good, wrong


class TestLines:
    def test_blank_lines_are_counted_and_skipped(self) -> None:
        assert list(numbered_lines(io.BytesIO(b"a\n\n  \t\nb"))) == [(1, b"a\n"), (4, b"b")]

    def test_a_line_that_is_too_long_is_one_wrong_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_lines, "LINE_BYTES_MAX", 40)
        good, wrong = subscriptions_of("x" * 1000, '{"subscriber": "a", "expression": "b=1"}')
        assert [one.line for one in good] == [2]
        assert wrong == [(1, "it is longer than 40 bytes")]


class TestSubscriptions:
    def test_what_is_not_given_has_a_default(self) -> None:
        good, wrong = subscriptions_of(
            '{"subscriber": "ann", "expression": "price  < 5"}',
            '{"subscriber": "ann", "name": "n", "expression": "b=1", "tags": {"t": "v"}, "scores":true, "paused":"y"}',
            '{"subscriber": "ann", "name": null, "expression": "b=1", "tags": null, "scores": null, "paused": null}',
        )
        assert wrong == []
        assert [(one.line, one.subscription) for one in good] == [
            (1, Subscription("ann", default_name("price < 5"), "price  < 5")),
            (2, Subscription("ann", "n", "b=1", {"t": "v"}, scores=True, paused="y")),
            (3, Subscription("ann", default_name("b = 1"), "b=1")),
        ]
        assert [Subscription.decode(one.value) for one in good] == [one.subscription for one in good]

    def test_each_wrong_line_is_told_with_its_number_and_spares_the_others(self) -> None:
        good, wrong = subscriptions_of(
            '{"subscriber": "ann", "expression": "price < "}',
            '{"subscriber": "ann", "expression": "price < 1"}',
            "not json",
            '{"subscriber": "a_b", "expression": "price < 1"}',
            '{"subscriber": "ann", "expression": "price < 2"}',
        )
        assert [(one.line, one.subscription.name) for one in good] == [
            (2, default_name("price < 1")),
            (5, default_name("price < 2")),
        ]
        assert [line for line, _ in wrong] == [1, 3, 4]
        assert "column 9: the end of the text stands where" in wrong[0][1]

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("[]", "a line is a JSON object, not []"),
            ('{"subscriber": "a"} {}', "something follows the object at column 20"),
            ('{"subscriber": "a", "expression": NaN}', "it is not JSON: NaN"),
            ('{"expression": "b = 1"}', "'subscriber' is missing"),
            ('{"subscriber": null, "expression": "b = 1"}', "'subscriber' is missing"),
            ('{"subscriber": "a"}', "'expression' is missing"),
            ('{"subscriber": 5, "expression": "b = 1"}', "'subscriber' is a string, not 5"),
            ('{"subscriber": "a", "expression": "b = 1", "scores": 1}', "'scores' is true or false, not 1"),
            ('{"subscriber": "a", "expression": "b = 1", "tags": []}', "'tags' is an object, not []"),
            ('{"subscriber": "a", "expression": "b = 1", "tags": {"t": 1}}', "the tag 't' is a string, not 1"),
            ('{"subscriber": "a", "expresion": "b = 1"}', "did you mean 'expression'?"),
            ('{"subscriber": "a", "name": "x y", "expression": "b = 1"}', "not 'x y'"),
            ('{"subscriber": "a", "expression": "b = \\ud800"}', "surrogate"),
            ('{"subscriber": "a", "expression": "b = 1", "tags": {"t": "\\ud800"}}', "lone surrogate"),
            ("[" * 100_000, "it is nested too deeply"),
            ('{"subscriber": "a", "expression": ' + "9" * 5000 + "}", "it cannot be read"),
            ('{"subscriber": "\udcff"}', "it is not UTF-8"),
        ],
    )
    def test_what_is_wrong_with_a_line_is_told(self, line: str, reason: str) -> None:
        good, wrong = subscriptions_of(line)
        assert good == []
        assert len(wrong) == 1
        assert reason in wrong[0][1]

    def test_the_limits_are_the_layouts(self) -> None:
        line = '{"subscriber": "a", "expression": "b = 1 and c = 2"}'
        assert subscriptions_of(line)[1] == []
        assert "too many predicates" in subscriptions_of(line, limits=Limits(predicates=1))[1][0][1]


class TestEvents:
    def test_an_event_has_what_the_line_says(self) -> None:
        made = outgoing(
            '{"attributes": {"a": 1, "b": 1.5, "c": "x", "d": true, "e": null}, "id": "7", '
            '"time": "2026-11-18T08:00:00Z", "weights": {"a": 2}, "key": "k"}'
        )
        assert made.key == b"k"
        event = Event.decode(made.value)
        assert event == Event("7", 1794988800000000, {"a": 1, "b": 1.5, "c": "x", "d": True}, {"a": 2.0})

    def test_what_it_does_not_say_is_new(self) -> None:
        first, second = (Event.decode(outgoing('{"attributes": {}}').value) for _ in range(2))
        assert first.id != second.id
        assert abs(second.time / 1e6 - __import__("time").time()) < 60
        assert outgoing('{"attributes": {}}').key is None

    @pytest.mark.parametrize(("time", "micros"), [("-5", -5), ('"1970-01-01T00:00:01"', 10**6)])
    def test_times_are_microseconds_or_texts_in_utc(self, time: str, micros: int) -> None:
        assert Event.decode(outgoing(f'{{"attributes": {{}}, "time": {time}}}').value).time == micros

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ('{"price": 5}', "'price' is none of its keys, which are attributes, id"),
            ('{"id": "x"}', "'attributes' is missing"),
            ('{"attributes": [1]}', "'attributes' is an object, not [1]"),
            ('{"attributes": {"a": {"b": 1}}}', "attribute 'a': a value is"),
            ('{"attributes": {"a": 9223372036854775808}}', "attribute 'a'"),
            ('{"attributes": {"a": "\\ud800"}}', "surrogate"),
            ('{"attributes": {}, "weights": {"a": -1}}', "attribute 'a': a weight is finite and not below 0"),
            ('{"attributes": {}, "id": 5}', "'id' is a string, not 5"),
            ('{"attributes": {}, "time": "noon"}', "'time' is microseconds since 1970"),
            ('{"attributes": {}, "time": 1.5}', "'time' is microseconds since 1970"),
            ('{"attributes": {}, "time": 99999999999999999999}', "'time' does not fit 64 bits"),
            ('{"attributes": {}, "key": "\\ud800"}', "the key"),
        ],
    )
    def test_what_is_wrong_with_a_line_is_told(self, line: str, reason: str) -> None:
        with pytest.raises(LineError) as raised:
            outgoing(line)
        assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("5", 5), ("-5", -5), ("5.0", 5), ("1.5", 1.5), ("1e3", 1000), ("true", True), ("FALSE", False)],
        *[
            ('"5"', "5"),
            ("'a b'", "a b"),
            ('"a\\nb"', "a\nb"),
            ("", ""),
            ("eu", "eu"),
            ("a b", "a b"),
            ("null", "null"),
        ],
        *[
            ("5, 6", "5, 6"),
            ("5 weight 1", "5 weight 1"),
            ("5 or x = 5", "5 or x = 5"),
            ("5) or x in (5", "5) or x in (5"),
        ],
        *[('"open', '"open'), ("99999999999999999999", "99999999999999999999"), ("x", "x"), ("(5)", "(5)")],
    ],
)
def test_a_constant_of_the_language_is_its_value_and_all_else_a_string(text: str, value: Any) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_attributes_are_given_one_by_one() -> None:
    assert attributes_of(["price=5", "region=eu", "note=a=b"]) == {"price": 5, "region": "eu", "note": "a=b"}
    with pytest.raises(InvalidError, match="'price' is given twice"):
        attributes_of(["price=5", "price=6"])
    for wrong in ("price", "=5"):
        with pytest.raises(InvalidError, match="write name=value"):
            attributes_of([wrong])


def test_no_infinity_is_made_of_text() -> None:
    with pytest.raises(LineError):
        outgoing('{"attributes": {"a": Infinity}}')
    assert Event.decode(outgoing('{"attributes": {"a": 1e999}}').value).attributes["a"] == math.inf
