"""What Spark tells of each batch: a line of the log, and for people how far it is."""

import json
import logging
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from tamis.broker.lag_ends import Place
from tamis.spark_sink.archive_metrics import ArchiveMeters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_LAST_SECONDS = 10.0


class Progress(Protocol):
    """Who is told how far it is."""

    def expect(self, offsets: int) -> None:
        """So many are to come, at the start; of them some may be no records."""

    def advance(self, offsets: int) -> None: ...


class Heard:
    """All batches of a session, for as long as the block lasts."""

    def __init__(self, spark: "SparkSession", meters: ArchiveMeters, progress: Progress | None = None) -> None:
        self._spark = spark
        self._meters = meters
        self._progress = progress
        self._ended = threading.Semaphore(0)
        self._streams = 0
        self._at: dict[Place, int] = {}
        """Up to where each partition was read."""
        self._listener = _listener(self)

    def __enter__(self) -> Self:
        self._spark.streams.addListener(self._listener)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spark.streams.removeListener(self._listener)

    def expect(self, starts: Mapping[Place, int], offsets: int) -> None:
        """One more stream, that begins there and has so many offsets before it."""
        self._streams += 1
        self._at = dict(starts)
        self._meters.reads()
        if self._progress is not None:
            self._progress.expect(offsets)

    def wait(self) -> None:
        """For what is told of the last batches: it comes after the streams have ended."""
        for _ in range(self._streams):
            self._ended.acquire(timeout=_LAST_SECONDS)

    def idle(self) -> None:
        """Spark has looked, and found nothing new."""
        self._meters.looked(None)

    def batch(self, told: Any) -> None:
        ends = {place: end for source in told.sources for place, end in _offsets(source.endOffset).items()}
        there = {place: end for source in told.sources for place, end in _offsets(source.latestOffset).items()}
        self._meters.looked(sum(max(0, there[place] - end) for place, end in ends.items() if place in there))
        offsets = sum(end - self._at.get(place, end) for place, end in ends.items())
        self._at |= ends
        if not offsets:
            return
        if self._progress is not None:
            self._progress.advance(offsets)
        seconds = told.batchDuration / 1000
        self._meters.committed(told.numInputRows, seconds)
        _LOG.info(
            "Archived",
            extra={
                "batch": told.batchId,
                "records": told.numInputRows,
                "offsets": offsets,
                "seconds": round(seconds, 3),
                "records_per_second": round(told.numInputRows / seconds) if seconds else None,
                "behind_max": int(told.sources[0].metrics.get("maxOffsetsBehindLatest", 0)),
            },
        )

    def end(self) -> None:
        self._ended.release()


def _offsets(told: str) -> dict[Place, int]:
    """Where a batch ends, as Spark tells it; nothing if it had none."""
    if not told.startswith("{"):
        return {}
    return {
        (topic, int(partition)): offset for topic, of in json.loads(told).items() for partition, offset in of.items()
    }


def _listener(heard: Heard) -> Any:
    """Its class is PySpark's, which is imported only here."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
            pass

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            heard.batch(event.progress)

        def onQueryIdle(self, event: Any) -> None:  # noqa: ARG002, N802
            heard.idle()

        def onQueryTerminated(self, event: Any) -> None:  # noqa: ARG002, N802
            heard.end()

    return Listener()
