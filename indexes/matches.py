"""What a batch matched."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Matches:
    """The ids of the expressions that each event satisfies, end to end; `matches[i]` are those of one event."""

    offsets: NDArray[np.uint64]
    """Where each event's ids begin, and behind the last one's where they end."""
    ids: NDArray[np.uint32]
    events: int
    """How many events were done, from the first one that was asked for: fewer than all if there were too many ids."""
    scores: NDArray[np.float64] | None
    """Beside the ids, if they were asked for."""
    work: Mapping[str, int]
    """What the engine did: `expressions` looked at, `predicates` tried."""

    def __len__(self) -> int:
        return self.events

    def __getitem__(self, event: int) -> NDArray[np.uint32]:
        if not -self.events <= event < self.events:
            raise IndexError(f"{self.events} events were done, none is at {event}")
        event %= self.events
        return self.ids[int(self.offsets[event]) : int(self.offsets[event + 1])]

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return (self[event] for event in range(self.events))
