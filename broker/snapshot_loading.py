"""Starting from a snapshot: the newest that passes every check, and what is in force by it.

A check that fails says so once and sends us to the next generation, and behind the last one to the log itself. So
whatever Redis has or has not, the state is the same in the end; only how long it takes differs.
"""

import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tamis.broker.configuration import Settings
from tamis.broker.frozen_state import about_of
from tamis.broker.kafka import AdminClient, KafkaException, admin_client, end_offsets, first_offsets
from tamis.broker.redis import RedisError, connect
from tamis.broker.slots import state_folder
from tamis.broker.snapshot_store import Advance, Generation, SnapshotStore
from tamis.broker.subscription_state import SubscriptionState
from tamis.broker.topic_facts import topic_facts
from tamis.codecs.layout import Layout
from tamis.codecs.view import View
from tamis.indexes import SnapshotError

SECONDS = 2.0
"""For so long Redis may be silent."""
REDIS_SECONDS = 60.0
"""For so long it may take: who has got no snapshot by then reads the log."""
_UNSEEN_RETENTION_MS = 24 * 60 * 60 * 1000
"""Kafka's own default, where the topic's configuration may not be seen."""
_MARGIN = 0.9
_LEFT_SECONDS = 3600
_AHEAD_SECONDS = 300.0
"""By so much the clock of Redis may have been put back."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Extent:
    """What a snapshot must fit: a shard, and its log as it is."""

    layout: Layout
    shard: int
    topic_id: str
    lows: Mapping[int, int]
    ends: Mapping[int, int]
    lifetime: float
    """For how many seconds a snapshot is good: then tombstones of what it holds may be gone from the log."""

    @property
    def partitions(self) -> list[int]:
        return sorted(self.ends)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a generation held."""

    state: SubscriptionState
    view: View
    generation: Generation


def store_of(settings: Settings, layout: Layout, shard: int) -> SnapshotStore:
    client = connect(settings.redis, SECONDS)
    return SnapshotStore(client, settings.prefix, layout.topics[settings.names.subscriptions], layout, shard)


def extent_of(settings: Settings, admin: AdminClient, layout: Layout, shard: int) -> Extent:
    """KafkaException if Kafka does not tell."""
    topic = settings.names.subscriptions
    partitions = [number for number in range(layout.partitions) if number % layout.shards == shard]
    lows, ends = first_offsets(admin, topic, partitions), end_offsets(admin, topic, partitions)
    return Extent(layout, shard, layout.topics[topic], lows, ends, lifetime(settings, admin))


def lifetime(settings: Settings, admin: AdminClient) -> float:
    """For how many seconds a snapshot is of use."""
    facts = topic_facts(admin, [settings.names.subscriptions]).get(settings.names.subscriptions)
    config = None if facts is None else facts.config
    return _MARGIN * int((config or {}).get("delete.retention.ms", _UNSEEN_RETENTION_MS)) / 1000


def newest_kept(settings: Settings, layout: Layout, shard: int) -> tuple[Generation | None, bool]:
    """The newest generation, and whether there should be another one: there is none, or half of its time is over.

    RedisError, OSError, ValueError, KafkaException.
    """
    with closing(store_of(settings, layout, shard)) as store, store.cut_off(REDIS_SECONDS):
        try:
            newest = next((store.generation(name) for name in store.names()), None)
        except SnapshotError:
            newest = None
        if newest is None or not store.is_whole(newest):
            return None, True
        age = store.now() - newest.created
    return newest, age > lifetime(settings, admin_client(settings.kafka)) / 2


def discard(settings: Settings, layout: Layout, shard: int, name: str | None = None) -> None:
    """One generation, or all of them, of a log that went backwards. What Redis keeps all the same expires."""
    try:
        with closing(store_of(settings, layout, shard)) as store, store.cut_off(REDIS_SECONDS):
            for each in store.names():
                if name in (None, each):
                    store.discard(each)
    except (RedisError, OSError, ValueError) as error:
        _LOG.warning("snapshots of a log that went backwards cannot be taken away: %s", error)


def newest_state(
    settings: Settings, admin: AdminClient, layout: Layout, shard: int, advance: Advance | None = None
) -> Restored | None:
    """Of the newest generation that is of use; None if there is none, or if Redis cannot be asked."""
    try:
        with closing(store_of(settings, layout, shard)) as store, store.cut_off(REDIS_SECONDS):
            names = store.names()
            extent = extent_of(settings, admin, layout, shard) if names else None
            for name in names:
                assert extent is not None
                try:
                    generation = store.generation(name)
                    if reason := next(untimely(generation, extent), None):  # or this clock is wrong: others may use it
                        _LOG.warning("snapshot %s of shard %d is not used: %s", name, shard, reason)
                        continue
                    return restored(settings, store, generation, extent, advance)
                except SnapshotError as error:
                    _LOG.warning("snapshot %s of shard %d is of no use: %s", name, shard, error)
                    store.discard(name)
                except MemoryError:  # of this process: others may have more
                    _LOG.warning("snapshot %s of shard %d is not used: it takes too much memory", name, shard)
    except (RedisError, OSError, ValueError) as error:
        _LOG.warning("no snapshot can be had, so all subscriptions are read: %s", error)
    except KafkaException as error:
        _LOG.warning("whether a snapshot is of use cannot be learnt: %s", error.args[0].str())
    return None


def restored(
    settings: Settings, store: SnapshotStore, generation: Generation, extent: Extent, advance: Advance | None = None
) -> Restored:
    """SnapshotError says which check it did not pass; RedisError."""
    if reason := next(faults(generation, extent, store.now()), None):
        raise SnapshotError(reason)
    with work_folder() as folder:
        # The file is mapped, and so it is there for as long as it is used, though nobody finds it any more.
        path = folder / "snapshot"
        store.fetch(generation, path, advance)
        state = SubscriptionState(extent.layout, settings.broker.engine, settings.notifications.format, path)
    about = about_of(state.index.metadata)
    told = described(extent.layout, extent.shard, extent.topic_id, generation.view)
    if wrong := next((key for key, value in told.items() if about.get(key) != value), None):
        raise SnapshotError(f"the file says {wrong} {about.get(wrong)!r}, not {told[wrong]!r}")
    if len(state) != generation.subscriptions:
        raise SnapshotError(f"it holds {len(state)} subscriptions, not {generation.subscriptions}")
    return Restored(state, generation.view, generation)


def faults(generation: Generation, extent: Extent, now: float) -> Iterator[str]:
    """Why it must not be used, as far as that can be told without reading it; `now` by the clock of Redis."""
    layout, view = extent.layout, generation.view
    if generation.rules != layout.rules:
        yield f"it was made by the rules {generation.rules}, and the layout has {layout.rules}"
    if view.layout != layout.number:
        yield f"it is of layout {view.layout}, not {layout.number}"
    if [at.partition for at in view.positions] != extent.partitions:
        yield "it is of other partitions"
        return
    age = now - generation.created
    if age > extent.lifetime:
        yield _told_age(age)
    if age < -_AHEAD_SECONDS:
        yield f"it is from {-age / 60:.0f} minutes ahead, by the clock of Redis"
    for at in view.positions:
        low, end = extent.lows[at.partition], extent.ends[at.partition]
        if not low <= at.offset <= end:
            yield f"it goes up to offset {at.offset} of partition {at.partition}, which has {low} to {end}"


def untimely(generation: Generation, extent: Extent) -> Iterator[str]:
    """Why it must not be used by the clocks of machines: that of Redis may have been put back since it was made."""
    age = 0.0 if generation.made is None else time.time() - generation.made
    if age > extent.lifetime:
        yield f"{_told_age(age)}, by this machine's clock"


def _told_age(age: float) -> str:
    return f"it is {age / 3600:.1f} hours old: of what ended since, the log may not tell any more"


def described(layout: Layout, shard: int, topic_id: str, view: View) -> dict[str, str | int]:
    """What a snapshot file says of itself."""
    return {
        "topic_id": topic_id,
        "layout": layout.number,
        "shard": shard,
        "partitions": layout.partitions,
        "rules": layout.rules,
        "view": view.text,
    }


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder for a while, beside what else is kept on this machine. What killed processes left goes, too."""
    base = state_folder() / "snapshots"
    base.mkdir(parents=True, exist_ok=True)
    for left in base.iterdir():
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=base) as place:
        yield Path(place)
