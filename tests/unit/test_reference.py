"""The reference agrees with the cases, and with itself."""

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from reference import EventProblem, Node, Not, canonical, cases, evaluate, occurrences, parse, score
from strategies import events, expressions, expressions_with_events, print_loosely

PARSE, REFUSE, EVALUATE = cases("parse"), cases("refuse"), cases("evaluate") + cases("match")


def shortened(text: str) -> str:
    return ascii(text if len(text) <= 60 else text[:60] + "...")


def test_cases_are_many_and_no_two_alike() -> None:
    assert len({case["text"] for case in PARSE}) == len(PARSE) >= 150
    assert len({case["text"] for case in REFUSE}) == len(REFUSE) >= 100
    assert len({repr((case["expression"], case["event"])) for case in EVALUATE}) == len(EVALUATE) >= 250


@pytest.mark.parametrize("case", PARSE, ids=lambda case: shortened(case["text"]))
def test_a_text_has_its_canonical_text(case: dict[str, Any]) -> None:
    assert canonical(parse(case["text"])) == case["canonical"]
    assert canonical(parse(case["canonical"])) == case["canonical"]


@pytest.mark.parametrize("case", REFUSE, ids=lambda case: shortened(case["text"]))
def test_a_wrong_text_is_refused_at_its_offending_token(case: dict[str, Any]) -> None:
    with pytest.raises(reference.ReferenceError) as refusal:
        parse(case["text"])
    if case["column"] is not None:
        assert (refusal.value.column, refusal.value.found) == (case["column"], case["found"])


@pytest.mark.parametrize("case", EVALUATE, ids=lambda case: shortened(f"{case['expression']} on {case['event']}"))
def test_an_expression_has_its_truth(case: dict[str, Any]) -> None:
    assert evaluate(parse(case["expression"]), case["event"]) is case["truth"]


@given(expressions())
def test_canonical_text_is_its_own(node: Node) -> None:
    text = canonical(node)
    assert canonical(parse(text)) == text
    assert sum(1 for _ in occurrences(parse(text))) == sum(1 for _ in occurrences(node))


@given(expressions(), st.integers(0, 1 << 32))
def test_spelling_is_nothing_but_spelling(node: Node, seed: int) -> None:
    assert canonical(parse(print_loosely(node, Random(seed)))) == canonical(node)


@given(expressions_with_events())
def test_a_text_means_what_its_tree_means(pair: tuple[Node, dict[str, Any]]) -> None:
    node, event = pair
    parsed = parse(canonical(node))
    assert evaluate(parsed, event) is evaluate(node, event)
    assert score(parsed, event, {}) == score(node, event, {})


@given(expressions(), events())
def test_not_swaps_true_and_false_and_keeps_the_score_of_two(node: Node, event: dict[str, Any]) -> None:
    swapped = {True: False, False: True, None: None}
    assert evaluate(Not(node), event) is swapped[evaluate(node, event)]
    assert score(Not(Not(node)), event, {}) == score(node, event, {})


@pytest.mark.parametrize(
    "text", ["((((", "not " * 16_000 + "a = 1", "(" * 60_000, "a in (" + "1," * 30_000, "`" * 65_535]
)
def test_no_text_recurses(text: str) -> None:
    with pytest.raises(reference.ReferenceError):
        parse(text)


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ({"a": []}, "a"),
        ({"a": b"x"}, "a"),
        ({"a": 1j}, "a"),
        ({"a": 1 << 63}, "a"),
        ({"a": -(1 << 63) - 1}, "a"),
        ({"a": "x\ud800"}, "a"),
        ({"b": 1, "unused": {}}, "unused"),
        ({"\udfff": 1}, "udfff"),
        ({"\udfff": None}, "udfff"),
        ({5: 1}, "5"),
    ],
)
def test_what_is_no_event_names_the_attribute(event: Any, named: str) -> None:
    with pytest.raises(EventProblem, match=named):
        evaluate(parse("b = 1"), event)


def test_the_edges_of_int64_are_events() -> None:
    assert evaluate(parse("a = -9223372036854775808"), {"a": -(1 << 63)})
    assert evaluate(parse("a = 9223372036854775807"), {"a": (1 << 63) - 1})


@pytest.mark.parametrize(
    ("text", "event", "weights", "expected"),
    [
        ("a = 1", {"a": 1}, {}, 1.0),
        ("a = 1", {"a": 2}, {}, 0.0),
        ("a = 1", {}, {}, 0.0),
        ("a = 1 weight 0.4 and b = 2 weight 0.4", {"a": 1, "b": 2}, {}, 0.8),
        ("a = 1 weight 2 or b = 2 weight 3", {"a": 1, "b": 3}, {"a": 0.5, "b": 9}, 1.0),
        ("not a = 1 weight 2", {"a": 1}, {}, 0.0),
        ("not a = 1 weight 2", {"a": 3}, {}, 2.0),
        ("not a = 1 weight 2", {}, {}, 0.0),
        ("not a = 1 weight 2", {"a": "x"}, {}, 0.0),
        ("not (a = 1 and not b = 2 weight 4)", {"a": 5, "b": 2}, {}, 5.0),
        ("a not in (1) weight 2", {"a": 3}, {}, 2.0),
        ("not a not in (1) weight 2", {"a": 3}, {}, 0.0),
        ("a = 1 xor b = 1", {"a": 1, "b": 0}, {}, 1.0),
        ("a = 1 xnor not b = 1", {"a": 1, "b": 0}, {}, 2.0),
        ("a = 1 or a = 1", {"a": 1}, {"a": 0.25}, 0.5),
        ("missing a weight 3 or exists b weight 5", {"b": 1}, {"a": 2, "b": 0}, 6.0),
        ("a = 1 weight 0.1 and a = 1 weight 0.2 and a = 1 weight 0.3", {"a": 1}, {}, (0.1 + 0.2) + 0.3),
        ("a = 1 weight 0.1 and (a = 1 weight 0.2 and a = 1 weight 0.3)", {"a": 1}, {}, (0.1 + 0.2) + 0.3),
        ("a = 1 weight 1e308 and a = 1 weight 1e308", {"a": 1}, {}, math.inf),
    ],
)
def test_a_score_is_the_sum_of_what_speaks_for_it(
    text: str, event: dict[str, Any], weights: dict[str, float], expected: float
) -> None:
    assert score(parse(text), event, weights) == expected
