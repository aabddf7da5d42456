"""Sending records one knows the lines of, and knowing of each whether Kafka has it.

Silence is no answer: what was not acknowledged when the waiting ends, is told as an error.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import MissingError, UnreachableError
from tamis.broker.kafka import KafkaError, KafkaException, producer
from tamis.broker.reading import partitions_known_to

_WAIT_SECONDS = 0.1
_TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD})
_GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})  # noqa: SLF001

Failed = Callable[[int, str], None]
"""Is given the line of a record that Kafka will not have, and why."""


class Deliveries:
    """A producer for one topic, whose records are each acknowledged by all replicas, or told.

    MissingError if there is no such topic. A record that is itself at fault is told by its line. Anything else ends
    everything: the next call raises it.
    """

    def __init__(self, settings: KafkaSettings, topic: str, failed: Failed, seconds: float = 30.0) -> None:
        self.sent = 0
        """Records that were handed over."""
        self.refused = 0
        """Those of them that Kafka will not have."""
        self._failed = failed
        self._seconds = seconds
        self._address = settings.bootstrap_servers
        self._error: KafkaError | None = None
        self._topic = topic
        self._client = producer(
            settings,
            properties={
                "message.timeout.ms": max(1, round(seconds * 1000)),
                "delivery.report.only.error": True,  # what is acknowledged costs no call into Python
                "partitioner": "murmur2_random",  # a key's partition is where every other client would have put it
            },
        )
        partitions_known_to(self._client, settings, topic, seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._client.purge()

    def acknowledged(self) -> int:
        """How many records Kafka has, by all that it has answered until now."""
        self._client.poll(0)
        return max(0, self.sent - self.refused - len(self._client))

    def send(self, line: int, value: bytes | None, key: bytes | None = None, partition: int = -1) -> None:
        """Waits while too many are under way."""
        self.sent += 1

        def told(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                self._tell(line, error)

        while True:
            try:
                self._client.produce(self._topic, value, key, partition, on_delivery=told)
            except BufferError:
                self._client.poll(_WAIT_SECONDS)
            except KafkaException as error:
                self._tell(line, error.args[0])
                break
            else:
                break
        if not self.sent & 0x3FF:
            self._client.poll(0)
        self._require_no_error()

    def wait(self, progress: Callable[[int], None] | None = None) -> None:
        """Until all is acknowledged, or told. UnreachableError if that does not come in time."""
        deadline = time.monotonic() + self._seconds + 5.0  # the client's own deadline comes first, and says why
        while left := self._client.flush(_WAIT_SECONDS):
            self._require_no_error()
            if progress is not None:
                progress(self.acknowledged())
            if time.monotonic() > deadline:
                raise UnreachableError(
                    f"Kafka at {self._address} has not acknowledged {left} of {self.sent} records in time."
                )
        self._require_no_error()

    def _tell(self, line: int, error: KafkaError) -> None:
        self.refused += 1
        if error.code() in _TOO_LARGE:
            self._failed(line, f"Kafka will not have it: {error.str()}")
        elif self._error is None:
            self._error = error

    def _require_no_error(self) -> None:
        error = self._error
        if error is None:
            return
        known = f"{self.acknowledged()} of {self.sent} records were acknowledged before"
        if error.code() in _GONE:
            raise MissingError(f"There is no topic {self._topic} to write to: {error.str()}; {known}.")
        raise UnreachableError(
            f"Kafka at {self._address} does not take records of {self._topic}: {error.str()}; {known}."
        )
