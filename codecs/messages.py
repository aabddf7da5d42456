"""What decoders are given: messages of one topic as Kafka delivered them, and how to read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt


class ArrowArray(Protocol):
    """A column that tells its buffers by Arrow's C data interface: pyarrow's, nanoarrow's, polars' ..."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class Framing(StrEnum):
    """How a message says what it is."""

    DETECT = "detect"
    """By its first bytes: `C3 01`, `00`, or JSON."""
    SINGLE_OBJECT = "single-object"
    """Avro: `C3 01`, and the schema's fingerprint."""
    CONFLUENT = "confluent"
    """`00`, and the schema's id in a registry."""
    JSON = "json"
    RAW = "raw"
    """Not at all: Avro, by the schema that the topic's configuration has."""


class TimeUnit(StrEnum):
    """Of a field that is the event's time."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"


@dataclass(frozen=True)
class EventFormat:
    """How a topic's messages are read."""

    framing: Framing = Framing.DETECT
    schema: str | None = None
    """The Avro schema of raw messages, as JSON text."""
    id: str | None = None
    """The attribute that is an event's id; where it is None, and in `Event`s, it is not looked for."""
    time: str | None = None
    """The attribute that is an event's time, a long."""
    time_unit: TimeUnit = TimeUnit.MICROSECONDS

    def __post_init__(self) -> None:
        if (self.framing == Framing.RAW) != (self.schema is not None):
            raise ValueError(f"a schema is given for the framing 'raw' and for no other, not for {self.framing!r}")


DETECT = EventFormat()
"""Whatever the first bytes say."""


@dataclass(frozen=True)
class Messages:
    """Of one topic: its columns, equally long."""

    topic: str
    partition: int | npt.NDArray[np.int32]
    """One for all, or one for each."""
    offsets: Sequence[int] | npt.NDArray[np.int64]
    timestamps: Sequence[int] | npt.NDArray[np.int64]
    """Kafka's, in milliseconds; below 0: none."""
    values: Sequence[bytes | None] | ArrowArray
    keys: Sequence[bytes | None] | ArrowArray | None = None
    format: EventFormat = DETECT
