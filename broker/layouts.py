"""The layout, as the topic has it: how a cluster's work is cut, for every process the same."""

import random
import time
from collections.abc import Callable
from itertools import chain

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError, MissingError
from tamis.broker.kafka import KafkaException, Producer, producer
from tamis.broker.positions import END
from tamis.broker.tailing import Extent, tail
from tamis.broker.transactions import begin_transactions
from tamis.codecs.errors import RecordError
from tamis.codecs.layout import KEY, Layout

_TRIES = 5
_SECONDS = 20.0
_PAUSE_SECONDS = 0.5
_OVERTAKEN = frozenset({"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "_PURGE_QUEUE", "_STATE"})


def read_layout(settings: Settings, seconds: float = 10.0) -> Layout | None:
    """The newest one, None if none was written. MissingError if there is no topic for it."""
    newest = None
    for record in chain.from_iterable(tail(settings.kafka, settings.names.layout, Extent(end=END), seconds)):
        value = record.value()
        if record.key() != KEY or value is None:
            continue
        try:
            newest = Layout.decode(value)
        except RecordError as error:
            raise ConflictError(
                f"The layout at offset {record.offset()} of {settings.names.layout} cannot be read: {error}. "
                "Was it written by a newer version of Tamis?"
            ) from error
    return newest


def require_layout(settings: Settings, seconds: float = 10.0) -> Layout:
    """The newest one. MissingError says how one is made."""
    advice = f"Make the topics first: tamis topics create (the prefix is {settings.prefix!r})."
    try:
        layout = read_layout(settings, seconds)
    except MissingError as error:
        raise MissingError(f"{error} {advice}") from error
    if layout is None:
        raise MissingError(f"No layout is written in {settings.names.layout}. {advice}")
    return layout


def change_layout(settings: Settings, change: Callable[[Layout | None], Layout | None]) -> Layout | None:
    """Write the layout that `change` makes of the newest one; None leaves that as it is. What is in force afterwards.

    Several may do this at once: all writers share one transactional id, and whoever begins ends what another one has
    open. So between reading and writing nobody else has written, or this one's transaction fails and it tries again.
    """
    for attempt in range(_TRIES):
        client = producer(settings.kafka, settings.names.layout)
        begin_transactions(client, _SECONDS)
        newest = read_layout(settings)
        changed = change(newest)
        if changed is None:
            return newest
        if _is_written(client, settings, changed):
            return changed
        time.sleep(random.uniform(0, _PAUSE_SECONDS) * (attempt + 1))  # noqa: S311 - apart from another, not secret
    raise ConflictError(f"Others keep changing {settings.names.layout} at the same time. Try again when they are done.")


def _is_written(client: Producer, settings: Settings, layout: Layout) -> bool:
    """False if somebody else began to write meanwhile."""
    try:
        client.begin_transaction()
        client.produce(settings.names.layout, layout.encode(), KEY, 0)
        client.commit_transaction(_SECONDS)
    except KafkaException as error:
        if error.args[0].name() in _OVERTAKEN:
            return False
        raise
    return True
