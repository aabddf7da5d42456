"""What is in force, as a snapshot file has it: the columns beside the expressions. `docs/snapshots.md` tells users.

Of each subscription its key, whose it is, and what notifications tell of it. What is equal for many, subscribers and
texts, is there once.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.codecs.formats import NotificationFormat
from tamis.codecs.frozen_table import FrozenTable, check_strings, restored_table
from tamis.codecs.match_texts import told_by
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes import Index, SnapshotError
from tamis.indexes.engines import adopted
from tamis.indexes.frozen import FrozenIndex
from tamis.indexes.snapshot import read_snapshot
from tamis.indexes.string_columns import FrozenStrings, restored_strings
from tamis.indexes.vocabulary import Vocabulary

ABOUT = "tamis"
"""Under which name a snapshot's metadata have what is said here of it."""
_NOTIFICATIONS = "notifications"
_COLUMNS = {
    "key_starts": "<u8",
    "key_bytes": "|u1",
    "subscriber": "<u4",
    "scores": "|b1",
    "text": "<u4",
    "subscriber_numbers": "<u4",
    "subscriber_starts": "<u8",
    "subscriber_bytes": "|u1",
    "text_ids": "<u4",
    "text_starts": "<u8",
    "text_bytes": "|u1",
}


@dataclass(frozen=True, slots=True)
class FrozenState:
    """What was in force at one moment. It shares the memory, and changes no more."""

    index: FrozenIndex
    table: FrozenTable
    keys: FrozenStrings
    subscribers: FrozenStrings

    def __len__(self) -> int:
        return len(self.index)

    def save(self, path: str | PathLike[str], about: Mapping[str, Any]) -> None:
        """Write a snapshot, with what is to be known about it."""
        ids = self.table.ids()
        owners, scores, texts = self.table.columns(ids)
        numbers, text_ids = _distinct(owners), _distinct(texts)
        key_starts, key_bytes = self.keys.columns(ids)
        subscriber_starts, subscriber_bytes = self.subscribers.columns(numbers)
        text_starts, text_bytes = self.table.texts.columns(text_ids)
        columns: dict[str, NDArray[Any]] = {
            "key_starts": key_starts,
            "key_bytes": key_bytes,
            "subscriber": owners,
            "scores": scores,
            "text": texts,
            "subscriber_numbers": numbers,
            "subscriber_starts": subscriber_starts,
            "subscriber_bytes": subscriber_bytes,
            "text_ids": text_ids,
            "text_starts": text_starts,
            "text_bytes": text_bytes,
        }
        self.index.save(path, columns, {ABOUT: {**about, _NOTIFICATIONS: self.table.format.value}})


def _distinct(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """In order. For a million, `np.unique` takes a second, and has other threads wait for a quarter of that."""
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


@dataclass(frozen=True, slots=True)
class Parts:
    """What is in force consists of these."""

    index: Index
    table: SubscriptionTable
    keys: Vocabulary
    subscribers: Vocabulary
    scored: set[int]


def parts_of(path: str | PathLike[str], engine: str, notification_format: NotificationFormat) -> Parts:
    """Of what a snapshot holds. SnapshotError if it is damaged, or none of subscriptions."""
    snapshot = read_snapshot(path)
    columns, about = columns_of(snapshot.columns), about_of(snapshot.metadata)
    ids, ones = snapshot.ids, np.ones(len(snapshot.ids), np.uint32)
    if not len(ids) == len(columns["subscriber"]) == len(columns["scores"]) == len(columns["text"]):
        raise SnapshotError(f"{path} has columns that are not as long as it has expressions")
    check_strings(columns["key_starts"], columns["key_bytes"])
    check_strings(columns["subscriber_starts"], columns["subscriber_bytes"])
    with ThreadPoolExecutor(1) as beside:  # a core for the index, and one for all else, which takes about as long
        index = beside.submit(adopted, snapshot, engine)
        keys = restored_strings(ids, columns["key_starts"], columns["key_bytes"], ones)
        saved = NotificationFormat(about[_NOTIFICATIONS])
        subscribers, table = _subscribers_and_table(path, columns, ids, saved, notification_format)
        return Parts(index.result(), table, keys, subscribers, set(ids[columns["scores"]].tolist()))


def _subscribers_and_table(
    path: str | PathLike[str],
    columns: Mapping[str, NDArray[Any]],
    ids: NDArray[np.uint32],
    saved: NotificationFormat,
    notification_format: NotificationFormat,
) -> tuple[Vocabulary, SubscriptionTable]:
    """Whose subscriptions they are, and what notifications tell of them."""
    numbers, counts = np.unique(columns["subscriber"], return_counts=True)
    if not np.array_equal(numbers, columns["subscriber_numbers"]):
        raise SnapshotError(f"{path} does not have just the subscribers whose subscriptions it has")
    subscribers = restored_strings(numbers, columns["subscriber_starts"], columns["subscriber_bytes"], counts)
    told = (columns[name] for name in ("subscriber", "scores", "text", "text_ids", "text_starts", "text_bytes"))
    return subscribers, restored_table(notification_format, saved, ids, *told)


def about_of(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was said of a snapshot when it was saved. SnapshotError if it is none of subscriptions."""
    about = metadata.get(ABOUT)
    if not isinstance(about, dict) or about.get(_NOTIFICATIONS) not in set(NotificationFormat):
        raise SnapshotError("it is a snapshot of an index alone, without whose subscriptions they are")
    return about


def columns_of(columns: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """SnapshotError if one is missing, or of another type."""
    for name, dtype in _COLUMNS.items():
        if name not in columns or columns[name].dtype.str != dtype:
            raise SnapshotError(f"it is a snapshot without a column {name!r} of type {dtype!r}")
    return columns


def tags_of(columns: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """The tags, in the order of the ids; those of one text are one object. SnapshotError if a text is none."""
    written = NotificationFormat(about_of(metadata)[_NOTIFICATIONS])
    data, starts = columns["text_bytes"].tobytes(), columns["text_starts"].tolist()
    told = [told_by(written, data[start:end])[1] for start, end in pairwise(starts)]
    places = np.searchsorted(columns["text_ids"], columns["text"])
    if len(told) != len(columns["text_ids"]) or np.any(places >= len(told)):
        raise SnapshotError("it is a snapshot whose texts are not all there")
    return [told[place] for place in places.tolist()]
