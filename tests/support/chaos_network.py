"""Connections of broker processes that break where nobody can know what Kafka has carried out, are slow, or silent."""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

from chaos_kafka import Later
from kafka_proxy import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    CONSUMER_GROUP_HEARTBEAT,
    END_TXN,
    INIT_PRODUCER_ID,
    OFFSET_FETCH,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    Fate,
    KafkaProxy,
)

NETWORK_KINDS = ("answers lost", "answers lost", "network slowed", "network silent")
_KINDS = (
    *(PRODUCE, PRODUCE, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT, END_TXN, END_TXN),
    *(INIT_PRODUCER_ID, OFFSET_FETCH, CONSUMER_GROUP_HEARTBEAT),
)
_SECONDS = (0.5, 2.0, 5.0)
_ANSWERS_MAX = 3
_DELAYS = (0.02, 0.2, 1.0)
_SILENT_SECONDS = (3.0, 8.0, 20.0)
"""Up to beyond what a group waits for a member."""


@dataclass
class NetworkFaults:
    proxy: KafkaProxy
    chance: random.Random
    later: Later

    @property
    def kinds(self) -> dict[str, Callable[[], bool]]:
        return {"answers lost": self.lose_answers, "network slowed": self.slow, "network silent": self.silence}

    def lose_answers(self) -> bool:
        """Of one kind of request: Kafka carries out the first; those that follow for a while may not come to it."""
        if self.proxy.is_harmful:
            return False
        kind = self.chance.choice(_KINDS)
        first = [Fate.ANSWER_LOST] * self.chance.randint(1, _ANSWERS_MAX)
        fates = itertools.chain(first, itertools.repeat(self.chance.choice((Fate.REQUEST_LOST, Fate.PASSED))))
        self.proxy.fate = lambda api: next(fates) if api == kind else Fate.PASSED
        self.later(self.chance.choice(_SECONDS), self.proxy.heal)
        return True

    def slow(self) -> bool:
        """Nothing is lost, and all of it takes its time."""
        return self._held(self.chance.choice(_DELAYS), self.chance.choice(_SECONDS))

    def silence(self) -> bool:
        """Connections stay open, and nothing comes through; then all of it does."""
        seconds = self.chance.choice(_SILENT_SECONDS)
        return self._held(seconds, seconds)

    def _held(self, delay: float, seconds: float) -> bool:
        if self.proxy.is_harmful:
            return False
        self.proxy.slow(delay)
        self.later(seconds, self.proxy.heal)
        return True
