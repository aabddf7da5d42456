"""A broker process for fault tests: the real one, with faults of its own or something left out on purpose.

    python broker_process.py FILE

FILE holds, as JSON, the settings, the shard and slot, the faults, and which part is broken.
"""

import ctypes
import dataclasses
import faulthandler
import json
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from chaos_broken import BROKEN
from chaos_points import Faults, inject
from tamis.broker import matching_step, worker
from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError
from tamis.broker.logs import configure_logging
from tamis.broker.message_batch import MessageBatch
from tamis.broker.service import serve
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.subscription import Subscription

POISON = b"poison"
_PR_SET_PDEATHSIG = 1


@dataclasses.dataclass(frozen=True)
class Manner:
    """How a process differs from any other broker."""

    faults: Faults = dataclasses.field(default_factory=Faults)
    broken: str = ""
    """One of `BROKEN`, or empty."""
    seed: str = ""
    """Of what it leaves to chance."""
    poison: str = ""
    """What messages do to it in which there is `POISON`: kill, hang, or keep the interpreter."""
    poison_paused: bool = False
    """Whether subscriptions do that though they are paused."""


@dataclasses.dataclass(frozen=True)
class Plan:
    settings: dict[str, Any]
    shard: int
    slot: str
    owner: int
    """The process that started it, and that it does not outlive."""
    calm: str
    """The file at whose presence there are no more faults."""
    manner: Manner

    @classmethod
    def parse(cls, text: str) -> "Plan":
        fields = json.loads(text)
        manner = fields.pop("manner")
        faults = Faults(**manner.pop("faults"))
        return cls(**fields, manner=Manner(**manner, faults=faults))

    @property
    def text(self) -> str:
        return json.dumps(dataclasses.asdict(self))


def die_with(owner: int) -> None:
    """However it dies, and even while this one is frozen; where the system is Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != owner:
            sys.exit("Error: started by a process that is gone")


def poison(how: str, *, also_paused: bool) -> None:
    """Decoding and matching an event, or applying a subscription, is not survived."""
    match, apply = matching_step.matched, SubscriptionState.apply

    def take(values: Iterable[bytes | None]) -> None:
        if not any(POISON in (value or b"") for value in values):
            return
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "keep":
            deque(repeat(None), maxlen=0)
        time.sleep(3600)

    def matched(state: Any, decoder: Any, batch: MessageBatch, *arguments: Any) -> Any:
        for part in batch.parts:
            take(cast("Sequence[bytes | None]", part.values))
        return match(state, decoder, batch, *arguments)

    def applied(state: SubscriptionState, partition: int, keys: Any, values: Sequence[bytes | None]) -> Any:
        take(value for value in values if value and (also_paused or Subscription.decode(value).paused is None))
        return apply(state, partition, keys, values)

    patch.object(worker, "matched", matched).start()
    patch.object(SubscriptionState, "apply", applied).start()


def main() -> None:
    plan = Plan.parse(Path(sys.argv[1]).read_text())
    die_with(plan.owner)
    configure_logging()
    faulthandler.register(signal.SIGUSR1)  # for who wants to know where it hangs
    manner = plan.manner
    if manner.broken:
        BROKEN[manner.broken]()
    if manner.poison:
        poison(manner.poison, also_paused=manner.poison_paused)
    inject(manner.faults, manner.seed, Path(plan.calm))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        serve(Settings.model_validate(plan.settings), plan.shard, plan.slot, stop.is_set)
    except BrokerError as error:
        sys.exit(f"Error: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
