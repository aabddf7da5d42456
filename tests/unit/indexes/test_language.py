"""The language as the product speaks it, against the cases that the reference was proven by."""

from random import Random
from typing import Any

import pytest

from reference import cases
from tamis.indexes.columnar import parse_many
from tamis.indexes.errors import ExpressionError
from tamis.indexes.expressions import parse

PARSE, REFUSE, EVALUATE = cases("parse"), cases("refuse"), cases("evaluate") + cases("match")


def shortened(text: str) -> str:
    return ascii(text if len(text) <= 60 else text[:60] + "...")


@pytest.mark.parametrize("case", PARSE, ids=lambda case: shortened(case["text"]))
def test_a_text_has_its_canonical_text(case: dict[str, Any]) -> None:
    expression = parse(case["text"])
    assert expression.text == case["canonical"]
    again = parse(case["canonical"])
    assert again == expression
    assert hash(again) == hash(expression)
    assert again.text == case["canonical"]


@pytest.mark.parametrize("case", REFUSE, ids=lambda case: shortened(case["text"]))
def test_a_wrong_text_is_refused_at_its_offending_token(case: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError) as refusal:
        parse(case["text"])
    if case["column"] is not None:
        assert (refusal.value.column, refusal.value.found) == (case["column"], case["found"])


@pytest.mark.parametrize("case", EVALUATE, ids=lambda case: shortened(f"{case['expression']} on {case['event']}"))
def test_an_expression_has_its_truth(case: dict[str, Any]) -> None:
    assert parse(case["expression"]).evaluate(case["event"]) is case["truth"]


def test_many_at_once_are_what_they_are_one_by_one() -> None:
    mixed = Random(7).sample(PARSE + REFUSE, len(PARSE) + len(REFUSE))
    texts = [case["text"] for case in mixed]
    expressions, errors = parse_many(texts)
    assert [expression.text for expression in expressions] == [
        case["canonical"] for case in mixed if "canonical" in case
    ]
    assert list(expressions) == [parse(case["text"]) for case in mixed if "canonical" in case]
    assert [position for position, _error in errors] == [at for at, case in enumerate(mixed) if "why" in case]
    for position, error in errors:
        with pytest.raises(ExpressionError) as alone:
            parse(texts[position])
        assert str(error) == str(alone.value)
