"""What goes out in one transaction, and the transaction itself.

What Kafka would not take of it is in `failures` by topic, so that whoever sent it can leave these topics out and send
the rest again: one topic that cannot be written to would else fail every transaction.
"""

import time
from collections.abc import Callable
from contextlib import suppress

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import BrokerError
from tamis.broker.kafka import (
    TOO_LARGE,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    called,
    producer,
)
from tamis.broker.transactions import BUDGET_SECONDS, RebuildError, refuse_if_replaced, transact

Headers = list[tuple[str, str | bytes | None]]
_CALL_SECONDS = 10.0
_FULL_SECONDS = 30.0
_FLUSH_SECONDS = 2.0
_ABORT_SECONDS = 1.0
_LOOK_SECONDS = 0.25
_STALL_SECONDS = 1.0
"""For so long nothing is acknowledged before it is asked why: what Kafka takes it takes in a fraction of that."""


class TooLargeError(BrokerError):
    """A record that the client does not take, however often it is tried."""


class Outbox:
    """A transactional producer, under a name that no other living process has."""

    def __init__(self, settings: KafkaSettings, transactional_id: str) -> None:
        """Ends what a predecessor of this name left open; only then can it be told where its group stands."""
        self._settings = settings
        self._transactional_id = transactional_id
        self._producer = self._new_producer()

    def begin(self) -> None:
        self._began = time.monotonic()
        self.failures.clear()
        transact(self._producer.begin_transaction)

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers | None = None,
        partition: int = -1,
    ) -> None:
        """Wait while the client is full. KafkaException if it does not take this: the transaction is to be aborted.

        TooLargeError if the client would never take this, and nothing else is wrong.
        """
        try:
            try:
                self._producer.produce(topic, value, key, partition, headers=headers)
            except BufferError:
                self._send_when_there_is_room(topic, value, key, headers, partition)
        except KafkaException as error:
            if error.args[0].code() in TOO_LARGE:
                raise TooLargeError(f"{len(value or b'')} bytes are more than this client sends at once") from error
            self.failures.setdefault(topic, error.args[0])
            raise

    def flush(self) -> None:
        """Wait until Kafka has answered for everything, or for long enough: `is_sent` tells what came of it."""
        called(self._producer.flush, _FLUSH_SECONDS)

    def is_sent(self, is_hopeless: Callable[[], bool]) -> bool:
        """Wait while Kafka takes it. False if there is something that it will not take.

        That it takes nothing for a while may be such a reason, too: `is_hopeless` finds out. If it is none, the commit
        waits for the rest, or tells what is wrong.
        """
        left, moved = 0, time.monotonic()
        while (now_left := called(self._producer.flush, _LOOK_SECONDS)) > 0 and not self.failures:
            if now_left != left:
                left, moved = now_left, time.monotonic()
            elif time.monotonic() - moved > _STALL_SECONDS:
                return not is_hopeless()
        return not self.failures

    def commit(self, offsets: list[TopicPartition], group: object) -> bool:
        """Whether all that was sent is there now, with the offsets. Else it is to be aborted."""
        return self._decided(
            self._producer.send_offsets_to_transaction, offsets, group, _CALL_SECONDS
        ) and self._decided(self._producer.commit_transaction, _CALL_SECONDS)

    def abort(self) -> None:
        """Nothing of what was sent will be seen.

        The old producer is told if another process has this name, where a new one would take the name back.
        """
        with suppress(RebuildError):
            self._decided(self._producer.abort_transaction, _ABORT_SECONDS, seconds=_ABORT_SECONDS)
        self.renew()

    def renew(self) -> None:
        """Go on with a new producer, which aborts what the old one has open; that one's own abort may stall for long.

        The old one would give the sequence numbers of what it drops to what comes next, which Kafka would take for the
        same, and drop too.
        """
        self._producer = self._new_producer()

    def _new_producer(self) -> Producer:
        """Ready for a transaction. What it has to say of records counts until another one has its place."""
        failures: dict[str, KafkaError] = {}
        self.failures = failures
        """By topic, what was said of a record of this transaction that will not be taken; of several, the first."""

        def failed(error: KafkaError, message: Message) -> None:
            failures.setdefault(message.topic() or "", error)

        made = producer(self._settings, self._transactional_id, failed=failed)
        self._began = time.monotonic()
        transact(made.init_transactions, _CALL_SECONDS)
        return made

    def _decided(self, operation: Callable[..., object], *arguments: object, seconds: float = BUDGET_SECONDS) -> bool:
        try:
            return transact(operation, *arguments, seconds=seconds)
        except RebuildError as error:
            if error.error is not None:
                refuse_if_replaced(error.error, self._began)
            raise

    def _send_when_there_is_room(
        self, topic: str, value: bytes | None, key: bytes | None, headers: Headers | None, partition: int
    ) -> None:
        deadline = time.monotonic() + _FULL_SECONDS
        while time.monotonic() < deadline:
            called(self._producer.poll, 0.01)
            try:
                self._producer.produce(topic, value, key, partition, headers=headers)
            except BufferError:
                continue
            return
        raise RebuildError(f"Kafka took nothing for {_FULL_SECONDS:g} s")
