"""Clients that answer with errors as they are told to, one after the other, and that are else the real ones."""

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from tamis.broker import kafka
from tamis.broker.kafka import Consumer, KafkaError, KafkaException, Producer

RETRIABLE = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "as was wished", False, True, False)  # noqa: FBT003
ABORTABLE = KafkaError(KafkaError.UNKNOWN_PRODUCER_ID, "as was wished", False, False, True)  # noqa: FBT003
FATAL = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "as was wished", True, False, False)  # noqa: FBT003
FENCED = KafkaError(KafkaError._FENCED, "as was wished", True, False, False)  # noqa: FBT003
UNSPECIFIC = KafkaError(KafkaError._FAIL, "as was wished")
FORBIDDEN = KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "as was wished", True, False, False)  # noqa: FBT003
OF_MEMBERS = [
    KafkaError(code, "as was wished", False, False, True)  # noqa: FBT003
    for code in (
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.STALE_MEMBER_EPOCH,
    )
]
"""What a group's coordinator has against offsets of who is not in it any more, as far as it knows."""
OF_TRANSACTIONS = [
    *(
        KafkaError(code, "as was wished", False, True, False)  # noqa: FBT003
        for code in (KafkaError.NOT_COORDINATOR, KafkaError.CONCURRENT_TRANSACTIONS, KafkaError._TIMED_OUT)
    ),
    KafkaError(KafkaError.INVALID_PRODUCER_ID_MAPPING, "as was wished", False, False, True),  # noqa: FBT003
    KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "as was wished", False, False, True),  # noqa: FBT003
    KafkaError(KafkaError.INVALID_TXN_STATE, "as was wished", True, False, False),  # noqa: FBT003
]
TIMEOUT = None
"""Kafka is really given no time, and goes on with what it was asked for."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """To the next call of that name, before it reaches Kafka."""

    call: str
    error: KafkaError | None


Turn = Sequence[Answer]
"""Answers of which each one brings about the call that gets the next one."""


class Script:
    """The answers that are still to come, from when on it is started."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = list(turns)
        self._given = 0
        """Of the first turn."""
        self._is_started = threading.Event()
        self._lock = threading.Lock()

    @property
    def next(self) -> Answer | None:
        return self._turns[0][self._given] if self._turns else None

    def start(self) -> None:
        self._is_started.set()

    def play(self, call: str, real: Callable[..., Any], *given: Any, **options: Any) -> Any:
        with self._lock:
            answer = self.next
            if answer is None or answer.call != call or not self._is_started.is_set():
                answer = None
            elif answer.error is not TIMEOUT:
                self._advance()
        if answer is None:
            return real(*given, **options)
        if answer.error is not TIMEOUT:
            raise KafkaException(answer.error)
        try:
            answered = real(*given[:-1], 0)
        except KafkaException:
            self._advance()
            raise
        self._given = 0  # it was fast enough: another one is to time out
        return answered

    def _advance(self) -> None:
        self._given += 1
        if self._given == len(self._turns[0]):
            del self._turns[0]
            self._given = 0


class _Producer(Producer):
    script: Script

    def init_transactions(self, *given: Any, **options: Any) -> None:
        self.script.play("init", super().init_transactions, *given, **options)

    def begin_transaction(self) -> None:
        self.script.play("begin", super().begin_transaction)

    def produce(self, *given: Any, **options: Any) -> None:
        self.script.play("produce", super().produce, *given, **options)

    def send_offsets_to_transaction(self, *given: Any, **options: Any) -> None:
        self.script.play("offsets", super().send_offsets_to_transaction, *given, **options)

    def commit_transaction(self, *given: Any, **options: Any) -> None:
        self.script.play("commit", super().commit_transaction, *given, **options)

    def abort_transaction(self, *given: Any, **options: Any) -> None:
        self.script.play("abort", super().abort_transaction, *given, **options)


class _Consumer(Consumer):
    script: Script

    def poll(self, *given: Any, **options: Any) -> Any:
        return self.script.play("poll", super().poll, *given, **options)

    def consume(self, *given: Any, **options: Any) -> Any:
        return self.script.play("consume", super().consume, *given, **options)

    def committed(self, *given: Any, **options: Any) -> Any:
        return self.script.play("committed", super().committed, *given, **options)

    def seek(self, *given: Any, **options: Any) -> Any:
        return self.script.play("seek", super().seek, *given, **options)


@contextmanager
def answering(script: Script) -> Iterator[None]:
    """All clients that are made within the block."""
    producer = type("ScriptedProducer", (_Producer,), {"script": script})
    consumer = type("ScriptedConsumer", (_Consumer,), {"script": script})
    with patch.object(kafka, "Producer", producer), patch.object(kafka, "Consumer", consumer):
        yield
