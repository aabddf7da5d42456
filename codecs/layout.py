"""How a cluster's work is cut: the record that every process must agree on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from tamis.codecs import released, rules
from tamis.codecs.errors import RecordError
from tamis.indexes.limits import Limits

KEY = b"layout"
_SCHEMA = released.newest("Layout")


@dataclass(frozen=True, slots=True)
class Start:
    """Where an event partition begins that has no committed offset."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Written when topics are made or shards are cut anew; a process that disagrees with the newest one stops."""

    number: int
    """Which layout of this cluster it is, from 1 on."""
    shards: int
    partitions: int
    """Of the subscription topic."""
    topics: Mapping[str, str]
    """The ids of the subscription topic and of all event topics, by name, as Kafka prints them."""
    limits: Limits
    """What an expression may cost; one that exceeds a limit is invalid."""
    starts: Sequence[Start] = ()
    rules: str = ""
    """A digest of the language's version and the limits: this version's, if none is given."""

    def __post_init__(self) -> None:
        for name in ("number", "shards", "partitions"):
            if getattr(self, name) < 1:
                raise RecordError("bad_value", f"a layout's {name} is 1 or more, not {getattr(self, name)}")
        if self.shards > self.partitions:
            raise RecordError(
                "bad_value", f"{self.shards} shards of {self.partitions} partitions: some would have no subscriptions"
            )
        object.__setattr__(self, "starts", tuple(self.starts))
        object.__setattr__(self, "rules", self.rules or rules.digest(self.limits))

    def encode(self) -> bytes:
        return released.encode(_SCHEMA, self)

    @classmethod
    def decode(cls, value: bytes) -> Self:
        fields = released.decode(_SCHEMA, value)
        try:
            fields["limits"] = Limits(**fields["limits"])
        except ValueError as error:
            raise RecordError("bad_value", str(error)) from None
        fields["starts"] = [Start(**start) for start in fields["starts"]]
        return cls(**fields)
