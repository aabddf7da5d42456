"""Generations of snapshots in Redis: written in chunks, made known by a pointer that only moves forward.

A shard's pointer names its generations, newest first. It is changed by WATCH and MULTI, and only to a view that is not
behind the one it names: who was slow, or slept, cannot put its older snapshot in the place of a newer one. Everything
expires by itself once it is too old to be used, also what a writer that died has left.

Nothing that is read here is believed: sizes are bounded before they are fetched, and chunks are held to their digests.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeGuard

import xxhash

from tamis.broker.redis import Pipeline, Redis, RedisError, WatchError, cut_off
from tamis.codecs.errors import RecordError
from tamis.codecs.layout import Layout
from tamis.codecs.view import View
from tamis.indexes import SnapshotError

FORMAT = 1
KEPT = 2
"""Generations: if the newest is damaged, there is the one before."""
CHUNK_BYTES = 4 << 20
"""Larger ones are read several times as slowly by redis-py."""
_MANIFEST_BYTES_MAX = 1 << 20
_CHUNKS_MAX = 1 << 16
_TRIES = 5
_SECONDS_MAX = 1e12
_UNKNOWN_SECONDS = 3600
"""For so long there is what no pointer names: a writer that died has left it."""

Advance = Callable[[int], None]


class OvertakenError(Exception):
    """A newer generation is there already, and this one was not kept."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What is known of a snapshot without reading it."""

    name: str
    created: float
    """When its view was in force, in seconds since 1970 by the clock of Redis."""
    view: View
    subscriptions: int
    rules: str
    size: int
    chunks: Sequence[str] = field(repr=False, default=())
    """The digests of its chunks, all of `CHUNK_BYTES` but the last one."""
    made: float | None = None
    """The same as `created`, by the clock of the machine that made it; None if that was not noted."""

    def encode(self) -> str:
        return json.dumps({**asdict(self), "view": self.view.text, "format": FORMAT})

    @classmethod
    def decode(cls, text: bytes) -> Self:
        """SnapshotError if it is none."""
        try:
            return cls._of(json.loads(text))
        except (ValueError, RecursionError, RecordError) as error:
            if isinstance(error, SnapshotError):
                raise
            raise SnapshotError(f"what Redis has of it cannot be read: {error}") from None

    @classmethod
    def _of(cls, told: object) -> Self:
        match told:
            case {"format": int(format)} if format != FORMAT:
                raise SnapshotError(f"it is of format {format}; this version of Tamis reads format {FORMAT}")
            case {
                "name": str(name),
                "created": int(created) | float(created),
                "view": str(view),
                "subscriptions": int(subscriptions),
                "rules": str(rules),
                "size": int(size),
                "chunks": [*chunks],
                "format": int(),
                **others,
            } if len(chunks) == -(-size // CHUNK_BYTES) <= _CHUNKS_MAX and all(
                isinstance(each, str) for each in chunks
            ):
                made = others.get("made")
                if not _is_time(created) or not (made is None or _is_time(made)):
                    raise SnapshotError("it does not tell when it was made")
                return cls(name, created, View.parse(view), int(subscriptions), rules, int(size), tuple(chunks), made)
            case _:
                raise SnapshotError("what Redis has of it does not fit together")


class SnapshotStore:
    """The generations of one shard of one subscription topic: of another topic, even of its name, there are others."""

    def __init__(self, client: Redis, prefix: str, topic_id: str, layout: Layout, shard: int) -> None:
        self._client = client
        # In braces, so that a cluster of Redis has all of them in one place, as WATCH needs.
        self.key = f"{prefix}.snapshots:{{{topic_id}/{layout.number}/{shard}}}"

    def close(self) -> None:
        self._client.close()

    def cut_off(self, seconds: float) -> AbstractContextManager[None]:
        """A block in which Redis may take so long."""
        return cut_off(self._client, seconds)

    def dropping_policy(self) -> str:
        """By which policy Redis drops what is ours when it is full; empty if it does not, or does not say."""
        try:
            policy = self._client.info("memory").get("maxmemory_policy", "noeviction")
        except RedisError:
            return ""
        return "" if policy == "noeviction" else str(policy)

    def now(self) -> float:
        """By the one clock that all who share it can ask."""
        seconds, microseconds = self._client.time()
        return float(seconds) + microseconds / 1_000_000

    def names(self) -> list[str]:
        """Of the generations, newest first."""
        return self._named(self._bounded(self.key))

    def generation(self, name: str) -> Generation:
        """SnapshotError if it is gone, or was never one."""
        told = self._bounded(f"{self.key}:{name}")
        if told is None:
            raise SnapshotError("Redis does not have it any more")
        found = Generation.decode(told)
        if found.name != name:
            raise SnapshotError(f"it says that it is generation {found.name}")
        return found

    def is_whole(self, generation: Generation) -> bool:
        """Whether each chunk is there, whatever is in it: Redis may drop some of them when it is full."""
        return all(self._range(self._chunk(generation.name, number), 0) for number in range(len(generation.chunks)))

    def fetch(self, generation: Generation, path: Path, advance: Advance | None = None) -> None:
        """Write the file that it is. SnapshotError if a chunk is not what it was; RedisError."""
        left = generation.size
        with path.open("wb") as file:
            for number, digest in enumerate(generation.chunks):
                size = min(CHUNK_BYTES, left)
                # One byte more, so that one that is too long is noticed, and never fetched as a whole.
                chunk = self._range(self._chunk(generation.name, number), size)
                if chunk is None:
                    raise SnapshotError(f"chunk {number} of {len(generation.chunks)} is no string")
                if len(chunk) != size or xxhash.xxh3_128_hexdigest(chunk) != digest:
                    state = "missing" if not chunk else "damaged"
                    raise SnapshotError(f"chunk {number} of {len(generation.chunks)} is {state}")
                file.write(chunk)
                left -= size
                if advance is not None:
                    advance(size)

    def put(self, path: Path, about: Generation, lifetime: float, advance: Advance | None = None) -> Generation:
        """Keep a file for so many seconds, under a name that is made here. OvertakenError, RedisError."""
        name = f"{int(about.created)}-{os.urandom(4).hex()}"
        digests: list[str] = []
        size = 0
        try:
            with path.open("rb") as file:
                while chunk := file.read(CHUNK_BYTES):
                    self._client.set(self._chunk(name, len(digests)), chunk, ex=_UNKNOWN_SECONDS)
                    digests.append(xxhash.xxh3_128_hexdigest(chunk))
                    size += len(chunk)
                    if advance is not None:
                        advance(len(chunk))
            made = replace(about, name=name, size=size, chunks=tuple(digests))
            self._client.set(f"{self.key}:{name}", made.encode(), ex=_UNKNOWN_SECONDS)
        except BaseException:
            self._remove(name, len(digests))
            raise
        try:
            dropped = self._point_to(made, max(1, int(lifetime)))
        except OvertakenError:  # after any other error the pointer may name it all the same; what it does not expires
            self._remove(name, len(digests))
            raise
        for old in dropped:
            self._remove(old)
        return made

    def discard(self, name: str) -> None:
        """A generation that proved to be of no use: it must not stand in the way of the next one."""
        for _ in range(_TRIES):
            with self._client.pipeline() as pipeline:
                try:
                    names = self._watched(pipeline)
                    if name in names:
                        names.remove(name)
                        pipeline.multi()
                        if names:
                            pipeline.set(self.key, json.dumps(names), keepttl=True)
                        else:
                            pipeline.delete(self.key)
                        pipeline.execute()
                    break
                except WatchError:
                    continue
        self._remove(name)

    def _point_to(self, made: Generation, seconds: int) -> list[str]:
        """Make it known; the names of those that are no longer."""
        for _ in range(_TRIES):
            with self._client.pipeline() as pipeline:
                try:
                    names = self._watched(pipeline)
                    known = self._known(names)
                    if known and not made.view.reaches(known[0].view):
                        raise OvertakenError(f"{known[0].name} is newer, at view {known[0].view.text}")
                    kept = [each.name for each in known[: KEPT - 1]]
                    pipeline.multi()
                    pipeline.set(self.key, json.dumps([made.name, *kept]), ex=seconds)
                    for key in self._keys(made.name, len(made.chunks)):
                        pipeline.expire(key, seconds)
                    pipeline.execute()
                    return [name for name in names if name not in kept]
                except WatchError:
                    continue
        raise OvertakenError("others keep writing at the same time")

    def _watched(self, pipeline: Pipeline) -> list[str]:
        pipeline.watch(self.key)  # type: ignore[no-untyped-call]
        try:
            return self._named(pipeline.getrange(self.key, 0, _MANIFEST_BYTES_MAX))
        except RedisError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            return []  # somebody else's, under a name that is ours

    def _known(self, names: Sequence[str]) -> list[Generation]:
        """Those that can be told anything of."""
        found = []
        for name in names:
            with suppress(SnapshotError):
                found.append(self.generation(name))
        return found

    def _named(self, told: bytes | str | None) -> list[str]:
        try:
            names = json.loads(told or b"[]")
        except (ValueError, RecursionError):
            return []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def _bounded(self, key: str) -> bytes | None:
        """None if there is nothing, or what no manifest can be."""
        told = self._range(key, _MANIFEST_BYTES_MAX)
        return told if told is not None and 0 < len(told) <= _MANIFEST_BYTES_MAX else None

    def _range(self, key: str, last: int) -> bytes | None:
        """Up to this byte, and with it; None if it is somebody else's, and no string."""
        try:
            told: Any = self._client.getrange(key, 0, last)
        except RedisError as error:
            if str(error).startswith("WRONGTYPE"):
                return None
            raise
        return bytes(told)

    def _remove(self, name: str, chunks: int | None = None) -> None:
        """As far as Redis lets us: what is left expires."""
        try:
            if chunks is None:
                chunks = len(self.generation(name).chunks)
            self._client.unlink(*self._keys(name, chunks))
        except (RedisError, SnapshotError):
            return

    def _keys(self, name: str, chunks: int) -> list[str]:
        return [f"{self.key}:{name}", *(self._chunk(name, number) for number in range(chunks))]

    def _chunk(self, name: str, number: int) -> str:
        return f"{self.key}:{name}:{number}"


def _is_time(value: object) -> TypeGuard[float]:
    """Seconds since 1970, and no number that is none."""
    return isinstance(value, int | float) and abs(value) < _SECONDS_MAX
