"""What a subscriber wants, as a record of the subscription topic: key `subscriber/name`, value `Subscription`."""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from tamis.codecs import released
from tamis.codecs.errors import RecordError

_SUBSCRIBER = re.compile(r"[A-Za-z0-9.-]{1,200}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}", re.ASCII)
_SCHEMA = released.newest("Subscription")
_DIGEST_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Subscription:
    """Whether its expression is valid is for a layout's limits to say, not for this."""

    subscriber: str
    name: str
    expression: str
    tags: Mapping[str, str] = field(default_factory=dict)
    scores: bool = False
    paused: str | None = None

    def __post_init__(self) -> None:
        check_subscriber(self.subscriber)
        check_name(self.name)

    @property
    def key(self) -> bytes:
        return key_of(self.subscriber, self.name)

    def encode(self) -> bytes:
        return released.encode(_SCHEMA, self)

    @classmethod
    def decode(cls, value: bytes, key: bytes | None = None) -> Self:
        """RecordError if it is none, or not the one that the record's key says."""
        subscription = cls(**released.decode(_SCHEMA, value))
        if key is not None and key != subscription.key:
            raise RecordError("key_mismatch", f"the key is {key!r}, but the record is of {subscription.key!r}")
        return subscription


def key_of(subscriber: str, name: str) -> bytes:
    return f"{subscriber}/{name}".encode()


def parsed_key(key: bytes) -> tuple[str, str]:
    """Subscriber and name. RecordError if no subscription can have such a key."""
    try:
        subscriber, separator, name = key.decode().partition("/")
    except UnicodeDecodeError:
        raise RecordError("bad_key", f"the key {key[:64]!r} is no UTF-8") from None
    if not separator:
        raise RecordError("bad_key", f"the key {key[:64]!r} is not subscriber/name")
    check_subscriber(subscriber)
    check_name(name)
    return subscriber, name


def default_name(canonical_text: str) -> str:
    """The name of a subscription that was given none: the same expression has the same."""
    digest = hashlib.sha256(canonical_text.encode()).digest()
    return base64.b32encode(digest)[:_DIGEST_CHARACTERS].decode()


def check_subscriber(subscriber: str) -> None:
    if not _SUBSCRIBER.fullmatch(subscriber):
        raise RecordError("bad_key", f"a subscriber is 1 to 200 of A-Z a-z 0-9 . -, not {subscriber[:256]!r}")


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise RecordError("bad_key", f"a subscription's name is 1 to 200 of A-Z a-z 0-9 . - _, not {name[:256]!r}")
