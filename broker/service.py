"""The service: one process of one shard, from its start to its last word."""

import gc
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from tamis.broker.attempts import Attempts
from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError, ConflictError, InvalidError, UnreachableError
from tamis.broker.kafka import KafkaException, admin_client
from tamis.broker.layout_watch import LayoutWatch
from tamis.broker.layouts import require_layout
from tamis.broker.memory import MemoryBound, bound_arenas
from tamis.broker.metrics import Meters
from tamis.broker.metrics_server import BrokerPages, MetricsServer
from tamis.broker.outlets import Outlets
from tamis.broker.pace import Pace
from tamis.broker.schema_registry import ConfluentRegistry
from tamis.broker.shipping import Identity
from tamis.broker.slots import take_slot
from tamis.broker.snapshot_loading import Restored, discard, newest_state
from tamis.broker.snapshots import Snapshots
from tamis.broker.subscription_log import LogWentBackError, SubscriptionLog
from tamis.broker.topics import require_topics
from tamis.broker.transactions import RebuildError, Verdict, last_word, verdict
from tamis.broker.undelivered import vanished_subscribers
from tamis.broker.watchdog import Watchdog
from tamis.broker.worker import Counts, Kept, Worker
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.layout import Layout

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS = (0.1, 5.0)
_PROGRESS_SECONDS = 2.0
_VANISHED_SECONDS = 10.0
"""For so long events wait at most while it is read whose topics were deleted."""


def serve(settings: Settings, shard: int, slot: str | None, must_stop: Callable[[], bool]) -> Counts:
    """Work until it must stop. A BrokerError says why it cannot."""
    bound_arenas()
    kept = _kept(settings, shard)
    server = MetricsServer(settings.metrics, BrokerPages(settings, kept.meters))
    try:
        with Watchdog(kept.meters, settings.broker.stall_seconds):
            service = Service(settings, shard, slot, kept, must_stop)
            try:
                service.run()
            finally:
                service.close()
    except _StoppedError:
        _LOG.info("told to stop before all subscriptions were read")
    except MemoryError as error:
        raise InvalidError(
            f"The subscriptions of shard {shard} do not fit into memory. Give it more, or make a layout of more shards."
        ) from error
    except KafkaException as error:
        raise last_word(error.args[0]) from error
    finally:
        server.close()
    return kept.counts


def _kept(settings: Settings, shard: int) -> Kept:
    registry = None if settings.schema_registry is None else ConfluentRegistry(settings.schema_registry)
    meters = Meters(settings.broker.engine, shard)
    return Kept(
        EventDecoder(registry=registry),
        Counts(),
        Pace(settings.broker.batch_events),
        Outlets(settings, lambda: vanished_subscribers(settings, _VANISHED_SECONDS)),
        Snapshots(settings, shard, meters),
        MemoryBound(settings.broker.memory_bytes),
        meters,
    )


class _StoppedError(Exception):
    """It was told to stop in the midst of something that takes long, and that it leaves nothing of."""


class Service:
    """What outlives the clients of one membership: the place among the processes, and what is in force."""

    def __init__(
        self, settings: Settings, shard: int, slot: str | None, kept: Kept, must_stop: Callable[[], bool]
    ) -> None:
        self._settings = settings
        self._must_stop = must_stop
        self._shard = shard
        self._kept = kept
        self._admin = admin_client(settings.kafka)
        self._trusts_snapshots = True
        self._void = ""
        """The last snapshot that turned out to be of another log."""
        require_layout(settings)
        self._watch = LayoutWatch(settings)
        self._layout = self._newest_layout()
        self._slot = take_slot(settings.names.group(self._layout.number, shard), slot)
        _LOG.info("shard %d of %d, slot %s", shard, self._layout.shards, self._slot.name)
        try:
            # With its id: offsets of a log that was made anew are other records.
            log_id = self._layout.topics[settings.names.subscriptions]
            name = f"{settings.names.group(self._layout.number, shard)}.{self._slot.name}.{log_id}"
            self._attempts = Attempts(name, self._layout.topics)
            self._log: SubscriptionLog | None = self._started_log()
        except BaseException:
            self._slot.close()
            raise

    def run(self) -> None:
        """With new clients whenever the old ones are of no more use."""
        pause, longest = _PAUSE_SECONDS
        while not self._must_stop():
            began = time.monotonic()
            try:
                with self._survived():
                    self._work()
            except (RebuildError, UnreachableError) as error:
                _LOG.warning("starting again with new clients: %s", str(error))  # whoever keeps this keeps no client
                self._kept.meters.fails(error)
            except KafkaException as error:
                _LOG.warning("starting again with new clients: %s", error.args[0].str())
                self._kept.meters.fails(error)
                if verdict(error.args[0]) is Verdict.STOP:
                    raise last_word(error.args[0]) from error
                self._close_log()  # whose client it may have been
            except LogWentBackError as error:
                _LOG.error("the subscription log went backwards, reading it again: %s", error)
                self._kept.meters.fails(error)
                self._close_log()
                self._trusts_snapshots = False
                self._kept.snapshots.forget(self._layout)
                self._attempts.forget(self._settings.names.subscriptions)
            # A client refers to whom it calls, and an error to where it was raised: to those who have them. Python
            # looks for such circles so seldom that clients would stay for hours, with their threads and connections.
            gc.collect()
            if self._must_stop():
                break
            pause = _PAUSE_SECONDS[0] if time.monotonic() - began > longest else min(2 * pause, longest)
            time.sleep(pause)

    def close(self) -> None:
        with ExitStack() as last:  # the last one first, and each of them whatever becomes of the others
            last.callback(self._watch.close)
            last.callback(self._slot.close)
            last.callback(self._attempts.close)
            last.callback(self._close_log)
            last.callback(self._kept.snapshots.close, self._log)

    @contextmanager
    def _survived(self) -> Iterator[None]:
        """An error of Kafka's, or one that has a name, is no death: what was in hand when it came did no harm."""
        try:
            yield
        except (RebuildError, BrokerError, KafkaException, LogWentBackError):
            self._attempts.end()
            raise

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _work(self) -> None:
        """Until it must stop, or a layout was written."""
        if self._watch.has_news():
            self._take_layout()
        if self._log is None:
            self._log = self._started_log()
        identity = Identity(self._layout, self._shard, self._slot.name)
        worker = Worker(self._settings, identity, self._log, self._kept, self._attempts)
        self._kept.meters.joins(self._layout)
        try:
            worker.run(lambda: self._must_stop() or self._watch.has_news())
        finally:
            self._kept.meters.left()
            worker.close()

    def _take_layout(self) -> None:
        """Go on with it if it only has more event topics, or other ids of them. ConflictError if it cuts work anew."""
        newest = self._newest_layout()
        self._watch.forget()
        old, new = (replace(layout, topics={}, starts=()) for layout in (self._layout, newest))
        if old != new:
            raise ConflictError(
                f"{_told(newest)} is in force since just now, and this process works by {_told(self._layout)}. "
                "Start it again."
            )
        _LOG.info("the layout has other topics now: %s", ", ".join(sorted(newest.topics)))
        log_topic = self._settings.names.subscriptions
        if newest.topics[log_topic] != self._layout.topics[log_topic]:
            self._close_log()
        elif self._log is not None:
            self._log.watch(newest.topics)
        self._layout = newest
        self._attempts.know(newest.topics)

    def _newest_layout(self) -> Layout:
        layout = require_layout(self._settings)
        if not 0 <= self._shard < layout.shards:
            last = layout.shards - 1
            raise InvalidError(f"Layout {layout.number} has shards 0 to {last}; there is no shard {self._shard}.")
        require_topics(self._settings, layout)
        return layout

    def _started_log(self) -> SubscriptionLog:
        began = told = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal told
            if self._must_stop():
                raise _StoppedError
            self._kept.meters.reads(done, total)
            self._kept.memory.look(len(log.state))
            if time.monotonic() - told > _PROGRESS_SECONDS:
                told = time.monotonic()
                _LOG.info("reading subscriptions: %d of %d records", done, total)

        restored = self._restored()
        log = SubscriptionLog(self._settings, self._layout, self._shard, self._kept.meters, restored)
        log.attempts = self._attempts
        try:
            log.catch_up(tell)
        except LogWentBackError as error:
            log.close()
            if restored is None:
                raise
            name = restored.generation.name
            _LOG.warning("snapshot %s is of a log that went backwards since: %s", name, error)
            discard(self._settings, self._layout, self._shard, name)
            self._attempts.forget(log.topic)
            self._trusts_snapshots = name != self._void
            self._void = name
            return self._started_log()
        except BaseException:
            log.close()
            raise
        self._kept.snapshots.started(restored)
        seconds = time.monotonic() - began
        source = "" if restored is None else f"snapshot {restored.generation.name} and "
        _LOG.info("%d subscriptions from %s%d records in %.1f s", len(log.state), source, log.applied, seconds)
        return log

    def _restored(self) -> Restored | None:
        """What a snapshot has; not where the log turned out not to be the one that it was made of."""
        if not self._settings.snapshots.enabled or not self._trusts_snapshots:
            return None
        began = time.monotonic()
        meters = self._kept.meters

        def advance(_: int) -> None:
            meters.reads()  # it takes long, and is no standstill

        restored = newest_state(self._settings, self._admin, self._layout, self._shard, advance)
        if restored is not None:
            meters.snapshot_taken(restored.generation.created, time.monotonic() - began)
        return restored


def _told(layout: Layout) -> str:
    return f"layout {layout.number} ({layout.shards} shards, {layout.partitions} partitions, rules {layout.rules})"
