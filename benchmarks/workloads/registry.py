"""The workloads by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.workloads.abe_gen import ABEGen
from benchmarks.workloads.ads import AdsLike
from benchmarks.workloads.be_gen import BEGen
from benchmarks.workloads.be_gen_clusters import BEGenClusters
from benchmarks.workloads.gem_tree import GemTree
from benchmarks.workloads.op_index import OpIndex, OpIndexClauses
from benchmarks.workloads.op_index_prefix import OpIndexPrefix
from benchmarks.workloads.query_logs import QueryLogs
from benchmarks.workloads.workload import Workload


@dataclass(frozen=True)
class Entry:
    """A workload, where it comes from, and what its paper says of it, by the names of `measures`."""

    workload: Workload
    paper: str
    shape: str
    published: Mapping[str, float] = field(default_factory=dict)


_TABLE_1 = {
    "predicates a subscription": 5,
    "operator =": 0.2,
    "pairs an event": 30,
    "attributes in subscriptions": 100,
    "matching probability": 0.001,
}
_TABLE_3 = {"pairs an event": 20, "attributes in subscriptions": 1_000}
_AND_OR_NOT = (0.45, 0.45, 0.1, 0.0, 0.0)

WORKLOADS: Mapping[str, Entry] = {
    "W1": Entry(
        BEGen(matching_probability=0.002),
        "ps-tree-2018, Table 1",
        "dense: 100 dimensions of 100 values, 3-7 predicates, 20 % equality, 30 pairs an event, 0.2 % match",
        _TABLE_1,
    ),
    "W1e": Entry(
        BEGen(equality_ratio=1.0),
        "ps-tree-2018, Table 1",
        "W1 with equality only, 0.1 % match",
        _TABLE_1 | {"operator =": 1},
    ),
    "W2": Entry(
        BEGen(dimension_number=30_000, alpha=1.0),
        "ps-tree-2018, Table 1",
        "sparse: 30,000 dimensions by Zipf 1, else as W1, 0.1 % match",
        _TABLE_1 | {"attributes in subscriptions": 30_000},
    ),
    "W3": Entry(
        ABEGen(operator_distribution=_AND_OR_NOT),
        "a-tree-2021, Table 3",
        "and/or/not trees of depth 3, 2-6 children, shared by Zipf 0.6, 1,000 dimensions, 20 pairs an event, 8 % match",
        _TABLE_3,
    ),
    "W3s": Entry(
        ABEGen(operator_distribution=_AND_OR_NOT, tree_depth=4, root_children=(2, 3)),
        "a-tree-2021, Table 3",
        "below an `and` of 2-3, trees as W3's, 1.5 % match",
        _TABLE_3,
    ),
    "W3x": Entry(
        ABEGen(),
        "a-tree-2021, Table 3",
        "W3 with 5 % xor and 5 % xnor: the paper's default",
        _TABLE_3 | {"predicate sharing": 18.35, "subexpression sharing": 4.33},
    ),
    "W4": Entry(
        AdsLike(),
        "ps-tree-2018, 7.4; a-tree-2021, 6.2",
        "look-alike of advertisements: 122 dimensions, 1-56 predicates, 8 on average, =, in, not in and ranges, shared",
        {
            "predicates a subscription": 8,
            "predicates a subscription, least": 1,
            "predicates a subscription, most": 56,
            "attributes in subscriptions": 122,
            "pairs an event": 20,
            "predicate sharing": 68.76,
        },
    ),
    "W5": Entry(
        BEGenClusters(),
        "be-star-tree-2012, Table III",
        "400 dimensions of 250 million values in 4 clusters, 8 short ranges, 15 pairs an event, weights, 0.1 % match",
        {
            "predicates a subscription": 8,
            "attributes in subscriptions": 400,
            "pairs an event": 15,
            "matching probability": 0.001,
        },
    ),
    "W6": Entry(
        QueryLogs(),
        "ps-tree-2018, 7.3",
        "look-alike of keyword queries: 17,577 string dimensions, 2.78 equalities, 93 pairs an event",
        {
            "predicates a subscription": 2.78,
            "operator =": 1,
            "attributes in subscriptions": 17_577,
            "pairs an event": 93.07,
        },
    ),
    "W7": Entry(
        OpIndexPrefix(),
        "opindex-2014, 7.7",
        "10,000 numeric and 100 string dimensions, equality and prefixes",
        {"attributes in subscriptions": 10_100},
    ),
    "gem-tree": Entry(
        GemTree(),
        "gem-tree-2019, Table 1",
        "50 dimensions of 32 values, 4-10 intervals, 30 % of one value, events with all dimensions, 1 % match",
        {
            "predicates a subscription": 7,
            "operator =": 0.3,
            "attributes in subscriptions": 50,
            "matching probability": 0.01,
        },
    ),
    "op-index": Entry(
        OpIndex(),
        "opindex-2014, Table 3",
        "20,000 dimensions of 800 values, 1-12 predicates of =, <= and >=, all at random",
        {"attributes in subscriptions": 20_000},
    ),
    "op-index-zipf": Entry(
        OpIndex(zipf=1.0),
        "opindex-2014, Table 3",
        "op-index with attributes and values by Zipf 1",
        {"attributes in subscriptions": 20_000},
    ),
    "op-index-dnf": Entry(
        OpIndexClauses(normal_form="dnf"),
        "opindex-2014, 7.6",
        "an `or` of 1-5 conjunctions, each as op-index's",
        {"attributes in subscriptions": 20_000},
    ),
    "op-index-cnf": Entry(
        OpIndexClauses(normal_form="cnf"),
        "opindex-2014, 7.6",
        "an `and` of 1-5 disjunctions, each of as many predicates as op-index's conjunctions",
        {"attributes in subscriptions": 20_000},
    ),
}
