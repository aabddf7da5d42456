"""Brokers that lack a part on purpose: to show that the tests would notice.

What they lack is taken out of the clients or of one method; all else is the broker as it is.
"""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from tamis.broker import kafka
from tamis.broker.event_source import EventSource
from tamis.broker.kafka import Consumer, Producer, TopicPartition
from tamis.broker.subscription_log import SubscriptionLog
from tamis.codecs.view import View

_LOOK_EVERY = 20
"""Batches: on a slow machine too most of them are matched with an old view."""


def break_rewind() -> None:
    """After an abort it goes on with the next events."""

    class Onward(Consumer):
        def seek(self, *_: Any, **__: Any) -> None:
            pass

    patch.object(kafka, "Consumer", Onward).start()


def break_barrier() -> None:
    """Events are matched against what happens to be there: the log is looked at now and then."""
    batches = 0

    def catch_up(log: SubscriptionLog, *_arguments: object, **_options: object) -> View:
        nonlocal batches
        if log.applied == 0:
            return real(log)
        batches += 1
        if batches % _LOOK_EVERY == 0:
            log.drain()
        return log.view

    real = SubscriptionLog.catch_up
    patch.object(SubscriptionLog, "catch_up", catch_up).start()


def break_transactions() -> None:
    """Notifications go out at once, and offsets are committed when they did."""
    members: list[Consumer] = []

    class Member(Consumer):
        def subscribe(self, *arguments: Any, **options: Any) -> None:
            members.append(self)
            super().subscribe(*arguments, **options)

    class Untransacted(Producer):
        def __init__(self, configuration: dict[str, Any], *arguments: Any, **options: Any) -> None:
            left = {name: value for name, value in configuration.items() if not name.startswith("transaction")}
            super().__init__(left, *arguments, **options)
            self._offsets: list[TopicPartition] = []

        def init_transactions(self, *_: Any, **__: Any) -> None:
            pass

        def begin_transaction(self) -> None:
            pass

        def send_offsets_to_transaction(self, *given: Any, **_: Any) -> None:
            self._offsets = given[0]

        def commit_transaction(self, *_: Any, **__: Any) -> None:
            self.flush()
            members[-1].commit(offsets=self._offsets, asynchronous=False)

        def abort_transaction(self, *_: Any, **__: Any) -> None:
            pass

    patch.object(kafka, "Consumer", Member).start()
    patch.object(kafka, "Producer", Untransacted).start()


def break_start() -> None:
    """Where a partition begins is left to the client, which has a default for when it cannot tell."""

    def assigned(source: EventSource, client: Consumer, partitions: list[TopicPartition]) -> None:
        client.incremental_assign(partitions)
        source._next |= {(place.topic, place.partition): 0 for place in partitions}
        source.assignments += 1

    defaults = {name: value for name, value in kafka._CONSUMER.items() if name != "auto.offset.reset"}
    patch.object(kafka, "_CONSUMER", defaults).start()
    patch.object(EventSource, "_assigned", assigned).start()


BROKEN: dict[str, Callable[[], None]] = {
    "rewind": break_rewind,
    "barrier": break_barrier,
    "transactions": break_transactions,
    "start": break_start,
}
