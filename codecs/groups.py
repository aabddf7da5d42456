"""What a batch matched, by whom it concerns."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Groups:
    """A group is an event and a subscriber: one notification. By event, then by the subscriber's number."""

    events: NDArray[np.uint32]
    """Of each group, its event's place in the batch."""
    subscribers: NDArray[np.uint32]
    """Its subscriber's number."""
    starts: NDArray[np.uint64]
    """Where its ids begin, and behind the last one's where they end."""
    ids: NDArray[np.uint32]
    """Of the subscriptions that matched."""
    scores: NDArray[np.float64] | None
    """Beside the ids, if the matches have any."""

    def __len__(self) -> int:
        return len(self.events)

    def part(self, first: int, end: int) -> Self:
        """Those from one on, up to another."""
        begin, stop = int(self.starts[first]), int(self.starts[end])
        return type(self)(
            self.events[first:end],
            self.subscribers[first:end],
            self.starts[first : end + 1] - self.starts[first],
            self.ids[begin:stop],
            None if self.scores is None else self.scores[begin:stop],
        )

    def taken(self, places: NDArray[np.intp]) -> Self:
        """Those at these places, in this order."""
        bounds = self.starts.astype(np.int64)
        begins = bounds[places]
        sizes = bounds[places + 1] - begins
        starts = np.concatenate(([0], np.cumsum(sizes)))
        ids = np.repeat(begins - starts[:-1], sizes) + np.arange(starts[-1])
        return type(self)(
            self.events[places],
            self.subscribers[places],
            starts.astype(np.uint64),
            self.ids[ids],
            None if self.scores is None else self.scores[ids],
        )
