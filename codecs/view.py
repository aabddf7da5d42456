"""Views: how far the subscription topic was applied when an event was matched.

A view has two spellings. As the header `tamis-view` and in the metadata of offsets it is text, since the latter must
be; as a record of `tamis.views` it is Avro, with the events that it was good for.

An event with matches of more subscribers than one transaction takes goes out in several, in the order of the
subscribers' names. `Progress` is how far that is, `ViewRecord.after` where another view took over in the middle.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from tamis.codecs import released
from tamis.codecs.errors import RecordError

_SCHEMA = released.newest("View")
_VERSION = "1"
_TEXT_MAX = 1 << 20
_METADATA_MAX = 4095
"""Kafka's bound on what is committed beside an offset."""
_LAYOUT = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
_POSITION = re.compile(r"(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,18}):(-1|0|[1-9][0-9]{0,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a partition of the subscription topic was applied."""

    partition: int
    offset: int
    """The next one."""
    leader_epoch: int = -1
    """Of the last record that was applied; -1 if none was."""


@dataclass(frozen=True, slots=True)
class View:
    """The positions of a shard's partitions, ascending by partition."""

    layout: int
    positions: Sequence[Position]

    def __post_init__(self) -> None:
        positions = tuple(self.positions)
        partitions = [position.partition for position in positions]
        if partitions != sorted(set(partitions)):
            raise RecordError("bad_value", f"the partitions of a view ascend; these are {partitions[:20]}")
        object.__setattr__(self, "positions", positions)

    @property
    def text(self) -> str:
        """`1;<layout>;<partition>:<offset>:<leader epoch>,...`, of which the first character is the version."""
        told = ",".join(f"{at.partition}:{at.offset}:{at.leader_epoch}" for at in self.positions)
        return f"{_VERSION};{self.layout};{told}"

    @property
    def header(self) -> bytes:
        return self.text.encode()

    def reaches(self, other: "View") -> bool:
        """Whether it is of the same layout and partitions, and nowhere behind."""
        return (
            self.layout == other.layout
            and [at.partition for at in self.positions] == [at.partition for at in other.positions]
            and all(mine.offset >= yours.offset for mine, yours in zip(self.positions, other.positions, strict=True))
        )

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        version, _, rest = text[:_TEXT_MAX].partition(";")
        if version != _VERSION:
            raise RecordError("unknown_version", f"a view begins with '{_VERSION};', not {text[:8]!r}")
        layout, separator, told = rest.partition(";")
        positions = [_POSITION.fullmatch(part) for part in told.split(",")] if told else []
        if not separator or not _LAYOUT.fullmatch(layout) or None in positions:
            raise RecordError("bad_syntax", f"a view is 1;layout;partition:offset:epoch,..., not {text[:200]!r}")
        return cls(int(layout), [Position(*map(int, match.groups())) for match in positions if match])


@dataclass(frozen=True, slots=True)
class Progress:
    """What is committed beside an offset: the view that the events before it were matched at, and what is done of it.

    As text, within what Kafka keeps: a view that is too long for it is left out, and its place stays empty.
    """

    view: View | None = None
    after: str = ""
    """Of the event at the offset itself, notifications went to the subscribers up to this one. Empty: to none."""

    @property
    def text(self) -> str:
        view = "" if self.view is None else self.view.text
        mark = f"|{self.after}" if self.after else ""
        return view + mark if len(view) + len(mark) <= _METADATA_MAX else mark

    @classmethod
    def parse(cls, text: str) -> Self:
        """Nothing is known where nothing was committed, or what others did. RecordError if it is of a newer version."""
        view, _, after = text.partition("|")
        return cls(View.parse(view) if view else None, after)


@dataclass(frozen=True, slots=True)
class ViewRecord:
    """That events of a partition, from an offset on, were matched at a view; it holds until the next one."""

    shard: int
    topic: str
    topic_id: str
    partition: int
    first_offset: int
    rules: str
    """A digest of the language's version and the limits."""
    subscriptions_id: str
    """The id of the subscription topic."""
    view: View
    after: str = ""
    """Of the first event only the subscribers behind this one, by their names' bytes: the others came under the view
    before, in transactions of their own. Empty: all of them."""

    @property
    def key(self) -> bytes:
        return self.key_of(self.shard, self.topic, self.partition)

    @staticmethod
    def key_of(shard: int, topic: str, partition: int) -> bytes:
        return f"{shard}/{topic}/{partition}".encode()

    def encode(self) -> bytes:
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "view"}
        return released.encode(_SCHEMA, fields | {"layout": self.view.layout, "positions": self.view.positions})

    @classmethod
    def decode(cls, value: bytes) -> Self:
        fields = released.decode(_SCHEMA, value)
        positions = [Position(**position) for position in fields.pop("positions")]
        view = View(fields.pop("layout"), positions)
        return cls(**fields, view=view)
