"""Sends records until Kafka has them, whatever becomes of the client.

After Kafka was restarted often, a producer may wait for an answer for good, as consumers may, of which
`tamis.broker.stall_watch` tells. Then another one sends what is not acknowledged; Kafka may have some of that already,
and has it twice then.
"""

import itertools
import threading
import time
from functools import partial

from tamis.broker.bundles import Record
from tamis.broker.configuration import KafkaSettings
from tamis.broker.kafka import KafkaError, Message, producer

_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 1.0


class Sender:
    """Several threads may send by it."""

    def __init__(self, settings: KafkaSettings, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._settings = settings
        self._patience = patience_seconds
        self._client = producer(settings)
        self._numbers = itertools.count()
        self._pending: dict[int, Record] = {}
        """What is not acknowledged, in its order."""
        self._lock = threading.RLock()

    def send(self, topic: str, value: bytes | None, key: bytes | None, partition: int) -> None:
        with self._lock:
            number = next(self._numbers)
            record = self._pending[number] = Record(topic, partition, key, value)
            self._produce(number, record)

    def flush(self, seconds: float) -> bool:
        """Whether all that was sent before is acknowledged in so many seconds."""
        deadline = time.monotonic() + seconds
        with self._lock:
            last = next(reversed(self._pending), -1)
        while True:
            client, left = self._client, deadline - time.monotonic()
            unanswered = client.flush(min(self._patience, max(0.0, left)))
            with self._lock:
                if next(iter(self._pending), last + 1) > last:
                    return True
                if left < self._patience:
                    return False
                if client is self._client:
                    self.renew()
            if not unanswered:
                time.sleep(_PAUSE_SECONDS)  # it was refused, and would be at once again

    def renew(self) -> None:
        """Go on with a new client, which knows nothing of what the old one did."""
        with self._lock:
            old, self._client = self._client, producer(self._settings)
            old.purge()
            for number, record in list(self._pending.items()):
                self._produce(number, record)

    def _produce(self, number: int, record: Record) -> None:
        told = partial(self._told, number)
        self._client.produce(record.topic, record.value, record.key, record.partition, on_delivery=told)

    def _told(self, number: int, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self._pending.pop(number, None)
