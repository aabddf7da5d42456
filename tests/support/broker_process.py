"""A broker process for fault tests: the real one, with faults of its own or something left out on purpose.

    python broker_process.py FILE

FILE holds, as JSON, the settings, the shard and slot, the faults, and which part is broken: to show that the tests
would notice.
"""

import dataclasses
import json
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tamis.broker import outbox, transactions, worker
from tamis.broker.configuration import KafkaSettings, Settings
from tamis.broker.errors import BrokerError
from tamis.broker.event_source import EventSource
from tamis.broker.kafka import Producer, consumer, producer
from tamis.broker.logs import configure_logging
from tamis.broker.service import serve
from tamis.broker.subscription_log import SubscriptionLog
from tamis.codecs.view import View

_SLOW_SECONDS = 0.1
_LOG = logging.getLogger("faults")


@dataclasses.dataclass(frozen=True)
class Faults:
    """What goes wrong by itself, whatever is done to the process from outside."""

    abort_every: int = 0
    """Every so many transactions are aborted instead of committed: by itself, the group protocol hardly ever does."""
    kill_share: float = 0.0
    """Of transactions, how many end by the death of the process, with all that is sent, and nothing committed."""


@dataclasses.dataclass(frozen=True)
class Plan:
    settings: dict[str, Any]
    shard: int
    slot: str
    faults: Faults = Faults()
    broken: str = ""
    """One of `BROKEN`, or empty."""

    @classmethod
    def parse(cls, text: str) -> "Plan":
        fields = json.loads(text)
        return cls(**fields | {"faults": Faults(**fields["faults"])})

    @property
    def text(self) -> str:
        return json.dumps(dataclasses.asdict(self))


def break_rewind() -> None:
    """After an abort it goes on with the next events."""
    patch.object(EventSource, "rewind", lambda source: source._held.clear()).start()


def break_barrier() -> None:
    """Events are matched against what happens to be there, of a log that comes over a slow line."""
    looked_at = 0.0

    def catch_up(log: SubscriptionLog, *_arguments: object, **_options: object) -> View:
        nonlocal looked_at
        if log.applied == 0:
            return real(log)
        if time.monotonic() - looked_at > _SLOW_SECONDS:
            looked_at = time.monotonic()
            log.drain()
        return log.view

    real = SubscriptionLog.catch_up
    patch.object(SubscriptionLog, "catch_up", catch_up).start()


def break_transactions() -> None:
    """Notifications go out at once, and offsets are committed when they did."""

    class Untransacted:
        def __init__(self, settings: KafkaSettings) -> None:
            self._producer = producer(settings)
            self._offsets: Any = None

        def __getattr__(self, name: str) -> Any:
            return getattr(self._producer, name)

        def init_transactions(self, _seconds: float) -> None:
            pass

        def begin_transaction(self) -> None:
            pass

        def send_offsets_to_transaction(self, offsets: Any, _group: object, _seconds: float) -> None:
            self._offsets = offsets

        def commit_transaction(self, _seconds: float) -> None:
            self._producer.flush()
            found[-1].commit(offsets=self._offsets, asynchronous=False)

        def abort_transaction(self, _seconds: float) -> None:
            pass

    def remember(*arguments: Any) -> Any:
        found.append(consumer(*arguments))
        return found[-1]

    found: list[Any] = []
    patch.object(worker, "consumer", remember).start()
    patch.object(outbox, "producer", lambda settings, _id, **_: Untransacted(settings)).start()


BROKEN: dict[str, Callable[[], None]] = {
    "rewind": break_rewind,
    "barrier": break_barrier,
    "transactions": break_transactions,
}


def inject(faults: Faults) -> None:
    count = 0

    def transact(operation: Callable[..., object], *arguments: object) -> bool:
        nonlocal count
        is_commit = getattr(operation, "__name__", "") == "commit_transaction"
        if is_commit:
            count += 1
            if random.random() < faults.kill_share:
                owner: Producer = operation.__self__  # type: ignore[attr-defined]
                owner.flush(5)
                _LOG.warning("killed inside a transaction")
                os.kill(os.getpid(), signal.SIGKILL)
            if faults.abort_every and count % faults.abort_every == 0:
                _LOG.warning("aborted on purpose")
                return False
        return transactions.transact(operation, *arguments)

    patch.object(outbox, "transact", transact).start()


def main() -> None:
    plan = Plan.parse(Path(sys.argv[1]).read_text())
    configure_logging()
    if plan.broken:
        BROKEN[plan.broken]()
    inject(plan.faults)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        serve(Settings.model_validate(plan.settings), plan.shard, plan.slot, stop.is_set)
    except BrokerError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
