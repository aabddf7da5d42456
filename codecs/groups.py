"""What a batch matched, by whom it concerns."""

from dataclasses import dataclass

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
