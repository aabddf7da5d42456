"""The file that events are matched against: a snapshot, and beside its expressions whose they are and when they held.

It is made once, by the driver, and mapped by every Python worker. An id is a version's place in the order of the keys'
bytes, so that what an engine finds in the order of ids is in the order of keys. Columns beside the expressions:

| column | of | what |
| --- | --- | --- |
| `key_starts`, `key_bytes` | version | `subscriber/name`, end to end in UTF-8 |
| `tag_starts`, `tag_bytes` | version | its tags, as JSON |
| `scores` | version | whether it asks for scores |
| `owners` | version | its subscriber, by place among all |
| `places`, `since`, `until` | version | partition of the log (a place in the metadata), and from where to where |
| `mark_offsets`, `mark_after`, `mark_views`, `positions` | mark, view | `ViewTable` |

Without views, the last two rows are not there: every version holds always. A snapshot that a broker or `tamis snapshot
save` made has whose its expressions are in columns of its own. One that somebody else saved has none of all this; its
subscriptions are called by their ids.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.broker.frozen_state import ABOUT, columns_of, tags_of
from tamis.codecs.frozen_table import check_strings
from tamis.indexes import Index, SnapshotError, create, load
from tamis.spark_sink.versions import LogPlace, Version
from tamis.spark_sink.views import Source, ViewHistory, ViewTable

_PLAIN = "scan"
"""An engine without a structure of its own."""
_HEADER_BYTES = 40
_CHECKSUM_BYTES = 8


@dataclass(frozen=True, slots=True)
class Texts:
    """Many texts, end to end: Arrow's own layout, so that a column of strings needs no copy."""

    starts: NDArray[np.int64]
    data: NDArray[np.uint8]

    @classmethod
    def of(cls, texts: Iterable[bytes]) -> "Texts":
        found = list(texts)
        starts = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(text) for text in found], out=starts[1:])
        return cls(starts, np.frombuffer(b"".join(found), np.uint8))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, place: int) -> bytes:
        return self.data[int(self.starts[place]) : int(self.starts[place + 1])].tobytes()


@dataclass(frozen=True, slots=True)
class Holding:
    """When versions held."""

    table: ViewTable
    places: NDArray[np.uint32]
    since: NDArray[np.int64]
    until: NDArray[np.int64]
    shards: NDArray[np.int32]
    """Of each place of the log, the shard that has it."""

    def holds(
        self,
        marks: NDArray[np.int64],
        offsets: NDArray[np.int64],
        events: NDArray[np.int64],
        ids: NDArray[np.uint32],
        owners: NDArray[np.uint32],
    ) -> NDArray[np.bool_]:
        """Which pairs of an event and a version are true of the view that the event was matched at.

        `marks` and `offsets` are of all events, by shard and event (`ViewTable.marks_of`); `owners` of all versions.
        """
        places = self.places[ids]
        rows = self.table.rows_of(marks[self.shards[places], events], offsets[events], owners[ids])
        ends = self.table.positions[np.maximum(rows, 0), places] if len(self.table.positions) else np.zeros(len(ids))
        held: NDArray[np.bool_] = (rows >= 0) & (self.since[ids] < ends) & (ends <= self.until[ids])
        return held


@dataclass(frozen=True, slots=True)
class MatchFile:
    """What a worker has of it."""

    index: Index
    keys: Texts
    """Of each id in their order."""
    owners: NDArray[np.uint32]
    holding: Holding | None
    tags: Texts | None = None
    scores: NDArray[np.bool_] | None = None
    ids: NDArray[np.uint32] | None = None
    """None if an id is its own place."""

    def places_of(self, ids: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Where keys and all else of these ids are."""
        return ids if self.ids is None else np.searchsorted(self.ids, ids).astype(np.uint32)


def write_match_file(
    path: Path,
    versions: Sequence[Version],
    history: ViewHistory | None = None,
    shards: int = 1,
    views: Sequence[int] = (),
) -> None:
    """Of versions that hold always; or, with a history, where they held at some of its views."""
    encoded = [version.key.encode() for version in versions]
    order = sorted(range(len(versions)), key=lambda place: (encoded[place], versions[place].since))
    ordered = [versions[place] for place in order]
    keys = Texts.of(encoded[place] for place in order)
    tags = Texts.of(_json(version.tags) for version in ordered)
    subscribers = sorted({version.subscriber.encode() for version in versions})
    owners = {subscriber: number for number, subscriber in enumerate(subscribers)}
    columns: dict[str, NDArray[Any]] = {
        "key_starts": keys.starts,
        "key_bytes": keys.data,
        "tag_starts": tags.starts,
        "tag_bytes": tags.data,
        "scores": np.array([version.scores for version in ordered], np.bool_),
        "owners": np.array([owners[version.subscriber.encode()] for version in ordered], np.uint32),
    }
    metadata: dict[str, Any] = {}
    if history is not None:
        places = sorted({version.place for version in versions})
        table = ViewTable.of(history, views, shards, places, subscribers)
        numbers = {place: number for number, place in enumerate(places)}
        columns |= {
            "places": np.array([numbers[version.place] for version in ordered], np.uint32),
            "since": np.array([version.since for version in ordered], np.int64),
            "until": np.array([version.until for version in ordered], np.int64),
            "mark_offsets": table.offsets,
            "mark_after": table.after,
            "mark_views": table.views,
            "positions": table.positions.reshape(-1),
        }
        ranges = [[*source, *bounds] for source, bounds in table.ranges.items()]
        metadata = {
            "shards": shards,
            "views": len(views),
            "places": [list(place) for place in places],
            "ranges": ranges,
        }
    index = create(_PLAIN)
    index.insert_many(np.arange(len(ordered), dtype=np.uint32), [version.expression for version in ordered])
    index.save(path, columns, metadata)


def load_match_file(path: str | os.PathLike[str], engine: str) -> MatchFile:
    """Mapped; what is built anew is the engine's own structure. SnapshotError if it is not what it should be."""
    index = load(path, engine)
    columns, metadata = index.columns, index.metadata
    if ABOUT in metadata:
        return _of_broker(index)
    if "key_starts" not in columns:
        return _foreign(index)
    try:
        keys = Texts(columns["key_starts"], columns["key_bytes"])
        tags = Texts(columns["tag_starts"], columns["tag_bytes"])
        holding = _holding(columns, metadata) if "positions" in columns else None
        file = MatchFile(index, keys, columns["owners"], holding, tags, columns["scores"])
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"{path} has not the columns of a file to match against: {error!r}") from error
    if len(keys) != len(index) or (len(index) and int(index.ids()[-1]) != len(index) - 1):
        raise SnapshotError(f"{path} has {len(index)} expressions and {len(keys)} keys")
    return file


def asks_key(path: Path) -> bool:
    """Whether an expression of the file asks for `$key`. SnapshotError if it is no file to match against."""
    return "$key" in load_match_file(path, _PLAIN).index.vocabulary


def digest_of(path: Path) -> str:
    """Of all that is in the file: the checksum in its header covers those of all its sections."""
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)[-_CHECKSUM_BYTES:].hex()


def _of_broker(index: Index) -> MatchFile:
    """What was in force at one view, as brokers keep it."""
    columns, ids = columns_of(index.columns), index.ids()
    check_strings(columns["key_starts"], columns["key_bytes"])
    keys = Texts(columns["key_starts"].astype(np.int64), columns["key_bytes"])
    if not len(ids) == len(keys) == len(columns["subscriber"]) == len(columns["scores"]):
        raise SnapshotError("it is a snapshot whose columns are not as long as it has expressions")
    owners = np.searchsorted(columns["subscriber_numbers"], columns["subscriber"]).astype(np.uint32)
    tags = Texts.of(_json(told) for told in tags_of(index.columns, index.metadata))
    return MatchFile(index, keys, owners, None, tags, columns["scores"], ids)


def _foreign(index: Index) -> MatchFile:
    """With the ids as names."""
    ids = index.ids()
    return MatchFile(
        index, Texts.of(str(each).encode() for each in ids.tolist()), np.zeros(len(ids), np.uint32), None, ids=ids
    )


def _holding(columns: Any, metadata: Any) -> Holding:
    shards, places = int(metadata["shards"]), [LogPlace(*place) for place in metadata["places"]]
    table = ViewTable(
        {Source(*told[:3]): (told[3], told[4]) for told in metadata["ranges"]},
        columns["mark_offsets"],
        columns["mark_after"],
        columns["mark_views"],
        columns["positions"].reshape(int(metadata["views"]), len(places)),
        shards,
    )
    of_places = np.array([place.partition % shards for place in places], np.int32)
    return Holding(table, columns["places"], columns["since"], columns["until"], of_places)


def _json(tags: Any) -> bytes:
    return json.dumps(dict(tags), ensure_ascii=False, separators=(",", ":")).encode() if tags else b"{}"
