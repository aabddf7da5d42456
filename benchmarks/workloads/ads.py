"""A look-alike of the display advertisements in PS-Tree's and A-Tree's evaluations.

ps-tree-2018, section 7.4, has them as conjunctions, a-tree-2021, section 6.2, as nested expressions of one data set.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from benchmarks.workloads.chance import Floats, Integers, Popularity, distinct, offsets_of, stream, zipf
from benchmarks.workloads.texts import by_kind, joined
from benchmarks.workloads.workload import (
    ALPHA_MAX,
    EVENTS_A_CHUNK,
    MANY,
    SUBSCRIPTIONS_A_CHUNK,
    TABLE_MAX,
    Event,
    Workload,
)

_NUMERIC_EVERY = 3
_NUMERIC_CARDINALITY = 100
_CARDINALITY_MIN, _CARDINALITY_MAX = 3, 3_000
_MEMBERS_MAX = 12
_DISTINCT_MAX = 100
_CATEGORICAL = {"=": 0.35, "in": 0.45, "not in": 0.2}
_NUMERIC = {"between": 0.6, "<=": 0.2, ">=": 0.2}
_OPERATORS = [*_CATEGORICAL, *_NUMERIC]


@dataclass(frozen=True, kw_only=True)
class AdsLike(Workload):
    """Conjunctions of predicates from one pool, drawn by Zipf, on different attributes each.

    Every third attribute is a number, as an age or an hour is; the others are categories of 3 to 3,000 values, as a
    channel or a region is.
    """

    subscription_number: int = 3_000_000
    dimension_number: int = 122
    subscription_size: int = 8
    """On average, of 1 to `subscription_size_max`"""
    subscription_size_max: int = 56
    event_size: int = 20
    distinct_predicates: float = 0.7
    """The size of the pool, per subscription"""
    predicate_alpha: float = 0.9
    dimension_alpha: float = 0.7
    """Of the attributes of predicates and events"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(1, MANY, "subscription_number")
        self.require(1, self.subscription_size_max, "subscription_size")
        self.require(self.subscription_size_max, TABLE_MAX, "dimension_number")
        self.require(1, self.dimension_number, "event_size")
        self.require(0, _DISTINCT_MAX, "distinct_predicates")
        self.require(0, ALPHA_MAX, "predicate_alpha", "dimension_alpha")

    def asked(self) -> dict[str, float]:
        return {"predicates a subscription": self.subscription_size, "pairs an event": self.event_size}

    def sized(self, count: int) -> Self:
        return replace(self, subscription_number=count)

    def subscription_chunk(self, number: int) -> list[str]:
        chance = stream(self.seed, "subscriptions", number)
        sizes = self._sizes(chance, SUBSCRIPTIONS_A_CHUNK)
        texts, _attributes = self._pool
        drawn = distinct(chance, self._popular, sizes)
        return joined([texts[rank] for rank in drawn.tolist()], offsets_of(sizes), " and ")

    def event_chunk(self, number: int) -> list[Event]:
        chance = stream(self.seed, "events", number)
        attributes = distinct(chance, self._attributes, np.full(EVENTS_A_CHUNK, self.event_size))
        values = self._values(chance, attributes)
        shape = EVENTS_A_CHUNK, self.event_size
        rows = zip(attributes.reshape(shape).tolist(), values.reshape(shape).tolist(), strict=True)
        return [{f"attr{a}": v if self._is_numeric(a) else f"v{v}" for a, v in zip(*row, strict=True)} for row in rows]

    def _sizes(self, chance: np.random.Generator, count: int) -> Integers:
        """Most are small and a few are large: a negative binomial distribution, of two failures."""
        mean = self.subscription_size - 1
        return np.minimum(1 + chance.negative_binomial(2, 2 / (2 + mean), count), self.subscription_size_max)

    @staticmethod
    def _is_numeric(attribute: int) -> bool:
        return attribute % _NUMERIC_EVERY == 0

    @cached_property
    def _cardinalities(self) -> Integers:
        spread: Floats = stream(self.seed, "cardinalities").random(self.dimension_number)
        found = np.rint(_CARDINALITY_MIN * (_CARDINALITY_MAX / _CARDINALITY_MIN) ** spread).astype(np.int64)
        found[::_NUMERIC_EVERY] = _NUMERIC_CARDINALITY
        return found

    @cached_property
    def _attributes(self) -> Popularity:
        return zipf(self.dimension_number, self.dimension_alpha)

    @cached_property
    def _popular(self) -> Popularity:
        texts, attributes = self._pool
        return zipf(len(texts), self.predicate_alpha, attributes)

    def _values(self, chance: np.random.Generator, attributes: Integers) -> Integers:
        """Numbers are uniform; category v has a probability of about 1 / (v + 1), as by Zipf."""
        cardinalities = self._cardinalities[attributes]
        chances = chance.random(len(attributes))
        categories = np.floor((cardinalities + 1) ** chances) - 1
        numbers = np.floor(cardinalities * chances)
        values = np.where(attributes % _NUMERIC_EVERY == 0, numbers, categories).astype(np.int64)
        return np.minimum(values, cardinalities - 1)

    @cached_property
    def _pool(self) -> tuple[list[str], Integers]:
        """Predicates, the most popular first, and their attributes."""
        chance = stream(self.seed, "predicates")
        count = max(self.dimension_number, round(self.distinct_predicates * self.subscription_number))
        attributes = self._attributes.draw(chance, count)
        attributes[: self.dimension_number] = chance.permutation(self.dimension_number)
        numeric = attributes % _NUMERIC_EVERY == 0
        categorical = chance.choice(len(_CATEGORICAL), count, p=list(_CATEGORICAL.values()))
        ranges = len(_CATEGORICAL) + chance.choice(len(_NUMERIC), count, p=list(_NUMERIC.values()))
        return self._predicates(chance, attributes, np.where(numeric, ranges, categorical)), attributes

    def _predicates(self, chance: np.random.Generator, attributes: Integers, kinds: Integers) -> list[str]:
        names = [f"attr{attribute}" for attribute in attributes.tolist()]

        def members(positions: Integers) -> list[str]:
            sizes = chance.integers(2, _MEMBERS_MAX + 1, len(positions))
            drawn = [f'"v{value}"' for value in self._values(chance, np.repeat(attributes[positions], sizes)).tolist()]
            ends = offsets_of(sizes).tolist()
            return [", ".join(dict.fromkeys(drawn[a:b])) for a, b in pairwise(ends)]

        def write(kind: int, positions: Integers) -> list[str]:
            operator = _OPERATORS[kind]
            here = [names[position] for position in positions.tolist()]
            if operator in ("in", "not in"):
                return [f"{name} {operator} ({listed})" for name, listed in zip(here, members(positions), strict=True)]
            first = self._values(chance, attributes[positions]).tolist()
            if operator == "between":
                second = self._values(chance, attributes[positions]).tolist()
                both = zip(here, first, second, strict=True)
                return [f"{name} between {min(a, b)} and {max(a, b)}" for name, a, b in both]
            quote = '"v' if operator == "=" else ""
            end = '"' if operator == "=" else ""
            return [f"{name} {operator} {quote}{value}{end}" for name, value in zip(here, first, strict=True)]

        return by_kind(kinds, write)
