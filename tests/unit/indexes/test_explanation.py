"""Scores and explanations, by hand; tests/property holds them beside the reference."""

from typing import Any

import pytest

from tamis.indexes.errors import EventError
from tamis.indexes.expressions import parse


@pytest.mark.parametrize(
    ("text", "event", "weights", "expected"),
    [
        ("a = 1", {"a": 1}, {}, 1.0),
        ("a = 1", {"a": 2}, {}, 0.0),
        ("a = 1 weight 0.5", {"a": 1}, {"a": 4}, 2.0),
        ("not a = 1", {"a": 2}, {}, 1.0),
        ("not a = 1", {}, {}, 0.0),  # unknown speaks for nothing
        ("not not a = 1", {"a": 1}, {}, 1.0),
        ("a = 1 or b = 2 weight 3", {"a": 1, "b": 2}, {}, 4.0),  # whatever branch it is in
        ("a = 1 xor b = 2", {"a": 1, "b": 2}, {}, 2.0),
        ("missing a weight 2", {}, {"a": 5}, 10.0),
        ("a = 1 and a = 1", {"a": 1}, {"a": 0}, 0.0),
        ("a = 1 weight 1e16 and b = 1 and c = 1", {"a": 1, "b": 1, "c": 1}, {}, 1e16),  # from left to right
    ],
)
def test_score(text: str, event: dict[str, Any], weights: dict[str, float], expected: float) -> None:
    assert parse(text).score(event, weights) == expected


@pytest.mark.parametrize(
    ("weight", "reason"),
    [(-1, "not below 0"), (float("nan"), "finite"), (10**400, "finite"), ("1", "not str"), (True, "not bool")],
)
def test_a_wrong_weight_is_refused_by_name(weight: Any, reason: str) -> None:
    with pytest.raises(EventError, match=f"'a'.*{reason}"):
        parse("a = 1").score({"a": 1}, {"a": weight})


def test_an_explanation_is_a_tree() -> None:
    tree = parse("a < 5 and not (b = 'x' or exists c)").explain({"a": 7, "b": 1})
    assert (tree.text, tree.verdict, tree.state) == ('a < 5 and not (b = "x" or exists c)', False, None)
    first, negation = tree.children
    assert (first.text, first.verdict, first.state, first.value, first.children) == ("a < 5", False, "value", 7, ())
    (either,) = negation.children
    assert (either.text, either.verdict) == ('b = "x" or exists c', None)
    assert [(part.verdict, part.state, part.value) for part in either.children] == [
        (None, "foreign", 1),
        (False, "missing", None),
    ]


def test_an_explanation_prints_a_line_a_part() -> None:
    assert str(parse("a < 5 or b = 1 xor c = 2").explain({"a": 7.5, "b": "1"})) == (
        "unknown a < 5 or b = 1 xor c = 2\n"
        "false     a < 5  (7.5)\n"
        "unknown   b = 1 xor c = 2\n"
        'unknown     b = 1  ("1", of another type)\n'
        "unknown     c = 2  (missing)"
    )


def test_nan_is_missing() -> None:
    tree = parse("exists a").explain({"a": float("nan")})
    assert (tree.verdict, tree.state, tree.value) == (False, "missing", None)


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(EventError, match="'b'"):
        parse("a = 1").explain({"b": [1]})
    with pytest.raises(EventError, match="'b'"):
        parse("a = 1").score({"b": [1]})
