"""Keeping snapshots while a broker works: when one is due, and a thread that writes it.

Between batches what is in force is frozen, which takes milliseconds; all the rest is done by another thread, which the
events never wait for. One process of a shard does this: the one that reports invalid subscriptions, since a snapshot
must not go beyond one that nobody was told of.
"""

import logging
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tamis.broker.configuration import Settings
from tamis.broker.frozen_state import FrozenState
from tamis.broker.kafka import KafkaException, admin_client
from tamis.broker.metrics import Meters
from tamis.broker.snapshot_loading import Restored, described, lifetime, store_of, work_folder
from tamis.broker.snapshot_store import Generation, OvertakenError
from tamis.broker.subscription_log import SubscriptionLog
from tamis.codecs.layout import Layout
from tamis.codecs.view import View

_RETRY_SECONDS = 30.0
_LEAST_SECONDS = 5.0
"""Between two snapshots, whatever changes."""
SAVING_SECONDS = 600.0
"""For so long Redis may take."""
_ENDING_SECONDS = 10.0
"""For so long the end of the process waits for the last one."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shot:
    """What was in force in a shard at one moment, to be kept."""

    layout: Layout
    shard: int
    state: FrozenState
    view: View
    frozen_at: float
    """By `time.monotonic`."""
    untold: int = 0
    """Invalid subscriptions before it that nobody was told of."""


class Snapshots:
    """Of one process. Its worker looks in between batches; what is due is written beside it."""

    def __init__(self, settings: Settings, shard: int, meters: Meters) -> None:
        self._settings = settings
        self._shard = shard
        self._meters = meters
        self._thread: threading.Thread | None = None
        self._due = 0.0
        """When the next one is, by `time.monotonic`, if anything has changed."""
        self._saved_at = -_LEAST_SECONDS
        self._saved: View | None = None
        """The view of the newest that was begun, or that we started from."""
        self._applied = 0
        """How many records of the log were, when it was begun."""
        self._layout: Layout | None = None
        self._is_writer = False
        self._is_failing = False

    @property
    def is_enabled(self) -> bool:
        return self._settings.snapshots.enabled

    def started(self, restored: Restored | None) -> None:
        """The log is read, from this snapshot on or from its beginning."""
        self._applied = 0
        self._saved = None if restored is None else restored.view
        self._due = time.monotonic() + self._settings.snapshots.every_seconds

    def look(self, log: SubscriptionLog, layout: Layout, *, is_writer: bool) -> None:
        """Begin to write one, if it is due and ours to write."""
        self._layout, self._is_writer = layout, is_writer
        now = time.monotonic()
        changes = log.applied - self._applied
        is_due = now > self._due or changes >= self._settings.snapshots.after_changes
        if is_due and is_writer and changes > 0 and self.is_enabled and now - self._saved_at > _LEAST_SECONDS:
            self._begin(log, layout)

    def close(self, log: SubscriptionLog | None) -> None:
        """Write a last one, if anything changed; for a bounded time."""
        end = time.monotonic() + _ENDING_SECONDS
        if self._thread is not None:
            self._thread.join(_ENDING_SECONDS)
        if (
            log is not None
            and self._layout is not None
            and self._is_writer
            and self.is_enabled
            and not self._is_failing
            and not log.invalid
            and log.view != self._saved
        ):
            self._begin(log, self._layout)
        if self._thread is not None:
            self._thread.join(max(0.0, end - time.monotonic()))

    def _begin(self, log: SubscriptionLog, layout: Layout) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        now = time.monotonic()
        shot = Shot(layout, self._shard, log.state.freeze(), log.view, now)
        self._meters.froze(time.monotonic() - now)
        self._saved, self._saved_at, self._applied = log.view, now, log.applied
        self._due = now + self._settings.snapshots.every_seconds
        self._thread = threading.Thread(target=self._write, args=(shot,), name="snapshot", daemon=True)
        self._thread.start()

    def _write(self, shot: Shot) -> None:
        """In a thread of its own; whatever happens here, the broker goes on."""
        try:
            made = save(self._settings, shot)
        except OvertakenError as error:
            _LOG.info("a snapshot was not kept: %s", error)
        except Exception as error:  # noqa: BLE001 - a snapshot that fails must never end a broker
            self._due = time.monotonic() + min(_RETRY_SECONDS, self._settings.snapshots.every_seconds)
            self._applied = -1
            if not self._is_failing:
                self._is_failing = True
                why = error.args[0].str() if isinstance(error, KafkaException) else error
                _LOG.warning("no snapshot can be kept, so starts will be slower; trying on: %s", why)
        else:
            seconds = time.monotonic() - shot.frozen_at
            self._meters.snapshot_taken(made.created, seconds)
            if self._is_failing:
                self._is_failing = False
                _LOG.info("snapshots can be kept again")
            _LOG.info(
                "snapshot %s of %d subscriptions, %d bytes, in %.1f s",
                *(made.name, made.subscriptions, made.size, seconds),
            )


def save(settings: Settings, shot: Shot) -> Generation:
    """Write it to Redis. OvertakenError, RedisError, OSError, KafkaException."""
    layout, view = shot.layout, shot.view
    with (
        closing(store_of(settings, layout, shot.shard)) as store,
        store.cut_off(SAVING_SECONDS),
        work_folder() as folder,
    ):
        since = time.monotonic() - shot.frozen_at
        created, here = store.now() - since, time.time() - since
        path = shot_file(settings, shot, folder, created)
        about = Generation("", created, view, len(shot.state), layout.rules, 0, made=here)
        made = store.put(path, about, lifetime(settings, admin_client(settings.kafka)))
        if policy := store.dropping_policy():
            _LOG.warning("Redis drops snapshots when it is full: its maxmemory-policy is %s, not noeviction", policy)
        return made


def shot_file(settings: Settings, shot: Shot, folder: Path, created: float) -> Path:
    """Write it to a file in this folder."""
    path = folder / "snapshot"
    topic_id = shot.layout.topics[settings.names.subscriptions]
    about = described(shot.layout, shot.shard, topic_id, shot.view)
    shot.state.save(path, about | {"created": created, "untold": shot.untold})
    return path
