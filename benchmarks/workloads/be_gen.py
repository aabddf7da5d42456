"""BE-Gen as the evaluation of PS-Tree sets it (ps-tree-2018, section 7.1 and Table 1)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.workloads.chance import Integers, Popularity, zipf
from benchmarks.workloads.seeding import SeededWorkload
from benchmarks.workloads.texts import Operator
from benchmarks.workloads.workload import ALPHA_MAX, MANY, TABLE_MAX


def spread(chance: np.random.Generator, average: int, count: int) -> Integers:
    """Sizes that are uniform from half the average to one and a half of it: 3 to 7 for 5."""
    return chance.integers(average - average // 2, average + average // 2 + 1, count)


def random_intervals(
    chance: np.random.Generator, values: Integers, cardinality: int, equality_ratio: float
) -> tuple[Integers, Integers, Integers]:
    """Operators, lows and highs around these values of 0 .. cardinality - 1.

    What is no equality is for a third each bounded above, below, and on both sides; a bound is uniform between the
    value and the end of the domain.
    """
    count = len(values)
    lows = chance.integers(0, values + 1)
    highs = chance.integers(values, cardinality)
    above = [Operator.LESS, Operator.AT_MOST]
    below = [Operator.GREATER, Operator.AT_LEAST]
    both = [Operator.BETWEEN] * 2
    operators = np.array([*above, *below, *both])[chance.integers(0, 6, count)]
    operators[chance.random(count) < equality_ratio] = Operator.EQUAL
    lows[np.isin(operators, above)] = 0
    highs[np.isin(operators, below)] = cardinality - 1
    equal = operators == Operator.EQUAL
    lows[equal] = highs[equal] = values[equal]
    return operators, lows, highs


@dataclass(frozen=True, kw_only=True)
class BEGen(SeededWorkload):
    """The parameters of Table 1; defaults are its bold ones. `alpha` 0 draws attributes uniformly, else by Zipf."""

    alpha: float = 0.0
    dimension_number: int = 100
    dimension_cardinality: int = 100
    subscription_size: int = 5
    event_size: int = 30
    matching_probability: float = 0.001
    equality_ratio: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(1, TABLE_MAX, "dimension_number")
        self.require(1, MANY, "dimension_cardinality")
        self.require(1, self.dimension_number, "subscription_size", "event_size")
        self.require(0, 1, "matching_probability", "equality_ratio")
        self.require(0, ALPHA_MAX, "alpha")

    @property
    def wanted(self) -> float:
        return self.matching_probability

    @property
    def pairs_an_event(self) -> int:
        return self.event_size

    @cached_property
    def popularity(self) -> Popularity:
        return zipf(self.dimension_number, self.alpha)

    def asked(self) -> dict[str, float]:
        return {
            "predicates a subscription": self.subscription_size,
            "operator =": self.equality_ratio,
            "pairs an event": self.event_size,
            "matching probability": self.matching_probability,
        }

    def sizes(self, chance: np.random.Generator, count: int) -> Integers:
        return spread(chance, self.subscription_size, count)

    def values(self, chance: np.random.Generator, attributes: Integers) -> Integers:
        return chance.integers(0, self.dimension_cardinality, len(attributes))

    def predicates(
        self, chance: np.random.Generator, attributes: Integers, values: Integers
    ) -> tuple[Integers, Integers, Integers]:
        del attributes
        return random_intervals(chance, values, self.dimension_cardinality, self.equality_ratio)
