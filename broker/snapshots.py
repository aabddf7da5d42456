"""Keeping snapshots while a broker works: when one is due, and a thread that writes it.

Between batches what is in force is frozen, which takes milliseconds; all the rest is done by another thread, which the
events never wait for. If nothing changes, that thread looks now and then whether Redis still has the last one.

One process of a shard does this: the one that reports invalid subscriptions, since a snapshot must not go beyond one
that nobody was told of.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.broker.configuration import Settings
from tamis.broker.frozen_state import FrozenState
from tamis.broker.kafka import KafkaException, admin_client
from tamis.broker.metrics import Meters
from tamis.broker.redis import RedisError
from tamis.broker.snapshot_loading import Restored, described, discard, lifetime, newest_kept, store_of, work_folder
from tamis.broker.snapshot_store import Generation, OvertakenError
from tamis.broker.subscription_log import SubscriptionLog
from tamis.codecs.layout import Layout
from tamis.codecs.view import View
from tamis.indexes import IndexBroken

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
        self._is_keeper = False
        self._knows = False
        """Whether it has looked what there is, since it keeps them."""
        self._is_wanting = False
        """Whether Redis has none that is good for long, whether or not anything has changed."""
        self._pause = 0.0
        """For so many seconds it waited after the last one that failed; 0 if that did not."""

    @property
    def is_enabled(self) -> bool:
        return self._settings.snapshots.enabled

    def started(self, restored: Restored | None) -> None:
        """The log is read, from this snapshot on or from its beginning."""
        self._applied = 0
        self._saved = None if restored is None else restored.view
        self._due = time.monotonic() + self._settings.snapshots.every_seconds

    def look(self, log: SubscriptionLog, layout: Layout, *, is_keeper: bool) -> None:
        """Begin to write one, if it is due, and this is the process that keeps them."""
        self._layout, self._is_keeper = layout, is_keeper
        if not is_keeper:
            self._knows = False
            self._meters.snapshot_known(None)
        if not is_keeper or not self.is_enabled or self.is_at_work:
            return
        if not self._knows:  # what others kept before
            self._knows = True
            self._work(self._inspect, layout)
            return
        now = time.monotonic()
        if log.invalid or now - self._saved_at <= _LEAST_SECONDS:
            return
        changes = log.applied - self._applied
        is_due = now > self._due
        is_early = not self._pause and changes >= self._settings.snapshots.after_changes
        if is_early or (is_due and (changes > 0 or self._is_wanting)):
            self._begin(log, layout)
        elif is_due and len(log.state) > 0:
            self._due = now + self._settings.snapshots.every_seconds
            self._work(self._inspect, layout)

    def forget(self, layout: Layout) -> None:
        """All of them: the log went backwards, and which of them are void is not to be told. It takes a while."""
        if not self.is_enabled:
            return
        if self._thread is not None:
            self._thread.join(_ENDING_SECONDS)  # it may be keeping one of the log as it was
        discard(self._settings, layout, self._shard)

    def close(self, log: SubscriptionLog | None) -> None:
        """Write a last one, if anything changed; for a bounded time."""
        end = time.monotonic() + _ENDING_SECONDS
        if self._thread is not None:
            self._thread.join(_ENDING_SECONDS)
        if (
            log is not None
            and self._layout is not None
            and self._is_keeper
            and self.is_enabled
            and not self._pause
            and not log.invalid
            and log.view != self._saved
        ):
            self._begin(log, self._layout)
        if self._thread is not None:
            self._thread.join(max(0.0, end - time.monotonic()))

    @property
    def is_at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _work(self, work: Callable[[Any], None], of: object) -> None:
        """In a thread of its own."""
        self._thread = threading.Thread(target=work, args=(of,), name="snapshot", daemon=True)
        self._thread.start()

    def _begin(self, log: SubscriptionLog, layout: Layout) -> None:
        if self.is_at_work:
            return
        now = time.monotonic()
        try:
            shot = Shot(layout, self._shard, log.state.freeze(), log.view, now)
        except (MemoryError, IndexBroken) as error:  # whoever ran out of memory before has said so, or will
            self._failed(error)
            return
        self._meters.froze(time.monotonic() - now)
        self._saved, self._saved_at, self._applied = log.view, now, log.applied
        self._due = now + self._settings.snapshots.every_seconds
        self._is_wanting = False
        self._work(self._write, shot)

    def _inspect(self, layout: Layout) -> None:
        """Redis may have been emptied; and a snapshot is good for some time only, whether or not anything changes."""
        try:
            newest, self._is_wanting = newest_kept(self._settings, layout, self._shard)
        except (RedisError, OSError, ValueError, KafkaException):
            return  # who writes the next one will tell
        if self._is_wanting:
            self._due = 0.0
        self._meters.snapshot_known(None if newest is None else newest.created)

    def _write(self, shot: Shot) -> None:
        """Whatever happens here, the broker goes on."""
        try:
            made = save(self._settings, shot)
        except OvertakenError as error:
            self._pause = 0.0
            _LOG.info("a snapshot was not kept: %s", error)
        except Exception as error:  # noqa: BLE001 - a snapshot that fails must never end a broker
            self._failed(error)
        else:
            seconds = time.monotonic() - shot.frozen_at
            self._meters.snapshot_taken(made.created, seconds)
            if self._pause:
                self._pause = 0.0
                _LOG.info("snapshots can be kept again")
            _LOG.info(
                "snapshot %s of %d subscriptions, %d bytes, in %.1f s",
                *(made.name, made.subscriptions, made.size, seconds),
            )

    def _failed(self, error: Exception) -> None:
        """Each time later again, as long as it goes on: each time costs a whole file."""
        is_first = not self._pause
        self._pause = min(2 * self._pause or _RETRY_SECONDS, self._settings.snapshots.every_seconds)
        self._due = time.monotonic() + self._pause
        self._is_wanting = True
        self._meters.failed_to_keep_a_snapshot()
        if is_first:
            why = error.args[0].str() if isinstance(error, KafkaException) else error
            _LOG.warning("no snapshot can be kept, so starts will be slower; trying on: %s", why)


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
