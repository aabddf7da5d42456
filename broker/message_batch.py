"""Messages of one poll, as decoders take them: by topic, in columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tamis.broker.kafka import Message
from tamis.codecs.messages import DETECT, EventFormat, Messages


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """By topic; of each partition in its order. A position counts through all topics."""

    messages: Sequence[Message]
    parts: Sequence[Messages]

    @classmethod
    def of(cls, messages: Sequence[Message], formats: Mapping[str, EventFormat]) -> Self:
        by_topic: dict[str, list[Message]] = {}
        for message in messages:
            by_topic.setdefault(message.topic() or "", []).append(message)
        parts = [
            Messages(
                topic,
                np.array([message.partition() for message in part], np.int32),
                np.array([message.offset() for message in part], np.int64),
                np.array([message.timestamp()[1] for message in part], np.int64),
                [message.value() for message in part],
                [message.key() for message in part],
                formats.get(topic, DETECT),
            )
            for topic, part in by_topic.items()
        ]
        return cls([message for part in by_topic.values() for message in part], parts)

    def extents(self) -> dict[tuple[str, int], tuple[int, int]]:
        """The first and the last offset of each partition, by topic and partition."""
        found: dict[tuple[str, int], tuple[int, int]] = {}
        for part in self.parts:
            partitions, offsets = np.asarray(part.partition), np.asarray(part.offsets)
            for partition in np.unique(partitions).tolist():
                here = offsets[partitions == partition]
                found[part.topic, partition] = int(here[0]), int(here[-1])
        return found

    def unread(self) -> Self:
        """Without what the messages say: each is refused, and none is looked at."""
        parts = [replace(part, values=[None] * len(part.offsets)) for part in self.parts]
        return replace(self, parts=parts)

    def __len__(self) -> int:
        return len(self.messages)
