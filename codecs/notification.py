"""What a subscriber gets for an event, as a plain object. `notification_encoder` writes many at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from tamis.codecs import released

SCHEMA = released.newest("Notification")


@dataclass(frozen=True, slots=True)
class Match:
    """A subscription that matched."""

    name: str
    tags: Mapping[str, str] = field(default_factory=dict)
    score: float | None = None
    """If the subscription asks for it."""


@dataclass(frozen=True, slots=True)
class Notification:
    """Of one event and one subscriber."""

    id: str
    """The event's; topic/partition/offset if it has none of its own."""
    time: int
    """The event's, in microseconds since 1970."""
    topic: str
    partition: int
    offset: int
    matches: Sequence[Match]
    event: bytes | None
    """As it came, with its framing. None only where it was too large for `tamis.undelivered`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "matches", tuple(self.matches))

    def encode(self) -> bytes:
        return released.encode(SCHEMA, self)

    @classmethod
    def decode(cls, value: bytes) -> Self:
        fields = released.decode(SCHEMA, value)
        fields["matches"] = [Match(**match) for match in fields["matches"]]
        return cls(**fields)
