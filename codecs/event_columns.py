"""The events of a batch, as far as notifications tell of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tamis.codecs.decoded_events import DecodedEvents
from tamis.codecs.messages import Messages


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

    @classmethod
    def of(cls, decoded: DecodedEvents, messages: Messages | Iterable[Messages]) -> Self:
        """Of what was decoded, and the messages that it was decoded from."""
        parts = [messages] if isinstance(messages, Messages) else list(messages)
        values = [value for part in parts for value in values_of(part)]
        topics = [part.topic for part in parts for _ in part.offsets]
        partitions = [np.broadcast_to(np.asarray(part.partition, np.int32), len(part.offsets)) for part in parts]
        offsets = [np.asarray(part.offsets, np.int64) for part in parts]
        places = decoded.positions
        return cls(
            [decoded.id(event) for event in range(len(decoded))],
            decoded.times,
            [topics[place] for place in places.tolist()],
            np.concatenate(partitions)[places] if parts else np.zeros(0, np.int32),
            np.concatenate(offsets)[places] if parts else np.zeros(0, np.int64),
            [values[place] for place in places.tolist()],
        )

    def __post_init__(self) -> None:
        sizes = {name: len(getattr(self, name)) for name in self.__slots__}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"columns of events are equally long, not {sizes}")

    def __len__(self) -> int:
        return len(self.ids)


def values_of(messages: Messages) -> list[bytes]:
    """What there is not, is empty."""
    if not isinstance(messages.values, Sequence):
        raise TypeError(f"notifications are made of messages that are bytes, not {type(messages.values).__name__}")
    return [value or b"" for value in messages.values]
