"""Every case with a known truth, through every engine, in every way that an expression gets into an index."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from reference import cases
from tamis.indexes.batch import EventBatch
from tamis.indexes.columnar import parse_many
from tamis.indexes.engines import create, load
from tamis.indexes.expressions import parse
from tamis.indexes.index import Index


class Case(NamedTuple):
    text: str
    event: dict[str, Any]
    is_match: bool


def known() -> Iterator[Case]:
    for case in (*cases("evaluate"), *cases("match")):
        yield Case(case["expression"], case["event"], case["truth"] is True)
    for case in cases("papers"):
        for given in case["events"]:
            yield Case(case["text"], given["event"], given["truth"] is True)


CASES = list(known())
EVENTS = [case.event for case in CASES]
EXPECTED = np.array([case.is_match for case in CASES])
TEXTS = [case.text for case in CASES]
OTHER = "`another attribute` = 1 and exists a or missing `another attribute` and a = 5"
SCATTERED = np.arange(1, len(CASES) * 7919, 7919, dtype=np.uint32)
NUMBERS: list[int] = SCATTERED.tolist()


def own_event_matches(index: Index, batch: EventBatch, ids: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Of each case, whether its event matched the expression that stands under its id."""
    matches = index.match_batch(batch)
    assert matches.events == len(CASES)
    return np.array([number in found for number, found in zip(ids, matches, strict=True)])


def one_by_one(index: Index) -> None:
    for number, text in zip(NUMBERS, TEXTS, strict=True):
        index.insert(number, text)


def at_once(index: Index) -> None:
    index.insert_many(SCATTERED, TEXTS)


def from_columns(index: Index) -> None:
    expressions, errors = parse_many(TEXTS)
    assert not errors
    index.insert_many(SCATTERED, expressions)


def as_expressions(index: Index) -> None:
    index.insert_many(SCATTERED, [parse(text) for text in TEXTS])


def in_place_of_another(index: Index) -> None:
    for number in NUMBERS:
        index.insert(number, OTHER)
    at_once(index)


def in_place_of_the_next(index: Index) -> None:
    """What was there before mentions the same attributes and operands."""
    index.insert_many(SCATTERED, [*TEXTS[1:], TEXTS[0]])
    one_by_one(index)


def among_others_that_left(index: Index) -> None:
    for number, text in zip(NUMBERS, TEXTS, strict=True):
        index.insert(number + 1, OTHER)
        index.insert(number, text)
    for number in NUMBERS:
        index.delete(number + 1)
    index.maintain()


def in_reverse_beside_others(index: Index) -> None:
    index.insert(2**32 - 1, OTHER)
    for number, text in zip(NUMBERS[::-1], TEXTS[::-1], strict=True):
        index.insert(number, text)


WAYS = [
    one_by_one,
    at_once,
    from_columns,
    as_expressions,
    in_place_of_another,
    in_place_of_the_next,
    among_others_that_left,
    in_reverse_beside_others,
]


def test_cases_match_and_do_not() -> None:
    assert 300 < EXPECTED.sum() < len(CASES) - 300


@pytest.mark.parametrize("way", WAYS)
def test_every_case_has_its_truth_in_a_batch(engine: str, way: Callable[[Index], None]) -> None:
    index = create(engine)
    way(index)
    for vocabulary in (None, index.vocabulary):
        batch = EventBatch.from_events(EVENTS, vocabulary=vocabulary)
        assert np.array_equal(own_event_matches(index, batch, SCATTERED), EXPECTED)


def test_every_case_has_its_truth_alone(engine: str) -> None:
    index = create(engine)
    wrong = []
    for case in CASES:
        index.insert(7, case.text)
        if index.match(case.event).tolist() != [7] * case.is_match:
            wrong.append(case)
        assert index[7] == parse(case.text)
        index.delete(7)
        assert index.match(case.event).size == 0
    assert wrong == []


def test_every_case_has_its_truth_after_the_one_before(engine: str) -> None:
    """One id, one expression after the other: nothing of the last one is left."""
    index = create(engine)
    wrong = []
    for case, before in zip(CASES, [CASES[-1], *CASES], strict=False):
        index.insert(0, case.text)
        ids = [0] * case.is_match
        of_the_last = [0] * (parse(case.text).evaluate(before.event) is True)
        if (index.match(case.event).tolist(), index.match(before.event).tolist()) != (ids, of_the_last):
            wrong.append((case, before))
    assert wrong == []


def test_every_case_has_its_truth_after_saving(engine: str, other_engine: str, tmp_path: Path) -> None:
    index = create(engine)
    at_once(index)
    index.save(tmp_path / "snapshot")
    loaded = load(tmp_path / "snapshot", other_engine)
    assert np.array_equal(loaded.ids(), SCATTERED)
    assert np.array_equal(own_event_matches(loaded, EventBatch.from_events(EVENTS), SCATTERED), EXPECTED)
    for number, text in islice(zip(NUMBERS, TEXTS, strict=True), 0, None, 2):
        loaded.insert(number, text)
    assert np.array_equal(own_event_matches(loaded, EventBatch.from_events(EVENTS), SCATTERED), EXPECTED)


SCORED = [
    (case["text"], given["event"], given["weights"], given["score"])
    for case in cases("papers")
    for given in case["events"]
    if "score" in given
]


@pytest.mark.parametrize(("text", "event", "weights", "score"), SCORED)
def test_a_match_has_the_score_of_its_paper(
    engine: str, text: str, event: dict[str, Any], weights: Mapping[str, float], score: float
) -> None:
    index = create(engine)
    index.insert(3, text)
    ids, scores = index.top_k(event, 1, weights)
    if parse(text).evaluate(event) is not True:
        assert ids.size == 0
        return
    assert ids.tolist() == [3]
    assert scores.tolist() == [pytest.approx(score, rel=1e-15)]
    batch = EventBatch.from_events([event], weights=[weights])
    matches = index.match_batch(batch, scores=True)
    assert matches.scores is not None
    assert matches.scores.tolist() == scores.tolist()
