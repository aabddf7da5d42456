"""Transactions that send what waited, and say in the same one that it does not wait any more.

All retriers share one transactional id. Whoever begins ends what another one has open, and from then on the other one
can commit nothing: so what this one has read since stays true until it is ended itself.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError, ConflictError
from tamis.broker.kafka import (
    FENCED,
    TOPIC_FORBIDDEN,
    TRANSACTION_SECONDS,
    KafkaError,
    KafkaException,
    Properties,
    producer,
)
from tamis.broker.transactions import RebuildError, last_word, transact
from tamis.broker.undelivered_ready import Ready
from tamis.codecs.headers import RETRIED, SETTLED, WaitingPlace

_CALL_SECONDS = 10.0
_FLUSH_SECONDS = 2.0
_MARKERS_SECONDS = 0.003
"""After a commit its markers are still being written; a transaction that begins earlier waits for longer than this."""
_ROOM_SECONDS = 0.1
_PROPERTIES: Properties = {
    "message.max.bytes": 1_000_000_000,  # how large a record may be is its topic's affair
    "delivery.report.only.error": True,  # what is acknowledged costs no call into Python
}
# The client's own errors have no other names.
_DROPPED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001
_ABOUT_ALL = _DROPPED | {KafkaError._STATE, KafkaError._FATAL}  # noqa: SLF001
"""What is said to every record of a transaction that fails."""


@dataclass(frozen=True, slots=True)
class _Record:
    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes]


class RetryOutbox:
    """One retrier's producer."""

    def __init__(self, settings: Settings) -> None:
        """Whoever retried before is ended."""
        self._topic = settings.names.undelivered
        self._producer = producer(settings.kafka, self._topic, _PROPERTIES)
        self._began = self._ended = time.monotonic()
        self.refused: dict[WaitingPlace, KafkaError] = {}
        """Of the last transaction, what Kafka said to its records, where that was more than that it is aborted."""
        self.is_committing = False
        """True after a RebuildError: nobody knows whether the last transaction is committed."""
        self._own_error: KafkaError | None = None
        self._has_dropped = False
        """Records whose numbers it would give to others (docs/decisions/007). A new producer could go on; but it would
        end whoever has begun meanwhile, and not know what that one has sent."""
        self._decided(self._producer.init_transactions, _CALL_SECONDS)

    def is_committed(self, batch: Sequence[Ready]) -> bool:
        """Send these. If that fails nothing of it will be seen, and `refused` may tell why.

        ConflictError if another retrier has begun, RebuildError if this outbox is of no more use.
        """
        self.refused.clear()
        self._has_dropped = False
        time.sleep(max(0.0, self._ended + _MARKERS_SECONDS - time.monotonic()))
        self._began = time.monotonic()
        self._decided(self._producer.begin_transaction)
        try:
            done = all(map(self._is_taken, batch)) and self._is_decided()
        except BaseException:  # a second Ctrl-C too: what stays open would hide what others write to the same topics
            if not self.is_committing:
                with suppress(KafkaException, RebuildError, BrokerError):
                    self._abort()
            raise
        if not done:
            self._abort()
        self._ended = time.monotonic()
        return done

    def _is_taken(self, ready: Ready) -> bool:
        """False if the client does not take it, or cannot go on with this transaction."""
        headers = {**ready.headers, RETRIED: ready.place.header}
        owner, settled = ready.subscriber.encode(), {SETTLED: ready.place.header}
        try:
            self._send(ready, _Record(ready.topic, ready.partition, ready.key, ready.value, headers))
            self._send(ready, _Record(self._topic, ready.place.partition, owner, None, settled))
        except KafkaException as error:
            self._note(ready, error.args[0])
            return False
        return True

    def _send(self, ready: Ready, record: _Record) -> None:
        def told(error: KafkaError | None, _message: object) -> None:
            if error is None:  # not reported, but the client's types say that it may be
                return
            self._has_dropped |= error.code() in _DROPPED
            if record.topic == self._topic:
                self._own_error = error
            else:
                self._note(ready, error)

        headers: list[tuple[str, str | bytes | None]] = list(record.headers.items())
        while True:
            try:
                self._producer.produce(
                    record.topic, record.value, record.key, record.partition, on_delivery=told, headers=headers
                )
            except BufferError:
                self._decided(self._producer.poll, _ROOM_SECONDS)
            else:
                return

    def _is_decided(self) -> bool:
        self.is_committing = True
        done = self._decided(self._producer.commit_transaction, _CALL_SECONDS)
        self.is_committing = False
        return done

    def _abort(self) -> None:
        self._decided(self._producer.flush, _FLUSH_SECONDS)
        has_dropped = self._has_dropped or len(self._producer) > 0
        if self._own_error is not None and self._own_error.code() in TOPIC_FORBIDDEN:
            raise last_word(self._own_error)
        if not self._decided(self._producer.abort_transaction, _CALL_SECONDS):
            raise RebuildError("a transaction could not be aborted")
        if has_dropped:
            raise RebuildError("the client dropped records that Kafka may have")

    def _note(self, ready: Ready, error: KafkaError) -> None:
        if error.code() not in _ABOUT_ALL:
            self.refused[ready.place] = error

    def _decided(self, operation: Callable[..., object], *arguments: object) -> bool:
        try:
            return transact(operation, *arguments)
        except RebuildError as error:
            is_young = time.monotonic() - self._began < TRANSACTION_SECONDS
            if error.error is not None and error.error.code() in FENCED and is_young:
                raise ConflictError(
                    "Somebody else has begun to send what waits, and goes on with it: "
                    f"{error.error.str()}. See what is left: tamis undelivered list"
                ) from error
            raise
