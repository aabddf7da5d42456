"""What many records of the subscription topic say, in columns."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOBODY = (1 << 32) - 1
"""Whose a record is whose key cannot be read."""


@dataclass(frozen=True, slots=True)
class RefusedSubscription:
    """A record that says no subscription, though it has a value; or whose key no subscription can have."""

    position: int
    reason: str
    """One word, as a `RecordError` has it."""
    message: str


@dataclass(frozen=True, slots=True)
class SubscriptionColumns:
    """A position is a record's place among all that were read. Each record is in one of three columns of positions."""

    keys: list[str | None]
    """Of all records, subscriber/name; None where it cannot be read."""
    owners: NDArray[np.uint32]
    """Of all records, whose they are: a place among `subscribers`, or `NOBODY`."""
    subscribers: list[str]
    """Each once, in the order in which they first own a record here."""
    tombstones: NDArray[np.uint32]
    """The positions of records that only take back what their key had."""
    refusals: list[RefusedSubscription]
    """By position. One whose key can be read takes back what its key had, too."""
    positions: NDArray[np.uint32]
    """The positions of records that say a subscription: all columns below are of these, in this order."""
    names: list[str]
    expressions: list[str]
    """As `parse_many` takes them; whether they are valid was not asked."""
    tags: list[Mapping[str, str]]
    """Not to be written: those that are alike are one object."""
    scores: NDArray[np.bool_]
    paused: list[str | None]
    """Why it matches nothing for now; None if it is in force."""
