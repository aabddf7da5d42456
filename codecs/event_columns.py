"""The events of a batch, as far as notifications tell of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Columns, equally long, in the order of the batch."""

    ids: Sequence[str]
    times: NDArray[np.int64]
    """In microseconds since 1970."""
    topics: Sequence[str]
    partitions: NDArray[np.int32]
    offsets: NDArray[np.int64]
    values: Sequence[bytes]
    """As they came, with their framing. Where notifications are JSON each is a JSON value: `rendering.rendered`."""

    def __post_init__(self) -> None:
        sizes = {name: len(getattr(self, name)) for name in self.__slots__}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"columns of events are equally long, not {sizes}")

    def __len__(self) -> int:
        return len(self.ids)
