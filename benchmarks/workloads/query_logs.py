"""A look-alike of the query logs in PS-Tree's evaluation (ps-tree-2018, sections 7.1 and 7.3): many attributes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase

import numpy as np

from benchmarks.workloads.chance import Integers, Popularity, distinct, stream, zipf
from benchmarks.workloads.intervals import IntervalWorkload
from benchmarks.workloads.texts import Operator, Template
from benchmarks.workloads.workload import ALPHA_MAX, TABLE_MAX, Value

_TRIPLES = [a + b + c for a in ascii_lowercase for b in ascii_lowercase for c in ascii_lowercase]


@dataclass(frozen=True, kw_only=True)
class QueryLogs(IntervalWorkload):
    """A keyword is an equality: its first letters name the attribute, the next ones are the value.

    Keywords are drawn by Zipf from one vocabulary, for queries and documents alike.
    """

    dimensions: int = 17_577
    predicates_a_subscription: float = 2.78
    """On average, of 1 to `predicates_max`"""
    predicates_max: int = 5
    pairs_an_event: float = 93.07
    """On average; sizes are uniform from half of it to one and a half"""
    vocabulary: int = 150_000
    keyword_alpha: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(1, TABLE_MAX, "vocabulary", "predicates_max")
        self.require(1, min(self.vocabulary, len(_TRIPLES) + 1), "dimensions")
        self.require(1, self.predicates_max, "predicates_a_subscription")
        self.require(1, self.dimensions, "pairs_an_event")
        self.require(0, ALPHA_MAX, "keyword_alpha")

    def asked(self) -> dict[str, float]:
        return {
            "predicates a subscription": self.predicates_a_subscription,
            "operator =": 1,
            "pairs an event": self.pairs_an_event,
        }

    @property
    def templates(self) -> Mapping[int, Template]:
        return {Operator.EQUAL_TEXT: lambda name, low, _high: f'{name} = "{_TRIPLES[low]}"'}

    @cached_property
    def names(self) -> list[str]:
        return [*_TRIPLES, "a"][: self.dimensions]

    def plain(self, attributes: Integers, values: Integers) -> list[Value]:
        del attributes
        return [_TRIPLES[value] for value in values.tolist()]

    def sizes(self, chance: np.random.Generator, count: int) -> Integers:
        others = self.predicates_max - 1
        return 1 + chance.binomial(others, (self.predicates_a_subscription - 1) / max(others, 1), count)

    def event_sizes(self, chance: np.random.Generator, count: int) -> Integers:
        sizes = np.rint(self.pairs_an_event * (0.5 + chance.random(count))).astype(np.int64)
        return np.maximum(sizes, 1)

    def picks(self, chance: np.random.Generator, sizes: Integers) -> tuple[Integers, Integers]:
        attributes, values = self._keywords
        keywords = distinct(chance, self._popularity, sizes)
        return attributes[keywords], values[keywords]

    def predicates(
        self, chance: np.random.Generator, attributes: Integers, values: Integers
    ) -> tuple[Integers, Integers, Integers]:
        del chance, attributes
        return np.full(len(values), Operator.EQUAL_TEXT), values, values

    @cached_property
    def _popularity(self) -> Popularity:
        return zipf(self.vocabulary, self.keyword_alpha, self._keywords[0])

    @cached_property
    def _keywords(self) -> tuple[Integers, Integers]:
        """Attribute and value of each keyword; every attribute has at least one keyword."""
        chance = stream(self.seed, "keywords")
        attributes = chance.integers(0, self.dimensions, self.vocabulary)
        attributes[: self.dimensions] = np.arange(self.dimensions)
        return chance.permutation(attributes), chance.integers(0, len(_TRIPLES), self.vocabulary)
