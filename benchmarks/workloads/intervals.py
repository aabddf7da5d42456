"""Conjunctions of intervals: drawn as columns, written as texts."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from benchmarks.workloads.chance import Floats, Integers, offsets_of, stream
from benchmarks.workloads.columns import Conjunctions, Pairs, first_conjunctions, first_pairs
from benchmarks.workloads.texts import NUMERIC, Template, conjunction_texts
from benchmarks.workloads.workload import EVENTS_A_CHUNK, SUBSCRIPTIONS_A_CHUNK, Event, Value, Workload
from tamis.indexes.spelling import name_text


@dataclass(frozen=True, kw_only=True)
class IntervalWorkload(Workload):
    """A paper's generator says how large subscriptions and events are, what they ask for, and what they hold."""

    @property
    def templates(self) -> Mapping[int, Template]:
        """How each operator is written."""
        return NUMERIC

    @cached_property
    @abstractmethod
    def names(self) -> list[str]:
        """The attributes'."""

    @cached_property
    def spelled_names(self) -> list[str]:
        """As the language wants them."""
        return [name_text(name) for name in self.names]

    @abstractmethod
    def sizes(self, chance: np.random.Generator, count: int) -> Integers:
        """How many predicates each subscription has."""

    @abstractmethod
    def event_sizes(self, chance: np.random.Generator, count: int) -> Integers:
        """How many pairs each event has."""

    @abstractmethod
    def picks(self, chance: np.random.Generator, sizes: Integers) -> tuple[Integers, Integers]:
        """Rows of distinct attributes, and a value for each."""

    @abstractmethod
    def predicates(
        self, chance: np.random.Generator, attributes: Integers, values: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Operators, lows and highs of intervals that hold for these values."""

    def weights(self, chance: np.random.Generator, attributes: Integers) -> Floats | None:
        """Of predicates on these attributes."""
        del chance, attributes
        return None

    def plain(self, attributes: Integers, values: Integers) -> list[Value]:
        """The values as an event shows them."""
        del attributes
        numbers: list[Value] = values.tolist()
        return numbers

    def subscription_chunk(self, number: int) -> list[str]:
        return conjunction_texts(self.conjunction_chunk(number), self.spelled_names, self.templates)

    def event_chunk(self, number: int) -> list[Event]:
        pairs = self.pair_chunk(number)
        names = [self.names[attribute] for attribute in pairs.attributes.tolist()]
        values = self.plain(pairs.attributes, pairs.values)
        ends = pairs.offsets.tolist()
        return [dict(zip(names[a:b], values[a:b], strict=True)) for a, b in pairwise(ends)]

    def conjunctions(self, count: int) -> Conjunctions | None:
        chunks = range(-(-count // SUBSCRIPTIONS_A_CHUNK) or 1)
        return first_conjunctions([self.conjunction_chunk(number) for number in chunks], count)

    def pairs(self, count: int) -> Pairs | None:
        chunks = range(-(-count // EVENTS_A_CHUNK) or 1)
        return first_pairs([self.pair_chunk(number) for number in chunks], count)

    def conjunction_chunk(self, number: int) -> Conjunctions:
        chance = stream(self.seed, "subscriptions", number)
        sizes = self.sizes(chance, SUBSCRIPTIONS_A_CHUNK)
        return self.conjoined(chance, sizes, *self.picks(chance, sizes))

    def pair_chunk(self, number: int) -> Pairs:
        return self.random_pairs(stream(self.seed, "events", number), EVENTS_A_CHUNK)

    def random_pairs(self, chance: np.random.Generator, count: int) -> Pairs:
        sizes = self.event_sizes(chance, count)
        return Pairs(offsets_of(sizes), *self.picks(chance, sizes))

    def conjoined(
        self, chance: np.random.Generator, sizes: Integers, attributes: Integers, values: Integers
    ) -> Conjunctions:
        """Conjunctions that hold for these values."""
        operators, lows, highs = self.predicates(chance, attributes, values)
        weights = self.weights(chance, attributes)
        return Conjunctions(offsets_of(sizes), attributes, operators, lows, highs, weights)
