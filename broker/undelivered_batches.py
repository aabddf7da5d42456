"""What is ready to be sent, and how much of it goes into one transaction."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from itertools import islice

from tamis.broker.undelivered_ready import Ready
from tamis.broker.undelivered_targets import Hindrance, Target, Targets
from tamis.codecs.headers import WaitingPlace

RECORDS_MAX = 1000
BYTES_MAX = 8 << 20
"""But for one that is larger."""
TOPICS_MAX = 500
"""Each costs time, and a transaction has ten seconds."""


class Pending:
    """In the order in which they wait."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._ready: deque[Ready] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._ready)

    def __iter__(self) -> Iterator[Ready]:
        return iter(self._ready)

    @property
    def is_full(self) -> bool:
        """Whether a transaction has all that it can hold."""
        return len(self._ready) >= RECORDS_MAX or self._bytes >= BYTES_MAX

    def add(self, ready: Ready) -> None:
        self._ready.append(ready)
        self._bytes += ready.size

    def drop(self, count: int) -> None:
        """The first so many."""
        for _ in range(count):
            self._bytes -= self._ready.popleft().size

    def first(self) -> list[Ready]:
        """For one transaction: as many as go together, and one at least. One that may be too large goes alone."""
        chosen: list[Ready] = []
        sizes: Counter[str] = Counter()
        for ready in islice(self._ready, RECORDS_MAX):
            target = self._targets.of(ready.subscriber)
            assert isinstance(target, Target)
            size = sizes[ready.subscriber] + ready.size
            fits = (
                target.takes(ready.size)
                and target.takes_together(size)
                and sizes.total() + ready.size <= BYTES_MAX
                and (ready.subscriber in sizes or len(sizes) < TOPICS_MAX)
            )
            if chosen and not fits:
                break
            chosen.append(ready)
            sizes[ready.subscriber] = size
            if not fits:
                break
        return chosen

    def sort_out(self, left: Mapping[WaitingPlace, Hindrance]) -> Iterator[tuple[Ready, Hindrance]]:
        """Take out what cannot be sent any more, and tell why: by its place, or since its topic takes nothing."""
        ready, self._ready, self._bytes = self._ready, deque(), 0
        for one in ready:
            target = left.get(one.place) or self._targets.of(one.subscriber)
            if isinstance(target, Hindrance):
                yield one, target
            else:
                self.add(one)
