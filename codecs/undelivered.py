"""A notification that its topic could not take, as a record."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from tamis.codecs import released

_SCHEMA = released.newest("Undelivered")


class Obstacle(StrEnum):
    """Why a topic could not take a notification."""

    MISSING = "topic_missing"
    """It was there, and was deleted."""
    NOT_MADE = "topic_not_made"
    """It was never there, and Kafka does not make it."""
    FORBIDDEN = "topic_forbidden"
    UNAVAILABLE = "topic_unavailable"
    """It has no leader, or a replica is behind, for longer than that takes by itself."""
    REFUSED = "topic_refused"
    """By a rule of its own: it is compacted, say, and wants keys."""
    TOO_LARGE = "too_large"
    """The notification is, for a topic that takes others."""


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A notification that its topic could not take. The record's key is the subscriber."""

    subscriber: str
    topic: str
    reason: str
    """One word: an `Obstacle`'s; a newer version may have others."""
    notification: bytes
    """As it was to be sent, with its framing."""
    detail: str = ""
    whole: bool = True
    """False if the event's own bytes were too large and were left out: they are in the event's topic."""

    def encode(self) -> bytes:
        return released.encode(_SCHEMA, self)

    @classmethod
    def decode(cls, value: bytes) -> Self:
        return cls(**released.decode(_SCHEMA, value))
