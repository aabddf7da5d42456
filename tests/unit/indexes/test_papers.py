"""What five papers write, said in the language: the product and the reference both give it the papers' meaning."""

from typing import Any

import pytest

import reference
from reference import cases
from tamis.indexes.expressions import parse

PAPERS = cases("papers")
EVENTS = [(case, given) for case in PAPERS for given in case["events"]]
SCORED = [(case, given) for case, given in EVENTS if "score" in given]

# What the five have between them; `contains`, `exists` and `missing` are in none.
OPERATORS = {
    *("<", "<=", "=", "!=", ">=", ">", "in", "not in", "between", "not between"),
    *("starts with", "ends with", "matches"),
}


def named(case: dict[str, Any], given: Any = None) -> str:
    event = "" if given is None else f" on {given['event']}"
    return ascii(f"{case['paper']} {case['place']}: {case['text']}{event}"[:120])


@pytest.mark.parametrize("case", PAPERS, ids=named)
def test_what_a_paper_writes_has_its_canonical_text(case: dict[str, Any]) -> None:
    expression = parse(case["text"])
    assert expression.text == reference.canonical(reference.parse(case["text"])) == case["canonical"]
    assert parse(case["canonical"]) == expression


@pytest.mark.parametrize(("case", "given"), EVENTS, ids=[named(*pair) for pair in EVENTS])
def test_what_a_paper_writes_has_its_truth(case: dict[str, Any], given: dict[str, Any]) -> None:
    assert parse(case["text"]).evaluate(given["event"]) is given["truth"]
    assert reference.evaluate(reference.parse(case["text"]), given["event"]) is given["truth"]


@pytest.mark.parametrize(("case", "given"), SCORED, ids=[named(*pair) for pair in SCORED])
def test_a_match_has_the_score_of_the_paper(case: dict[str, Any], given: dict[str, Any]) -> None:
    score = reference.score(reference.parse(case["text"]), given["event"], given["weights"])
    assert score == pytest.approx(given["score"], rel=1e-15)
    assert parse(case["text"]).score(given["event"], given["weights"]) == score


def test_no_paper_and_no_operator_of_theirs_is_left_out() -> None:
    assert len({case["paper"] for case in PAPERS}) == 5
    predicates = [predicate for case in PAPERS for predicate in parse(case["text"]).predicates]
    assert {predicate.operator for predicate in predicates} == OPERATORS
    words = {word for case in PAPERS for word in case["canonical"].split()}
    assert {"and", "or", "xor", "xnor", "not", "weight"} <= words
