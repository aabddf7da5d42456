"""Where a broker's time goes, step by step."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.report import Report
from tamis.broker import worker
from tamis.broker.attempts import Attempts
from tamis.broker.configuration import Settings, SnapshotSettings
from tamis.broker.event_source import EventSource
from tamis.broker.memory import MemoryBound
from tamis.broker.message_batch import MessageBatch
from tamis.broker.metrics import Meters
from tamis.broker.outbox import Outbox
from tamis.broker.outlets import Outlets
from tamis.broker.pace import Pace
from tamis.broker.shipping import Shipper
from tamis.broker.snapshots import Snapshots
from tamis.broker.subscription_log import SubscriptionLog
from tamis.broker.worker import Counts, Kept
from tamis.codecs.event_decoder import EventDecoder

STEPS: list[tuple[str, Any, str]] = [
    ("poll", EventSource, "poll"),
    ("poll", EventSource, "gather"),
    ("catch up with subscriptions", SubscriptionLog, "catch_up"),
    ("messages into columns", MessageBatch, "of"),
    ("decode, match, group", worker, "matched"),
    ("encode and send notifications", Shipper, "_send_notifications"),
    ("commit: flush, offsets, markers", Outbox, "is_sent"),
    ("commit: flush, offsets, markers", Outbox, "commit"),
]


def kept_by(settings: Settings, counts: Counts, meters: Meters | None = None) -> Kept:
    """What a worker keeps that is measured without a Redis, and with all the memory that there is."""
    unsaved = settings.model_copy(update={"snapshots": SnapshotSettings(enabled=False)})
    return Kept(
        EventDecoder(),
        counts,
        Pace(settings.broker.batch_events),
        Outlets(settings, tuple),
        Snapshots(unsaved, 0, Meters()),
        MemoryBound(None),
        meters or Meters(),
    )


def no_attempts() -> Attempts:
    """Of a slot that nobody had before."""
    return Attempts("benchmark", {}, Path(tempfile.mkdtemp()))


@contextmanager
def watched(seconds: Counter[str]) -> Iterator[None]:
    """Adds up what each step takes."""
    with ExitStack() as stack:
        for name, owner, attribute in STEPS:
            stack.enter_context(patch.object(owner, attribute, _timed(getattr(owner, attribute), name, seconds)))
        yield


def _timed(work: Callable[..., Any], name: str, seconds: Counter[str]) -> Callable[..., Any]:
    def timed(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*arguments, **options)
        finally:
            seconds[name] += time.perf_counter() - began  # type: ignore[assignment]

    return timed


def add_rows(report: Report, seconds: Counter[str], total: float, events: int) -> None:
    rest = total - sum(seconds.values())
    for name, spent in [*seconds.items(), ("all else", rest)]:
        report.row("Where the time goes", step=name, microseconds_an_event=spent / events * 1e6, share=spent / total)
