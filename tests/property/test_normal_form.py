"""The negation-free form: true exactly where the expression is, and so are its clauses; a cover misses nothing."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import reference
from strategies import expressions_with_events
from tamis.indexes.expressions import parse
from tamis.indexes.normal_form import NormalForm
from tamis.indexes.printing import predicate_text

CLAUSES = st.sampled_from([1, 2, 16, 1000])


def truths(form: NormalForm, event: dict[str, Any]) -> list[bool]:
    """Of each part, by its number: whether it is true."""
    found = [reference.evaluate(reference.parse(predicate_text(p)), event) is True for p in form.predicates]
    joins: dict[str, Callable[[Any], bool]] = {"and": all, "or": any}
    for kind, parts in form.nodes:
        found.append(joins[kind](found[part] for part in parts))
    return found


@given(expressions_with_events())
def test_it_is_true_where_the_expression_is(example: tuple[reference.Node, dict[str, Any]]) -> None:
    node, event = example
    form = NormalForm(parse(reference.canonical(node)))
    assert truths(form, event)[form.root] == (reference.evaluate(node, event) is True)


@given(expressions_with_events(), CLAUSES)
def test_a_clause_is_true_where_the_expression_is(example: tuple[reference.Node, dict[str, Any]], most: int) -> None:
    node, event = example
    form = NormalForm(parse(reference.canonical(node)))
    clauses = form.clauses(most)
    if clauses is None:
        return
    assert len(clauses) <= most
    found = truths(form, event)
    assert any(all(found[part] for part in clause) for clause in clauses) == found[form.root]


@given(expressions_with_events(), st.data())
def test_one_of_a_cover_is_true_where_the_expression_is(
    example: tuple[reference.Node, dict[str, Any]], data: st.DataObject
) -> None:
    node, event = example
    form = NormalForm(parse(reference.canonical(node)))
    count = len(form.predicates)
    costs = data.draw(st.lists(st.floats(0, 10) | st.just(float("inf")), min_size=count, max_size=count))
    cover = form.cover(costs)
    if cover is None:
        return
    assert all(costs[part] < float("inf") for part in cover)
    found = truths(form, event)
    assert not found[form.root] or any(found[part] for part in cover)


@given(expressions_with_events())
def test_it_holds_each_part_once(example: tuple[reference.Node, dict[str, Any]]) -> None:
    form = NormalForm(parse(reference.canonical(example[0])))
    assert len(set(map(predicate_text, form.predicates))) == len(form.predicates)
    assert len(set(form.nodes)) == len(form.nodes)
    for number, (kind, parts) in enumerate(form.nodes, len(form.predicates)):
        assert 2 <= len(parts) == len(set(parts))
        assert max(parts) < number
        assert kind not in {
            form.nodes[part - len(form.predicates)][0] for part in parts if part >= len(form.predicates)
        }
