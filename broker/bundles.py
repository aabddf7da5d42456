"""Records that are sent some at a time, each time all of them or none.

Who sends under a name ends whoever sent under it before: of two at once the earlier one fails.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import BrokerError, ConflictError, UnreachableError
from tamis.broker.kafka import FENCED, KafkaException, called, producer
from tamis.broker.transactions import RebuildError, begin_transactions, transact

_TRIES = 3
_CALL_SECONDS = 10.0
_ROOM_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Record:
    """As it is to be in its topic."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


class Bundles:
    """Whoever used the name before is ended."""

    def __init__(self, settings: KafkaSettings, name: str) -> None:
        self._name = name
        self._client = producer(settings, name)
        begin_transactions(self._client, _CALL_SECONDS)

    def send(self, records: Sequence[Record]) -> None:
        """All of them are there when this returns, and nothing of them if it raises one of these.

        ConflictError if somebody else has begun, UnreachableError if Kafka takes none, or if nobody knows whether they
        are there: its message says which. Ctrl-C is to be deferred by whoever notes what was sent.
        """
        for _ in range(_TRIES):
            try:
                if self._is_sent(records):
                    return
            except RebuildError as error:
                if error.error is not None and error.error.code() in FENCED:
                    raise ConflictError(f"Somebody else has begun to send as {self._name}, and goes on.") from error
                told = f"Whether the last {len(records)} records are sent is not known: {error}."
                raise UnreachableError(told) from error
        raise UnreachableError(f"Kafka takes nothing of {self._name}: transactions are aborted again and again.")

    def _is_sent(self, records: Sequence[Record]) -> bool:
        transact(self._client.begin_transaction)
        try:
            for record in records:
                self._produce(record)
            done = transact(self._client.commit_transaction, _CALL_SECONDS)
        except BaseException:  # a second Ctrl-C too: what stays open would hide what others write to the topics
            with suppress(KafkaException, RebuildError, BrokerError):
                self._client.abort_transaction(_CALL_SECONDS)
            raise
        if not done:
            transact(self._client.abort_transaction, _CALL_SECONDS)
        return done

    def _produce(self, record: Record) -> None:
        headers: list[tuple[str, str | bytes | None]] = list(record.headers.items())
        while True:
            try:
                self._client.produce(record.topic, record.value, record.key, record.partition, headers=headers)
            except BufferError:
                called(self._client.poll, _ROOM_SECONDS)
            else:
                return
