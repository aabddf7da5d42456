"""The negation-free form, by hand: what its clauses and covers are, and that it stays small."""

import math

import pytest

from tamis.indexes.expressions import parse
from tamis.indexes.normal_form import NormalForm
from tamis.indexes.printing import predicate_text


def clauses(text: str, most: int = 16) -> list[str] | None:
    form = NormalForm(parse(text))
    found = form.clauses(most)
    texts = [predicate_text(predicate) for predicate in form.predicates]
    return None if found is None else [" and ".join(texts[part] for part in clause) for clause in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1", ["a = 1"]),
        ("not a = 1", ["a != 1"]),
        ("not a not in (1, 2)", ["a in (1, 2)"]),
        ("not (a < 5 and exists b)", ["a >= 5", "missing b"]),
        ("a = 1 and (b = 2 or c = 3)", ["a = 1 and b = 2", "a = 1 and c = 3"]),
        ("not (a = 1 or not (b = 2 and c = 3))", ["a != 1 and b = 2 and c = 3"]),
        ("a = 1 xor b = 2", ["a = 1 and b != 2", "a != 1 and b = 2"]),
        ("not (a = 1 xnor b = 2)", ["a = 1 and b != 2", "a != 1 and b = 2"]),
        ("a = 1 weight 3 and a = 1", ["a = 1"]),
        ("a = 1 or (a = 1 and b = 2)", ["a = 1"]),
        ("(a = 1 and b = 2) or (b = 2 and a = 1)", ["a = 1 and b = 2"]),
        ("a = 1 and (a != 1 or b = 2)", ["a = 1 and b = 2"]),
        ("a = 1 and not a = 1", []),
    ],
)
def test_clauses(text: str, expected: list[str]) -> None:
    assert clauses(text) == expected


def test_clauses_are_counted_before_they_are_written() -> None:
    text = " and ".join(f"(a{i} = 1 or b{i} = 1)" for i in range(4))
    assert clauses(text, 15) is None
    assert len(clauses(text, 16) or []) == 16
    # 2**1000 of them: only counting can say so.
    assert clauses(" and ".join(f"(a{i} = 1 or b{i} = 1)" for i in range(1000))) is None


def test_a_long_chain_makes_a_small_graph() -> None:
    form = NormalForm(parse(" xor ".join(f"a{i} = 1" for i in range(1000))))
    assert len(form.predicates) == 2000
    assert len(form.nodes) < 6 * 1000
    assert form.clauses(1000) is None


def test_nested_chains_make_a_small_graph() -> None:
    text = "a = 0"
    for level in range(1, 60):
        text = f"b{level} = {level} xor ({text})"
    form = NormalForm(parse(text))
    assert len(form.nodes) < 6 * 60


def test_a_cover_takes_the_cheapest_of_and_all_of_or() -> None:
    form = NormalForm(parse("a = 1 and (b = 2 or c = 3)"))
    assert [p.attribute for p in form.predicates] == ["a", "b", "c"]
    assert form.cover([1, 2, 3]) == (0,)
    assert form.cover([9, 2, 3]) == (1, 2)
    assert form.cover([math.inf, 2, 3]) == (1, 2)
    assert form.cover([math.inf, 2, math.inf]) is None


def test_a_cover_needs_a_cost_for_each_predicate() -> None:
    with pytest.raises(ValueError, match="there are 1 predicates, but 2 costs"):
        NormalForm(parse("a = 1")).cover([1, 2])


def test_the_most_predicates_in_one_conjunction() -> None:
    form = NormalForm(parse(" and ".join(f"a{i} = 1" for i in range(4096))))
    assert form.clauses() == [tuple(range(4096))]
