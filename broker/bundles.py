"""Records that are sent some at a time, each time all of them or none.

Who sends under a name ends whoever sent under it before: of two at once the earlier one fails.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import BrokerError, ConflictError, UnreachableError
from tamis.broker.kafka import FENCED, TRANSACTION_SECONDS, KafkaError, KafkaException, Producer, called, producer
from tamis.broker.transactions import RebuildError, begin_transactions, transact

_TRIES = 3
_CALL_SECONDS = 10.0
_ROOM_SECONDS = 0.1
BYTES_MAX = 8 << 20
"""Of one transaction, about: Kafka ends those that take too long."""
# The client's own errors have no other names.
_UNUSABLE = frozenset({KafkaError._STATE, KafkaError._FATAL, KafkaError._FENCED})  # noqa: SLF001
"""What is said to a record where the transaction has failed before; the abort tells why."""
_LOG = logging.getLogger(__name__)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Record:
    """As it is to be in its topic."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def bundled(items: Iterable[Item], most: int, size: Callable[[Item], int]) -> Iterator[list[Item]]:
    """As many together as one transaction holds, but one at least. `size` is in bytes."""
    some: list[Item] = []
    total = 0
    for item in items:
        own = size(item)
        if some and (len(some) == most or total + own > BYTES_MAX):
            yield some
            some, total = [], 0
        some.append(item)
        total += own
    if some:
        yield some


def _never() -> bool:
    return False


class Bundles:
    """Whoever used the name before is ended."""

    def __init__(self, settings: KafkaSettings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._client = self._new_client()
        self._began = time.monotonic()

    def send(self, records: Sequence[Record], are_there: Callable[[], bool] = _never) -> None:
        """All of them are there when this returns, and nothing of them if it raises one of these.

        A transaction that failed, or that Kafka has ended for its time, is tried again by a new client. It may also
        have been committed without an answer, and somebody else have begun then: who wants to rule that out tells by
        `are_there`, which is asked when nobody else can commit any more.

        ConflictError if somebody else has begun, UnreachableError if Kafka takes none, or if nobody knows whether they
        are there: its message says which. Ctrl-C is to be deferred by whoever notes what was sent.
        """
        for _ in range(_TRIES):
            try:
                if self._is_sent(records):
                    return
                _LOG.warning("a transaction of %d records was aborted, and is tried again", len(records))
            except RebuildError as error:
                if error.error is None or error.error.code() not in FENCED:
                    told = f"Whether the last {len(records)} records are sent is not known: {error}."
                    raise UnreachableError(told) from error
                if time.monotonic() - self._began < TRANSACTION_SECONDS:
                    raise ConflictError(f"Somebody else has begun to send as {self._name}, and goes on.") from error
                _LOG.warning("a transaction of %d records took too long, and is tried again: %s", len(records), error)
            # Not the one before: what it dropped in the abort may be in Kafka (docs/decisions/007).
            self._client = self._new_client()
            if are_there():
                return
        raise UnreachableError(f"Kafka takes nothing of {self._name}: transactions are aborted again and again.")

    def _new_client(self) -> Producer:
        client = producer(self._settings, self._name)
        begin_transactions(client, _CALL_SECONDS)
        return client

    def _is_sent(self, records: Sequence[Record]) -> bool:
        self._began = time.monotonic()
        transact(self._client.begin_transaction)
        try:
            done = all(map(self._is_taken, records)) and transact(self._client.commit_transaction, _CALL_SECONDS)
        except BaseException:  # a second Ctrl-C too: what stays open would hide what others write to the topics
            with suppress(KafkaException, RebuildError, BrokerError):
                self._client.abort_transaction(_CALL_SECONDS)
            raise
        if not done:  # who has been replaced is told now
            transact(self._client.abort_transaction, _CALL_SECONDS)
        return done

    def _is_taken(self, record: Record) -> bool:
        """False if the client cannot go on with this transaction."""
        headers: list[tuple[str, str | bytes | None]] = list(record.headers.items())
        while True:
            try:
                self._client.produce(record.topic, record.value, record.key, record.partition, headers=headers)
            except BufferError:
                called(self._client.poll, _ROOM_SECONDS)
            except KafkaException as error:
                if error.args[0].code() in _UNUSABLE:
                    return False
                raise
            else:
                return True
