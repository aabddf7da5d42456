"""Connections of broker processes that break where nobody can know what Kafka has carried out."""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

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

Later = Callable[[float, Callable[[], None]], None]
"""Is given in how many seconds something is to be done."""
_KINDS = (
    *(PRODUCE, PRODUCE, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT, END_TXN, END_TXN),
    *(INIT_PRODUCER_ID, OFFSET_FETCH, CONSUMER_GROUP_HEARTBEAT),
)
_SECONDS = (0.0, 0.5, 3.0)
"""How long requests are lost behind the first lost answers: longer, too, than is waited before an abort."""
_ANSWERS_MAX = 3


@dataclass
class NetworkFaults:
    proxy: KafkaProxy
    chance: random.Random
    later: Later

    def lose_answers(self) -> bool:
        """Of one kind of request: Kafka has carried out the first, and those after them do not come to it."""
        if self.proxy.is_harmful:
            return False
        kind, answers = self.chance.choice(_KINDS), self.chance.randint(1, _ANSWERS_MAX)
        seconds = self.chance.choice(_SECONDS)
        left = [Fate.ANSWER_LOST] * answers
        fates = itertools.chain(left, itertools.repeat(Fate.REQUEST_LOST if seconds else Fate.PASSED))
        self.proxy.fate = lambda api: next(fates) if api == kind else Fate.PASSED
        self.later(seconds + _ANSWERS_MAX, self.proxy.heal)
        return True
