"""What every workload can do."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as count_from
from itertools import islice
from typing import Self

from benchmarks.workloads.columns import Conjunctions, Pairs
from benchmarks.workloads.errors import WorkloadError

Value = int | str
Event = dict[str, Value]

SUBSCRIPTIONS_A_CHUNK = 4_096
EVENTS_A_CHUNK = 256
ALPHA_MAX = 10
TABLE_MAX = 10_000_000  # items with a popularity each
MANY = 2**31 - 1  # values, which fit 32 bits, and sizes


@dataclass(frozen=True, kw_only=True)
class Workload(ABC):
    """Parameters and a seed. Chunks are drawn from streams of their own, so a longer draw begins with a shorter one."""

    seed: int = 1

    def __post_init__(self) -> None:
        self.require(0, 2**63 - 1, "seed")

    def require(self, low: float, high: float, *names: str) -> None:
        """Refuse parameters that are not from `low` to `high`."""
        for name in names:
            value = getattr(self, name)
            if not low <= value <= high:
                raise WorkloadError(f"{name} = {value} is out of range: {low:,} to {high:,}")

    @abstractmethod
    def subscription_chunk(self, number: int) -> list[str]:
        """The texts of one chunk of SUBSCRIPTIONS_A_CHUNK."""

    @abstractmethod
    def event_chunk(self, number: int) -> list[Event]:
        """One chunk of EVENTS_A_CHUNK."""

    @abstractmethod
    def asked(self) -> dict[str, float]:
        """What the parameters ask for, by the names of `measures`."""

    def subscriptions(self, count: int) -> Iterator[str]:
        texts = (text for number in count_from() for text in self.subscription_chunk(number))
        return islice(texts, count)

    def events(self, count: int) -> list[Event]:
        return list(islice((event for number in count_from() for event in self.event_chunk(number)), count))

    def event_weights(self, count: int) -> list[dict[str, float]] | None:
        """For top-k: what each event gives to each of its attributes; None if it gives nothing."""
        del count
        return None

    def conjunctions(self, count: int) -> Conjunctions | None:
        """The same subscriptions as columns; None unless all are conjunctions of intervals."""
        del count
        return None

    def pairs(self, count: int) -> Pairs | None:
        """The same events as columns; None where `conjunctions` is."""
        del count
        return None

    def sized(self, count: int) -> Self:
        """The same workload with what subscriptions share sized for `count` of them."""
        del count
        return self
