"""A wanted matching probability, by seeding subscriptions from events.

Random subscriptions hardly match random events once there are many attributes, so matches are planted. There are few
*seed events*. A published event is one of them, of which each pair is drawn anew with a small probability; a seeded
subscription constrains attributes of one seed event, each with an interval around its value. With S seed events a
seeded subscription matches one published event in S, less what the redrawn pairs cost. S and the share of seeded
subscriptions follow from what is wanted beyond what chance gives, and that is measured.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.workloads.chance import Booleans, Integers, Popularity, distinct, make_distinct, stream, zipf
from benchmarks.workloads.columns import Conjunctions, Pairs, chosen_pairs, matches
from benchmarks.workloads.errors import WorkloadError
from benchmarks.workloads.intervals import IntervalWorkload
from benchmarks.workloads.workload import EVENTS_A_CHUNK, SUBSCRIPTIONS_A_CHUNK

_PILOT_SUBSCRIPTIONS = 8_192
_PILOT_EVENTS = 256
_SEEDS_MAX = 4_096


@dataclass(frozen=True)
class Seeds:
    """The seed events, and the share of subscriptions that come from them."""

    events: Pairs
    share: float


@dataclass(frozen=True, kw_only=True)
class SeededWorkload(IntervalWorkload):
    """All events have one size, and attributes of subscriptions and of events are drawn alike."""

    seeded_share: float = 0.5
    """At most this share of subscriptions is seeded, unless even a single seed event needs more."""
    event_noise: float = 0.05
    """The probability that a pair of a seed event is drawn anew when the event is published."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(0, 1, "seeded_share", "event_noise")

    @property
    @abstractmethod
    def wanted(self) -> float:
        """The matching probability."""

    @property
    @abstractmethod
    def pairs_an_event(self) -> int: ...

    @cached_property
    @abstractmethod
    def popularity(self) -> Popularity:
        """Of attributes."""

    @abstractmethod
    def values(self, chance: np.random.Generator, attributes: Integers) -> Integers:
        """One value for each of these attributes."""

    @cached_property
    def names(self) -> list[str]:
        return [f"attr{number}" for number in range(self.popularity.size)]

    @cached_property
    def seeds(self) -> Seeds | None:
        """None where chance alone gives what is wanted, or more."""
        chance = stream(self.seed, "pilot")
        sizes = self.sizes(chance, _PILOT_SUBSCRIPTIONS)
        random = self.conjoined(chance, sizes, *self.picks(chance, sizes))
        missing = self.wanted - float(matches(random, self.random_pairs(chance, _PILOT_EVENTS)).mean())
        if missing <= 0:
            return None
        survival = float(np.where(sizes <= self.pairs_an_event, (1 - self.event_noise) ** sizes, 0).mean())
        count = min(_SEEDS_MAX, max(1, int(self.seeded_share * survival / missing)))
        share = missing * count / survival if survival else np.inf
        if share > 1:
            raise WorkloadError(
                f"a matching probability of {self.wanted} cannot be reached: if all subscriptions were seeded,"
                f" {survival:.2g} would match, since they are too large or events too noisy;"
                " ask for less, or lower event_noise"
            )
        return Seeds(self.random_pairs(stream(self.seed, "seeds"), count), share)

    def event_sizes(self, chance: np.random.Generator, count: int) -> Integers:
        del chance
        return np.full(count, self.pairs_an_event)

    def picks(self, chance: np.random.Generator, sizes: Integers) -> tuple[Integers, Integers]:
        attributes = distinct(chance, self.popularity, sizes)
        return attributes, self.values(chance, attributes)

    def conjunction_chunk(self, number: int) -> Conjunctions:
        chance = stream(self.seed, "subscriptions", number)
        sizes = self.sizes(chance, SUBSCRIPTIONS_A_CHUNK)
        attributes, values = self.picks(chance, sizes)
        if self.seeds is not None:
            seeded = (chance.random(len(sizes)) < self.seeds.share) & (sizes <= self.pairs_an_event)
            here: Booleans = np.repeat(seeded, sizes)
            events = self.seeds.events
            there = _positions(chance, events, sizes[seeded], self.pairs_an_event)
            attributes[here] = events.attributes[there]
            values[here] = events.values[there]
        return self.conjoined(chance, sizes, attributes, values)

    def pair_chunk(self, number: int) -> Pairs:
        if self.seeds is None:
            return super().pair_chunk(number)
        chance = stream(self.seed, "events", number)
        events = self.seeds.events
        pairs = chosen_pairs(events, chance.integers(0, len(events), EVENTS_A_CHUNK))
        anew: Booleans = chance.random(len(pairs.attributes)) < self.event_noise
        pairs.attributes[anew] = self.popularity.draw(chance, int(anew.sum()))
        make_distinct(chance, self.popularity, np.diff(pairs.offsets), pairs.attributes, free=anew)
        pairs.values[anew] = self.values(chance, pairs.attributes[anew])
        return pairs


def _positions(chance: np.random.Generator, events: Pairs, sizes: Integers, pairs_an_event: int) -> Integers:
    """For each size as many pairs of one random event."""
    begins = events.offsets[chance.integers(0, len(events), len(sizes))]
    return np.repeat(begins, sizes) + distinct(chance, zipf(pairs_an_event, 0), sizes)
