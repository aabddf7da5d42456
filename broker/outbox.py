"""What goes out in one transaction, and the transaction itself."""

import logging
import time
from collections.abc import Callable

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import InvalidError
from tamis.broker.kafka import TOO_LARGE, KafkaException, TopicPartition, producer
from tamis.broker.transactions import RebuildError, refuse_if_replaced, transact

Headers = list[tuple[str, str | bytes | None]]
_CALL_SECONDS = 10.0
_FULL_SECONDS = 30.0
_FLUSH_SECONDS = 2.0
_LOG = logging.getLogger(__name__)


class TooLargeError(InvalidError):
    """A record that the client does not take, however often it is tried."""


class Outbox:
    """A transactional producer, under a name that no other living process has."""

    def __init__(self, settings: KafkaSettings, transactional_id: str) -> None:
        """Ends what a predecessor of this name left open; only then can it be told where its group stands."""
        self._producer = producer(settings, transactional_id)
        self._began = time.monotonic()
        transact(self._producer.init_transactions, _CALL_SECONDS)

    def begin(self) -> None:
        self._began = time.monotonic()
        transact(self._producer.begin_transaction)

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers | None = None,
        partition: int = -1,
    ) -> None:
        """Wait while the client is full. KafkaException if it does not take this: the transaction is to be aborted."""
        try:
            self._producer.produce(topic, value, key, partition, headers=headers)
        except BufferError:
            self._send_when_there_is_room(topic, value, key, headers, partition)
        except KafkaException as error:
            if error.args[0].code() in TOO_LARGE:
                raise TooLargeError(
                    f"A record of {len(value or b'')} bytes is too large for {topic}: {error.args[0].str()}. "
                    "Raise message.max.bytes of the client (kafka.extra) and of the topic."
                ) from error
            raise

    def commit(self, offsets: list[TopicPartition], group: object) -> bool:
        """Whether all that was sent is there now, with the offsets. Else it is to be aborted."""
        return self._decided(
            self._producer.send_offsets_to_transaction, offsets, group, _CALL_SECONDS
        ) and self._decided(self._producer.commit_transaction, _CALL_SECONDS)

    def abort(self, cause: KafkaException | None = None) -> None:
        """Nothing of what was sent will be seen."""
        if cause is not None:
            _LOG.warning("a transaction must be aborted: %s", cause.args[0].str())
        # What is still under way would be dropped by the abort, and its sequence numbers be missed afterwards.
        self._producer.flush(_FLUSH_SECONDS)
        if not self._decided(self._producer.abort_transaction, _CALL_SECONDS):
            raise RebuildError("a transaction could not be aborted")

    def _decided(self, operation: Callable[..., object], *arguments: object) -> bool:
        try:
            return transact(operation, *arguments)
        except RebuildError as error:
            if error.error is not None:
                refuse_if_replaced(error.error, self._began)
            raise

    def _send_when_there_is_room(
        self, topic: str, value: bytes | None, key: bytes | None, headers: Headers | None, partition: int
    ) -> None:
        deadline = time.monotonic() + _FULL_SECONDS
        while time.monotonic() < deadline:
            self._producer.poll(0.01)
            try:
                self._producer.produce(topic, value, key, partition, headers=headers)
            except BufferError:
                continue
            return
        raise RebuildError(f"Kafka took nothing for {_FULL_SECONDS:g} s")
