"""Headers of the records that Tamis writes: text, each beginning with the version of its format, `1/`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from tamis.codecs.errors import RecordError

ID = "tamis-id"
VIEW = "tamis-view"
"""`View.header`, in `view.py`."""
SOURCE = "tamis-source"
REASON = "tamis-reason"
KEY = "tamis-key"
"""Of an undelivered notification: the key that it was to have, as it is. There is none if the event had none."""
RETRIED = "tamis-retried"
SETTLED = "tamis-settled"
"""This and the one before: a place among the undelivered, or the rejected."""

_WHOLE = rb"(0|[1-9][0-9]{0,18})"
_ID = re.compile(rb"1/([A-Za-z0-9_-]{1,64})/" + _WHOLE + b"/" + _WHOLE + rb"/([A-Za-z0-9.-]{1,200})")
_SOURCE = re.compile(rb"1/([A-Za-z0-9._-]{1,249})/" + _WHOLE + b"/" + _WHOLE)
_REASON = re.compile(rb"1/([a-z0-9_]{1,64})/(.*)", re.DOTALL)
_PLACE = re.compile(b"1/" + _WHOLE + b"/" + _WHOLE)
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class NotificationId:
    """What stays the same when a notification is sent again: who cannot read transactions drops what was there."""

    topic_id: str
    """Of the event's topic, as Kafka prints it."""
    partition: int
    offset: int
    subscriber: str

    @property
    def header(self) -> bytes:
        return f"1/{self.topic_id}/{self.partition}/{self.offset}/{self.subscriber}".encode()

    @classmethod
    def parse(cls, header: bytes) -> Self:
        topic_id, partition, offset, subscriber = _parts(ID, _ID, header)
        return cls(topic_id, int(partition), int(offset), subscriber)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why input was not understood, and where it is: headers beside its key and value as they came."""

    topic: str
    partition: int
    offset: int
    reason: str
    """One word."""
    detail: str = ""

    @property
    def headers(self) -> list[tuple[str, bytes]]:
        """The first one is the same however often it is rejected."""
        return [
            (SOURCE, f"1/{self.topic}/{self.partition}/{self.offset}".encode()),
            (REASON, f"1/{self.reason}/{self.detail}".encode(errors="backslashreplace")),
        ]

    @classmethod
    def parse(cls, headers: Iterable[tuple[str, bytes]]) -> Self:
        found = dict(headers)
        if missing := {SOURCE, REASON} - found.keys():
            raise RecordError("missing_header", f"a rejected record has the header {min(missing)}")
        topic, partition, offset = _parts(SOURCE, _SOURCE, found[SOURCE])
        reason, detail = _parts(REASON, _REASON, found[REASON])
        return cls(topic, int(partition), int(offset), reason, detail)


@dataclass(frozen=True, slots=True, order=True)
class WaitingPlace:
    """Where something waited: on it when it is sent after all, and on the record that says so."""

    partition: int
    offset: int

    @property
    def header(self) -> bytes:
        return f"1/{self.partition}/{self.offset}".encode()

    @classmethod
    def parse(cls, name: str, header: bytes) -> Self:
        """`name` is the header's."""
        partition, offset = _parts(name, _PLACE, header)
        return cls(int(partition), int(offset))


def _parts(name: str, pattern: re.Pattern[bytes], header: bytes) -> list[str]:
    match = pattern.fullmatch(header)
    if match is None:
        reason = "bad_syntax" if header.startswith(b"1/") else "unknown_version"
        raise RecordError(reason, f"the header {name} has another format than version 1: {header[:_SHOWN]!r}")
    return [part.decode(errors="replace") for part in match.groups()]
