"""Random expressions, texts and events: the product beside the reference, which shares no code with it."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from strategies import events, expressions, expressions_with_events, print_loosely
from tamis.indexes.columnar import parse_many
from tamis.indexes.errors import EventError, ExpressionError
from tamis.indexes.expressions import parse

FRAGMENTS = (
    *("a", "b", "`c d`", "$topic", "not", "and", "or", "xor", "xnor", "(", ")", ",", "in", "between", "starts", "with"),
    *(
        "contains",
        "matches",
        "exists",
        "missing",
        "weight",
        "true",
        "=",
        "!=",
        "<",
        "<=",
        ">=",
        "1",
        "-2",
        "2.5",
        "1e400",
    ),
    *('"x"', "'y'", '"\\u00e9"', '"\\q"', '"', "`", "is", "\n", "é", "00", "1.", "9223372036854775808", "!"),
)


@given(expressions())
def test_canonical_text_is_its_own(node: reference.Node) -> None:
    text = reference.canonical(node)
    assert parse(text).text == text


@given(expressions(), st.integers(0, 2**32))
def test_spelling_makes_no_difference(node: reference.Node, seed: int) -> None:
    expression = parse(print_loosely(node, Random(seed)))
    assert expression.text == reference.canonical(node)
    assert expression == parse(expression.text)


@given(expressions_with_events(), events())
def test_an_expression_means_what_its_tree_means(
    pair: tuple[reference.Node, dict[str, Any]], any_: dict[str, Any]
) -> None:
    """On an event near its operands, and on any."""
    node, near = pair
    expression = parse(reference.canonical(node))
    for event in (near, any_):
        assert expression.evaluate(event) is reference.evaluate(node, event)


@given(expressions_with_events(), st.data())
def test_a_score_is_the_sum_of_what_speaks_for_the_expression(
    example: tuple[reference.Node, dict[str, Any]], data: st.DataObject
) -> None:
    node, event = example
    names = st.sampled_from(sorted({predicate.attribute for predicate, _ in reference.occurrences(node)}))
    weights = data.draw(st.dictionaries(names, st.floats(0, 1e6)))
    assert parse(reference.canonical(node)).score(event, weights) == reference.score(node, event, weights)


@given(expressions_with_events())
def test_an_explanation_says_what_each_part_comes_to(example: tuple[reference.Node, dict[str, Any]]) -> None:
    node, event = example
    parts = [parse(reference.canonical(node)).explain(event)]
    assert parts[0].text == reference.canonical(node)
    for part in parts:
        parts.extend(part.children)
        assert part.verdict is reference.evaluate(reference.parse(part.text), event)


@given(expressions())
def test_predicates_are_those_of_the_tree_from_left_to_right(node: reference.Node) -> None:
    found = parse(reference.canonical(node)).predicates
    expected = [predicate for predicate, _negated in reference.occurrences(node)]
    assert [(p.attribute, p.operator, p.weight) for p in found] == [
        (p.attribute, p.operator, p.weight) for p in expected
    ]


@given(st.lists(expressions(), max_size=20))
def test_many_expressions_at_once_are_the_same(nodes: list[reference.Node]) -> None:
    texts = [reference.canonical(node) for node in nodes]
    together, errors = parse_many(texts)
    assert errors == []
    assert [expression.text for expression in together] == texts
    assert list(together) == [parse(text) for text in texts]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12), st.sampled_from(["", " "]))
def test_any_text_is_taken_or_refused_as_by_the_grammar(fragments: list[str], space: str) -> None:
    assert_same_verdict(space.join(fragments))


@given(expressions(), st.randoms(use_true_random=False))
def test_a_text_with_an_error_is_refused_as_by_the_grammar(node: reference.Node, random: Random) -> None:
    text = reference.canonical(node)
    start = random.randrange(len(text) + 1)
    end = min(len(text), start + random.randrange(3))
    assert_same_verdict(text[:start] + random.choice(["", " ", *FRAGMENTS]) + text[end:])


@given(st.text())
def test_no_text_whatever_does_harm(text: str) -> None:
    assert_same_verdict(text)


def assert_same_verdict(text: str) -> None:
    try:
        expected = reference.canonical(reference.parse(text))
    except reference.ReferenceError:
        with pytest.raises(ExpressionError) as refusal:
            parse(text)
        assert 1 <= refusal.value.column <= len(text) + 1
        assert str(refusal.value)
        ((position, error),) = parse_many([text])[1]
        assert (position, str(error)) == (0, str(refusal.value))
    else:
        assert parse(text).text == expected


@given(st.dictionaries(st.text(max_size=3), st.one_of(st.integers(), st.floats(), st.text(), st.binary(), st.none())))
def test_an_event_is_taken_or_refused_as_by_the_reference(event: dict[str, Any]) -> None:
    expression = parse("exists a or b = 1")
    try:
        expected = reference.evaluate(reference.parse("exists a or b = 1"), event)
    except reference.EventProblem:
        with pytest.raises(EventError):
            expression.evaluate(event)
    else:
        assert expression.evaluate(event) is expected
