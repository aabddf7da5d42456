"""The workloads of GEM-Tree's evaluation (gem-tree-2019, section V and Table 1)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.workloads.be_gen import spread
from benchmarks.workloads.chance import Integers, Popularity, zipf
from benchmarks.workloads.seeding import SeededWorkload
from benchmarks.workloads.texts import Operator
from benchmarks.workloads.workload import ALPHA_MAX, MANY, TABLE_MAX


@dataclass(frozen=True, kw_only=True)
class GemTree(SeededWorkload):
    """The parameters of Table 1; defaults are those of section V-A. Events have every attribute."""

    dimensions: int = 50
    """M"""
    cardinality: int = 32
    """τ: values are 0 to τ - 1"""
    subscription_attributes: int = 7
    """ξ, on average"""
    match_rate: float = 0.01
    """θ"""
    single_value_rate: float = 0.3
    """μ: the share of intervals that hold one value"""
    alpha: float = 0.0
    """0 draws attributes uniformly, else by Zipf"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(1, TABLE_MAX, "dimensions")
        self.require(1, MANY, "cardinality")
        self.require(1, self.dimensions, "subscription_attributes")
        self.require(0, 1, "match_rate", "single_value_rate")
        self.require(0, ALPHA_MAX, "alpha")

    @property
    def wanted(self) -> float:
        return self.match_rate

    @property
    def pairs_an_event(self) -> int:
        return self.dimensions

    @cached_property
    def popularity(self) -> Popularity:
        return zipf(self.dimensions, self.alpha)

    def asked(self) -> dict[str, float]:
        return {
            "predicates a subscription": self.subscription_attributes,
            "operator =": self.single_value_rate,
            "pairs an event": self.dimensions,
            "matching probability": self.match_rate,
        }

    def sizes(self, chance: np.random.Generator, count: int) -> Integers:
        return spread(chance, self.subscription_attributes, count)

    def values(self, chance: np.random.Generator, attributes: Integers) -> Integers:
        return chance.integers(0, self.cardinality, len(attributes))

    def predicates(
        self, chance: np.random.Generator, attributes: Integers, values: Integers
    ) -> tuple[Integers, Integers, Integers]:
        del attributes
        single = chance.random(len(values)) < self.single_value_rate
        lows = np.where(single, values, chance.integers(0, values + 1))
        highs = np.where(single, values, chance.integers(values, self.cardinality))
        return np.where(single, Operator.EQUAL, Operator.BETWEEN), lows, highs
