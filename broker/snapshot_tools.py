"""What `tamis snapshot` does: look at generations, prove them, make them, and move them between Redis and files."""

import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError, InvalidError, MissingError, UnreachableError
from tamis.broker.frozen_state import about_of
from tamis.broker.kafka import KafkaException, TopicPartition, admin_client, consumer
from tamis.broker.layouts import require_layout
from tamis.broker.shipping import reached, reporter_of
from tamis.broker.snapshot_loading import Extent, extent_of, faults, restored, store_of, untimely, work_folder
from tamis.broker.snapshot_store import Advance, Generation, OvertakenError
from tamis.broker.snapshots import Shot, save, shot_file
from tamis.broker.subscription_log import SubscriptionLog
from tamis.codecs.errors import RecordError
from tamis.codecs.layout import Layout
from tamis.codecs.view import Progress, View
from tamis.indexes import SnapshotError
from tamis.indexes.snapshot import read_snapshot

Tell = Callable[[int, int], None]
"""Is given how much is done, and how much there is."""
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Listed:
    """A generation that Redis has of a shard."""

    shard: int
    name: str
    is_newest: bool
    generation: Generation | None
    age: float | None
    """In seconds."""
    faults: list[str] = field(default_factory=list[str])
    """Why a broker would not use it."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A snapshot that was made."""

    shard: int
    subscriptions: int
    view: View
    size: int
    seconds: float
    name: str = ""
    """Of the generation, if it is in Redis."""


def listed(settings: Settings, shards: list[int] | None = None, name: str | None = None) -> list[Listed]:
    """Newest first, of each shard; only the one of that name, if it is given."""
    layout = require_layout(settings)
    found: list[Listed] = []
    for shard in _chosen(layout, shards):
        with closing(store_of(settings, layout, shard)) as store:
            names = store.names()
            extent = _extent(settings, layout, shard) if names else None
            now = store.now()
            for place, each in enumerate(names):
                assert extent is not None
                if name is not None and each != name:
                    continue
                try:
                    generation = store.generation(each)
                except SnapshotError as error:
                    found.append(Listed(shard, each, place == 0, None, None, [str(error)]))
                    continue
                wrong = [*faults(generation, extent, now), *untimely(generation, extent)]
                found.append(Listed(shard, each, place == 0, generation, now - generation.created, wrong))
    if name is not None and not found:
        raise MissingError(f"Redis has no generation {name}. tamis snapshot list tells which there are.")
    return found


def verified(settings: Settings, asked: Listed, advance: Advance | None = None) -> str:
    """Load it as a broker would: why it cannot be used, or nothing."""
    if asked.generation is None or asked.faults:
        return asked.faults[0]
    layout = require_layout(settings)
    try:
        with closing(store_of(settings, layout, asked.shard)) as store:
            extent = _extent(settings, layout, asked.shard)
            restored(settings, store, asked.generation, extent, advance)
    except SnapshotError as error:
        return str(error)
    return ""


def made(settings: Settings, shard: int, to: Path | None, tell: Tell) -> Saved:
    """Read the topic to its end, and keep what is in force: in a file, or in Redis."""
    began = time.monotonic()
    layout = require_layout(settings)
    _chosen(layout, [shard])
    log = SubscriptionLog(settings, layout, shard)
    try:
        log.catch_up(tell, _SECONDS)
        untold = _untold(settings, log, layout, shard)
        shot = Shot(layout, shard, log.state.freeze(), log.view, time.monotonic(), untold)
        size, name = _kept(settings, shot, to)
        return Saved(shard, len(log.state), log.view, size, time.monotonic() - began, name)
    finally:
        log.close()


def loaded(settings: Settings, path: Path, advance: Advance | None = None) -> Saved:
    """Put a file into Redis as its shard's newest generation. ConflictError if a newer one is there."""
    began = time.monotonic()
    layout = require_layout(settings)
    topic_id = layout.topics[settings.names.subscriptions]
    try:
        snapshot = read_snapshot(path)
        about = about_of(snapshot.metadata)
        shard, created = about.get("shard"), about.get("created")
        view = View.parse(str(about.get("view")))
    except FileNotFoundError as error:
        raise MissingError(f"There is no file {path}.") from error
    except (SnapshotError, RecordError, OSError) as error:
        raise InvalidError(f"{path} cannot be loaded: {error}.") from error
    if about.get("topic_id") != topic_id or not isinstance(shard, int) or not isinstance(created, int | float):
        raise ConflictError(
            f"{path} is of another Tamis: its subscriptions are those of topic {about.get('topic_id')}."
        )
    if about.get("untold") != 0:
        raise ConflictError(
            f"{path} was made before its invalid subscriptions were told: who starts from it would not tell of them. "
            "Make a new one, when brokers have caught up: tamis snapshot save."
        )
    rules, size = str(about.get("rules")), path.stat().st_size
    generation = Generation("", created, view, len(snapshot.ids), rules, size, made=created)
    try:
        with closing(store_of(settings, layout, shard)) as store:
            extent = _extent(settings, layout, shard)
            if wrong := next(chain(faults(generation, extent, store.now()), untimely(generation, extent)), None):
                raise ConflictError(f"{path} must not be used: {wrong}.")
            kept = store.put(path, generation, extent.lifetime, advance)
    except OvertakenError as error:
        raise ConflictError(f"{path} was not loaded: {error}.") from error
    return Saved(shard, kept.subscriptions, view, kept.size, time.monotonic() - began, kept.name)


def shards_of(settings: Settings) -> list[int]:
    return list(range(require_layout(settings).shards))


def _kept(settings: Settings, shot: Shot, to: Path | None) -> tuple[int, str]:
    if to is not None:
        with work_folder() as folder:
            path = shot_file(settings, shot, folder, time.time())
            try:
                shutil.copyfile(path, to)
            except OSError as error:
                raise InvalidError(f"{to} cannot be written: {error.strerror}.") from error
            return to.stat().st_size, ""
    if shot.untold:
        raise ConflictError(
            f"{shot.untold} invalid subscriptions are not told of yet: who starts from a snapshot behind them would "
            "not tell of them. Start a broker of this shard, or name a file: --to FILE."
        )
    try:
        generation = save(settings, shot)
    except OvertakenError as error:
        raise ConflictError(f"It was not kept: {error}.") from error
    return generation.size, generation.name


def _untold(settings: Settings, log: SubscriptionLog, layout: Layout, shard: int) -> int:
    """How many invalid subscriptions no broker has told of, by what the reporter of the shard has committed."""
    if not log.invalid:
        return 0
    client = consumer(settings.kafka, settings.names.group(layout.number, shard))
    try:
        (place,) = client.committed([TopicPartition(*reporter_of(settings, layout))], _SECONDS)
    finally:
        client.close()
    told = reached(Progress.parse(place.metadata or "").view, layout) if place.offset >= 0 else {}
    return sum(record.offset >= told.get(record.partition, 0) for record in log.invalid)


def _extent(settings: Settings, layout: Layout, shard: int) -> Extent:
    try:
        return extent_of(settings, admin_client(settings.kafka), layout, shard)
    except KafkaException as error:
        raise UnreachableError(f"Kafka does not tell what it has of the log: {error.args[0].str()}.") from error


def _chosen(layout: Layout, shards: list[int] | None) -> list[int]:
    """MissingError if there is no such shard."""
    every = range(layout.shards)
    if missing := [shard for shard in shards or () if shard not in every]:
        raise MissingError(f"Layout {layout.number} has shards 0 to {layout.shards - 1}, and no shard {missing[0]}.")
    return list(every) if shards is None else shards
