"""Faults at points of a transaction: a broker process that dies, freezes or aborts where that hurts most.

They lie in the client that the broker uses, so nothing of the broker is left out or replaced.
"""

import dataclasses
import logging
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tamis.broker import kafka
from tamis.broker.kafka import KafkaError, KafkaException, Producer

_LOG = logging.getLogger("faults")
_FLUSH_SECONDS = 5.0
_DURING_SECONDS = 0.005

PRODUCED = "with everything sent"
OFFSETS = "with offsets sent"
COMMIT = "while committing"
COMMITTED = "after a commit"
ABORT = "while aborting"
POINTS = (PRODUCED, OFFSETS, COMMIT, COMMITTED, ABORT)
OPEN = (PRODUCED, OFFSETS)
"""Where the transaction is certainly open: nothing was decided."""
KILLED = "killed on purpose"
FROZEN = "frozen on purpose"
ABORTED = "aborted on purpose"


@dataclasses.dataclass(frozen=True)
class Faults:
    """What goes wrong by itself, whatever is done to the process from outside."""

    abort_every: int = 0
    """Of so many transactions one is aborted instead of committed: by itself, the group protocol hardly ever does."""
    seconds: float = 0.0
    """On average, between two deaths or freezes inside of a transaction. 0: there are none."""
    freezes: float = 0.3
    """How many of them are freezes, which somebody outside must end."""


class Injector:
    """Decides what happens in each transaction."""

    def __init__(self, faults: Faults, seed: str, calm: Path) -> None:
        self._faults = faults
        self._chance = random.Random(seed)
        self._calm = calm
        self._due_at = time.monotonic() + self._pause()
        self._point = ""
        self._freezes = False
        self._aborts = False

    def begin(self) -> None:
        """A transaction begins; from the moment that the file is there, none goes wrong any more."""
        self._point, self._aborts = "", False
        if self._calm.exists():
            return
        every = self._faults.abort_every
        self._aborts = every > 0 and self._chance.random() < 1.0 / every
        if self._faults.seconds > 0 and time.monotonic() >= self._due_at:
            self._due_at = time.monotonic() + self._pause()
            self._freezes = self._chance.random() < self._faults.freezes
            self._point = self._chance.choice(OPEN if self._freezes else POINTS)
            self._aborts = self._aborts or self._point == ABORT

    def at(self, point: str, client: Producer) -> None:
        if point != self._point:
            return
        self._point = ""
        if self._chance.random() < 0.7:
            client.flush(_FLUSH_SECONDS)
        if self._freezes:
            _LOG.warning("%s %s", FROZEN, point)
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            _LOG.warning("%s %s", KILLED, point)
            os.kill(os.getpid(), signal.SIGKILL)

    def during(self, point: str) -> None:
        """Within some milliseconds of what begins now."""
        if point == self._point:
            self._point = ""
            _LOG.warning("%s %s", KILLED, point)
            delay = self._chance.uniform(0.0, _DURING_SECONDS)
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()

    def refuse(self) -> None:
        """Once a transaction, and before anything was asked of Kafka: a commit that began is never taken back."""
        if self._aborts:
            self._aborts = False
            _LOG.warning(ABORTED)
            raise KafkaException(KafkaError(KafkaError._APPLICATION, "as was wished", False, False, True))  # noqa: FBT003

    def _pause(self) -> float:
        return self._chance.expovariate(1.0 / self._faults.seconds) if self._faults.seconds > 0 else 0.0


class _FaultyProducer(Producer):
    def __init__(self, injector: Injector, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._injector = injector

    def begin_transaction(self) -> None:
        super().begin_transaction()
        self._injector.begin()

    def send_offsets_to_transaction(self, *arguments: Any, **options: Any) -> None:
        self._injector.at(PRODUCED, self)
        super().send_offsets_to_transaction(*arguments, **options)

    def commit_transaction(self, *arguments: Any, **options: Any) -> None:
        self._injector.at(OFFSETS, self)
        self._injector.refuse()
        self._injector.during(COMMIT)
        super().commit_transaction(*arguments, **options)
        self._injector.at(COMMITTED, self)

    def abort_transaction(self, *arguments: Any, **options: Any) -> None:
        self._injector.during(ABORT)
        super().abort_transaction(*arguments, **options)


def inject(faults: Faults, seed: str, calm: Path) -> None:
    """Into every producer that is made from now on."""
    injector = Injector(faults, seed, calm)
    made = kafka.Producer  # which may lack a part already

    class Faulty(_FaultyProducer, made):  # type: ignore[misc, valid-type]
        pass

    patch.object(kafka, "Producer", lambda *given, **options: Faulty(injector, *given, **options)).start()
