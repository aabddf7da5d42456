"""A notification that its topic could not take, as a record."""

from dataclasses import dataclass
from typing import Self

from tamis.codecs import released

_SCHEMA = released.newest("Undelivered")
TOPIC_MISSING = "topic_missing"
TOPIC_FORBIDDEN = "topic_forbidden"
TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A notification that its topic could not take. The record's key is the subscriber."""

    subscriber: str
    topic: str
    reason: str
    """One word: `TOPIC_MISSING`, `TOPIC_FORBIDDEN`, `TOO_LARGE`; a newer version may have others."""
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
