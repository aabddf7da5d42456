"""Subscribers' topics that take less at once, for a while, than what is sent to them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from chaos_kafka import Later
from tamis.broker.configuration import KafkaSettings
from tamis.broker.kafka import KafkaException, admin_client
from topic_settings import alter

_SIZE = "max.message.bytes"
_BYTES = (150, 300)
"""Less than any notification, and than some; but a transaction's marker fits, or Kafka would never end it."""
_USUAL_BYTES = 1_048_588
"""Kafka's own default."""
_SECONDS = (1.0, 10.0)
_AGAIN_SECONDS = 0.5
_CALL_SECONDS = 2.0


@dataclass
class TopicFaults:
    settings: KafkaSettings
    topics: Sequence[str]
    chance: random.Random
    later: Later

    def __post_init__(self) -> None:
        self._admin = admin_client(self.settings)
        self._narrow = ""

    def narrow(self) -> bool:
        """One of them."""
        if self._narrow:
            return False
        topic = self.chance.choice(self.topics)
        if not self._is_altered(topic, self.chance.choice(_BYTES)):
            return False
        self._narrow = topic
        self.later(self.chance.uniform(*_SECONDS), self._widen)
        return True

    def _widen(self) -> None:
        if self._is_altered(self._narrow, _USUAL_BYTES):
            self._narrow = ""
        else:
            self.later(_AGAIN_SECONDS, self._widen)

    def _is_altered(self, topic: str, size: int) -> bool:
        try:
            alter(self._admin, topic, {_SIZE: str(size)}, _CALL_SECONDS)
        except KafkaException:  # it is Kafka's turn to be broken
            return False
        return True
