"""What each paper's generator promises beyond its shape."""

import re

import numpy as np
import pytest
from benchmarks.workloads.abe_gen import ABEGen
from benchmarks.workloads.ads import AdsLike
from benchmarks.workloads.be_gen import BEGen
from benchmarks.workloads.be_gen_clusters import BEGenClusters
from benchmarks.workloads.columns import Conjunctions, Pairs, matches
from benchmarks.workloads.errors import WorkloadError
from benchmarks.workloads.gem_tree import GemTree
from benchmarks.workloads.intervals import IntervalWorkload
from benchmarks.workloads.measures import measured, nodes
from benchmarks.workloads.op_index import OpIndexClauses
from benchmarks.workloads.op_index_prefix import OpIndexPrefix
from benchmarks.workloads.query_logs import QueryLogs

from tamis.indexes.expressions import parse


def columns(workload: IntervalWorkload, subscriptions: int = 8_000, events: int = 512) -> tuple[Conjunctions, Pairs]:
    conjunctions, pairs = workload.conjunctions(subscriptions), workload.pairs(events)
    assert conjunctions is not None
    assert pairs is not None
    return conjunctions, pairs


@pytest.mark.parametrize("wanted", [0.003, 0.02, 0.1, 0.5])
def test_be_gen_reaches_the_papers_range_of_matching_probabilities(wanted: float) -> None:
    found = float(matches(*columns(BEGen(matching_probability=wanted))).mean())
    assert wanted / 1.2 < found < wanted * 1.2


def test_a_matching_probability_out_of_reach_is_refused() -> None:
    with pytest.raises(WorkloadError, match=r"0\.9 cannot be reached"):
        list(BEGen(matching_probability=0.9).subscriptions(1))


def test_below_what_chance_gives_nothing_is_seeded() -> None:
    assert BEGen(matching_probability=0.0).seeds is None
    assert BEGen(matching_probability=0.01).seeds is not None


def test_published_events_are_seed_events_with_noise() -> None:
    workload = BEGen(matching_probability=0.01, event_noise=0.1)
    assert workload.seeds is not None
    rows = workload.seeds.events
    seeds = [
        set(zip(rows.attributes[a:b].tolist(), rows.values[a:b].tolist(), strict=True))
        for a, b in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    ]
    named = [
        {(int(name.removeprefix("attr")), value) for name, value in event.items()} for event in workload.events(300)
    ]
    kept = [max(len(event & seed) for seed in seeds) / len(event) for event in named]
    assert 0.85 < sum(kept) / len(kept) < 0.95


def test_subscriptions_larger_than_events_are_drawn_and_not_seeded() -> None:
    conjunctions, pairs = columns(BEGen(subscription_size=30, event_size=30, matching_probability=0.01), 4_000, 256)
    assert np.diff(conjunctions.offsets).max() > 40
    assert 0.008 < float(matches(conjunctions, pairs).mean()) < 0.012


def test_zipf_makes_few_attributes_popular() -> None:
    def share_of_the_most_popular(alpha: float) -> float:
        conjunctions, _ = columns(BEGen(dimension_number=30_000, alpha=alpha), 4_000, 1)
        return float(np.bincount(conjunctions.attributes).max() / len(conjunctions.attributes))

    assert share_of_the_most_popular(0.0) < 0.001
    assert share_of_the_most_popular(1.0) > 0.03


def test_clusters_hold_all_values_of_a_dimension() -> None:
    _, pairs = columns(BEGenClusters(number_of_clusters=3, cluster_size=50, match_probability=0.0), 1, 2_000)
    values = np.sort(pairs.values[pairs.attributes == 7])
    begins = [values[0]]
    for value in values.tolist():
        if value > begins[-1] + 50:
            begins.append(value)
    assert len(begins) == 3


def test_without_clusters_values_are_spread() -> None:
    _, pairs = columns(BEGenClusters(number_of_clusters=0, match_probability=0.0), 1, 2_000)
    assert len(np.unique(pairs.values[pairs.attributes == 7])) > 40


def test_ranges_hold_a_handful_of_values() -> None:
    conjunctions, _ = columns(BEGenClusters(range_size=6))
    assert set(np.unique(conjunctions.highs - conjunctions.lows + 1).tolist()) == {2, 3, 4, 5, 6}


def test_rare_attributes_weigh_more_and_none_more_than_its_inverse_frequency() -> None:
    workload = BEGenClusters(alpha=1.0, number_of_dimensions=50)
    predicates = [predicate for text in workload.subscriptions(100) for predicate in parse(text).predicates]
    inverse = [(int(predicate.attribute.removeprefix("attr")) + 1) / 50 for predicate in predicates]
    shares = [predicate.weight / most for predicate, most in zip(predicates, inverse, strict=True)]
    assert max(shares) <= 1.001
    assert sum(shares) / len(shares) == pytest.approx(0.8, abs=0.02)
    weights = workload.event_weights(20)
    assert weights is not None
    assert [set(row) for row in weights] == [set(event) for event in workload.events(20)]
    assert BEGenClusters(weighted=False).event_weights(1) is None
    assert "weight" not in next(BEGenClusters(weighted=False).subscriptions(1))


def test_gem_trees_events_have_every_attribute() -> None:
    assert all(len(event) == 20 for event in GemTree(dimensions=20).events(10))


def test_abe_gen_shares_as_the_paper_says() -> None:
    """18.35 times a predicate and 4.33 times a subexpression, in the default workload: within a quarter."""
    workload = ABEGen().sized(4_000)
    facts = measured(list(workload.subscriptions(4_000)), workload.events(1), 1)
    assert facts["predicate sharing"] == pytest.approx(18.35, rel=0.25)
    assert facts["subexpression sharing"] == pytest.approx(4.33, rel=0.25)


def test_abe_gen_shares_nothing_at_alpha_0() -> None:
    workload = ABEGen(alpha=0.0)
    facts = measured(list(workload.subscriptions(1_000)), workload.events(1), 1)
    assert facts["subexpression sharing"] < 1.05


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_abe_gens_trees_have_the_depth_asked_for(depth: int) -> None:
    for text in ABEGen(tree_depth=depth).sized(200).subscriptions(200):
        deepest = most = 0
        for character in text.replace("in (", "in [").replace("in [", ""):
            deepest += (character == "(") - (character == ")")
            most = max(most, deepest)
        assert most <= max(depth - 2, 0) + 1
        assert (len(list(nodes(text))) == 0) == (depth == 1)


def test_a_root_of_and_has_so_many_children_that_are_no_and() -> None:
    workload = ABEGen(tree_depth=3, root_children=(2, 3), alpha=0.0)
    for text in workload.subscriptions(200):
        *below, (connective, _) = nodes(text)
        assert connective == "and"
        assert len(below) in (2, 3)
        assert "and" not in {connective for connective, _ in below}


def test_advertisements_use_every_operator_and_reach_the_largest_size() -> None:
    workload = AdsLike(subscription_size=20).sized(2_000)
    facts = measured(list(workload.subscriptions(2_000)), workload.events(10), 1)
    operators = {fact.removeprefix("operator ") for fact in facts if fact.startswith("operator ")}
    assert operators == {"=", "in", "not in", "between", "<=", ">="}
    assert facts["predicates a subscription, most"] == 56
    assert facts["predicate sharing"] > 10


def test_advertisements_name_no_attribute_and_no_member_twice() -> None:
    for text in AdsLike(dimension_alpha=2.0).sized(500).subscriptions(500):
        attributes = [predicate.attribute for predicate in parse(text).predicates]
        assert len(set(attributes)) == len(attributes)
        for members in re.findall(r"in \(([^)]*)\)", text):
            assert len(set(members.split(", "))) == len(members.split(", "))


def test_keywords_come_from_every_dimension_and_reserved_words_are_spelled_so() -> None:
    conjunctions, _ = columns(QueryLogs(keyword_alpha=0.0), 40_000, 1)
    assert len(np.unique(conjunctions.attributes)) > 17_400
    texts = [text for text in QueryLogs(keyword_alpha=0.0).subscriptions(40_000) if "`" in text]
    assert any("`and` = " in text or "`not` = " in text or "`any` = " in text for text in texts)
    assert {"and", "not"} <= {name for event in QueryLogs().events(1_000) for name in event}


def test_prefixes_are_on_string_attributes_and_have_their_length() -> None:
    for text in OpIndexPrefix(prefix_length=2).subscriptions(500):
        for predicate in parse(text).predicates:
            if predicate.operator == "starts with":
                assert predicate.attribute.startswith("text")
                assert len(str(predicate.operands[0])) == 2
            else:
                assert isinstance(predicate.operands[0], str) == predicate.attribute.startswith("text")


def test_a_prefix_covers_exactly_the_words_that_begin_with_it() -> None:
    workload = OpIndexPrefix(prefix_share=1.0, vocabulary=500)
    conjunctions, _ = columns(workload, 300, 1)
    ends = conjunctions.offsets[:-1]
    attributes, lows, highs = conjunctions.attributes[ends], conjunctions.lows[ends], conjunctions.highs[ends]
    first, last = workload.plain(attributes, lows), workload.plain(attributes, highs)
    before, after = (
        workload.plain(attributes, np.maximum(lows - 1, 0)),
        workload.plain(attributes, np.minimum(highs + 1, 499)),
    )
    for a, b, c, d, low, high in zip(before, first, last, after, lows, highs, strict=True):
        assert str(b)[:3] == str(c)[:3]
        assert low == 0 or str(a)[:3] != str(b)[:3]
        assert high == 499 or str(d)[:3] != str(c)[:3]


@pytest.mark.parametrize(("form", "outer", "inner"), [("dnf", "or", "and"), ("cnf", "and", "or")])
def test_normal_forms(form: str, outer: str, inner: str) -> None:
    workload = OpIndexClauses(normal_form="dnf" if form == "dnf" else "cnf", maximum_clauses=3)
    for text in workload.subscriptions(300):
        clauses = text.split(f" {outer} ")
        assert 1 <= len(clauses) <= 3
        assert all((f" {inner} " in clause) == clause.startswith("(") == clause.endswith(")") for clause in clauses)
        assert text.count(f" {inner} ") + len(clauses) == len(parse(text).predicates)
