"""What holds for every workload."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from benchmarks.workloads.columns import matches
from benchmarks.workloads.errors import WorkloadError
from benchmarks.workloads.measures import measured
from benchmarks.workloads.registry import WORKLOADS
from benchmarks.workloads.workload import EVENTS_A_CHUNK, SUBSCRIPTIONS_A_CHUNK, Event, Workload

from tamis.indexes.columnar import parse_many
from tamis.indexes.expressions import parse

SUBSCRIPTIONS = 1_000
SUBSCRIPTIONS_SHARING = 3_000  # a few popular subexpressions count for much
EVENTS = 100
WITH_COLUMNS = [name for name, entry in WORKLOADS.items() if entry.workload.pairs(1) is not None]
MATCHING = {
    "W1": 0.002,
    "W1e": 0.001,
    "W2": 0.001,
    "W3": 0.08,
    "W3s": 0.015,
    "W3x": 0.07,
    "W4": 0.005,
    "W5": 0.001,
    "W6": 0.005,
    "W7": 0.00012,
    "gem-tree": 0.01,
    "op-index": 0.00002,
    "op-index-zipf": 0.0025,
}
"""As docs/workloads.md has them; those in normal forms match too rarely to be counted here."""

every = pytest.mark.parametrize("name", WORKLOADS)


@cache
def workload(name: str) -> Workload:
    return WORKLOADS[name].workload.sized(SUBSCRIPTIONS_SHARING)


@cache
def sample(name: str) -> tuple[list[str], list[Event]]:
    return list(workload(name).subscriptions(SUBSCRIPTIONS)), workload(name).events(EVENTS)


@cache
def facts(name: str) -> dict[str, float]:
    subscriptions = SUBSCRIPTIONS_SHARING if name in ("W3", "W3x", "W4") else SUBSCRIPTIONS
    return measured(list(workload(name).subscriptions(subscriptions)), sample(name)[1], evaluations_max=1)


@every
def test_the_same_seed_gives_the_same_output(name: str) -> None:
    again = replace(workload(name))
    assert list(again.subscriptions(SUBSCRIPTIONS)) == sample(name)[0]
    assert again.events(EVENTS) == sample(name)[1]


@every
def test_another_seed_gives_another_output(name: str) -> None:
    other = replace(workload(name), seed=2)
    assert len(set(other.subscriptions(200)) & set(sample(name)[0][:200])) < 20
    assert not any(event in sample(name)[1] for event in other.events(EVENTS))


@pytest.mark.parametrize("name", ["W1", "W3x", "W4", "W6"])
def test_a_longer_draw_begins_with_a_shorter_one(name: str) -> None:
    subscriptions = list(workload(name).subscriptions(SUBSCRIPTIONS_A_CHUNK + 1))
    assert subscriptions[:SUBSCRIPTIONS] == sample(name)[0]
    assert subscriptions[-1] not in sample(name)[0][:1]
    assert len(subscriptions) == SUBSCRIPTIONS_A_CHUNK + 1
    events = workload(name).events(EVENTS_A_CHUNK + 1)
    assert events[:EVENTS] == sample(name)[1]
    assert events[EVENTS_A_CHUNK] not in events[:EVENTS_A_CHUNK]


@every
def test_every_text_parses(name: str) -> None:
    expressions, errors = parse_many(sample(name)[0])
    assert errors == []
    assert len(expressions) == SUBSCRIPTIONS


@every
def test_the_shape_is_what_the_parameters_ask_for(name: str) -> None:
    for fact, asked in workload(name).asked().items():
        if fact != "matching probability":
            assert facts(name)[fact] == pytest.approx(asked, rel=0.05, abs=0.03), fact


@every
def test_the_shape_is_what_the_paper_says(name: str) -> None:
    for fact, published in WORKLOADS[name].published.items():
        # How many attributes occur, and the extremes, need more subscriptions; matches are counted below.
        if fact.startswith("attributes") or fact.endswith((", most", " sharing")):
            assert facts(name)[fact] <= published * 1.05, fact
        elif fact != "matching probability":
            assert facts(name)[fact] == pytest.approx(published, rel=0.05, abs=0.02), fact


@pytest.mark.parametrize("name", MATCHING)
def test_the_matching_probability_is_what_the_documentation_says(name: str) -> None:
    """Within a factor of 1.25 where it is asked for, of 1.6 where it is left to chance."""
    if name in WITH_COLUMNS:
        conjunctions, pairs = workload(name).conjunctions(8_192), workload(name).pairs(256)
        assert conjunctions is not None
        assert pairs is not None
        found = float(matches(conjunctions, pairs).mean())
    else:
        found = measured(*sample(name), evaluations_max=60_000)["matching probability"]
    factor = 1.25 if "matching probability" in workload(name).asked() else 1.6
    assert MATCHING[name] / factor < found < MATCHING[name] * factor


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_columns_say_what_the_texts_say(name: str) -> None:
    """Sizes of every subscription, and matches, by evaluating the texts on the events."""
    texts, events = sample(name)
    conjunctions, pairs = workload(name).conjunctions(SUBSCRIPTIONS), workload(name).pairs(EVENTS)
    assert conjunctions is not None
    assert pairs is not None
    assert (len(conjunctions), len(pairs)) == (SUBSCRIPTIONS, EVENTS)
    expressions = [parse(text) for text in texts]
    assert np.diff(conjunctions.offsets).tolist() == [len(expression.predicates) for expression in expressions]
    assert np.diff(pairs.offsets).tolist() == [len(event) for event in events]
    answers = matches(conjunctions, pairs)
    likely = np.unique(np.argwhere(answers)[:, 1])[:100].tolist() + list(range(100))
    for event, row in zip(events[:50], answers, strict=False):
        for index in likely:
            assert (expressions[index].evaluate(event) is True) == row[index], texts[index]


@pytest.mark.parametrize("name", sorted(set(WORKLOADS) - set(WITH_COLUMNS)))
def test_what_is_no_conjunction_of_intervals_has_no_columns(name: str) -> None:
    assert workload(name).conjunctions(1) is None


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_no_attribute_comes_twice_in_a_subscription(name: str) -> None:
    conjunctions = workload(name).conjunctions(SUBSCRIPTIONS)
    assert conjunctions is not None
    rows = [conjunctions.attributes[a:b].tolist() for a, b in pairwise(conjunctions.offsets.tolist())]
    assert all(len(set(row)) == len(row) for row in rows)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("W1", {"event_size": 101}, "event_size = 101 is out of range: 1 to 100"),
        ("W1", {"equality_ratio": 1.5}, "equality_ratio = 1.5 is out of range: 0 to 1"),
        ("W2", {"seed": -1}, "seed = -1"),
        ("W3", {"operator_distribution": (0.5, 0.5)}, "operator_distribution"),
        ("W3s", {"root_children": (3, 2)}, "root_children"),
        ("W4", {"dimension_number": 50}, "dimension_number = 50"),
        ("W5", {"cluster_size": 250_000_000}, "cluster_size"),
        ("W6", {"dimensions": 20_000}, "dimensions = 20000"),
        ("W7", {"prefix_share": 2.0}, "prefix_share"),
        ("gem-tree", {"match_rate": -0.1}, "match_rate"),
        ("op-index-cnf", {"normal_form": "anf"}, "normal_form = 'anf'"),
    ],
)
def test_impossible_parameters_are_refused(name: str, change: dict[str, Any], said: str) -> None:
    with pytest.raises(WorkloadError, match=said.replace("(", r"\(")):
        replace(workload(name), **change)
