"""The service: one process of one shard, from its start to its last word."""

import logging
import time
from collections.abc import Callable

from tamis.broker.configuration import Settings
from tamis.broker.errors import InvalidError, MissingError
from tamis.broker.layouts import read_layout
from tamis.broker.schema_registry import ConfluentRegistry
from tamis.broker.slots import take_slot
from tamis.broker.subscription_log import LogWentBackError, SubscriptionLog
from tamis.broker.transactions import RebuildError
from tamis.broker.worker import Counts, Identity, Worker
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.layout import Layout

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS = (0.1, 5.0)


def serve(settings: Settings, shard: int, slot: str | None, must_stop: Callable[[], bool]) -> Counts:
    """Work until it must stop. A BrokerError says why it cannot."""
    layout = _layout(settings, shard)
    registry = None if settings.schema_registry is None else ConfluentRegistry(settings.schema_registry)
    decoder = EventDecoder(registry=registry)
    counts = Counts()
    with take_slot(settings.names.group(layout.number, shard), slot) as taken:
        _LOG.info("shard %d of %d, slot %s", shard, layout.shards, taken.name)
        log = _started(settings, layout, shard)
        try:
            pause, longest = _PAUSE_SECONDS
            while not must_stop():
                began = time.monotonic()
                worker = Worker(settings, Identity(layout, shard, taken.name), log, decoder, counts)
                try:
                    worker.run(must_stop)
                except RebuildError as error:
                    _LOG.warning("starting again with new clients: %s", error)
                except LogWentBackError as error:
                    _LOG.error("the subscription log went backwards, reading it again: %s", error)
                    log.close()
                    log = _started(settings, layout, shard)
                finally:
                    worker.close()
                if must_stop():
                    break
                pause = _PAUSE_SECONDS[0] if time.monotonic() - began > longest else min(2 * pause, longest)
                time.sleep(pause)
        finally:
            log.close()
    return counts


def _layout(settings: Settings, shard: int) -> Layout:
    layout = read_layout(settings)
    if layout is None:
        raise MissingError(f"{settings.names.layout} holds no layout: tamis topics create makes one.")
    if not 0 <= shard < layout.shards:
        raise InvalidError(f"There are {layout.shards} shards, counted from 0; shard {shard} is none of them.")
    return layout


def _started(settings: Settings, layout: Layout, shard: int) -> SubscriptionLog:
    began = time.monotonic()
    log = SubscriptionLog(settings, layout, shard)
    log.catch_up()
    _LOG.info("%d subscriptions from %d records in %.1f s", len(log.state), log.applied, time.monotonic() - began)
    return log
