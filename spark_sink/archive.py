"""The archiver: from all topics into the archive, once, or on and on."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tamis.broker.configuration import Settings
from tamis.broker.errors import UnreachableError
from tamis.spark_sink.archive_metrics import ArchiveMeters
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.archive_plan import Plan, Topics, plan, topics_of
from tamis.spark_sink.archive_progress import Heard, Progress
from tamis.spark_sink.archive_stream import Pace, Stream
from tamis.spark_sink.archive_tables import Writer, add_beginnings, fulfilled_by, make, next_offsets
from tamis.spark_sink.errors import LostError
from tamis.spark_sink.fulfilment import Fulfilment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.spark_sink.archive_tables import Beginning

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 30.0
_AGAIN_SECONDS = 5.0
_POLL_SECONDS = 0.2
_NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to archive, and how."""

    pace: Pace = field(default_factory=Pace)
    notifications: bool = False
    accept_loss: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it."""

    records: int
    batches: int
    seconds: float
    topics: int
    partitions: int
    lost: int
    """Offsets that Kafka had no more, and that were accepted as lost."""


class Archiver:
    """Appends to one archive what it has not."""

    def __init__(self, spark: "SparkSession", settings: Settings, place: Place, wanted: Wanted) -> None:
        self._spark = spark
        self._settings = settings
        self._place = place
        self._wanted = wanted
        self.meters = ArchiveMeters()

    def run(self, stopping: Callable[[], bool] = lambda: False, progress: Progress | None = None) -> Done:
        """Up to the present end; or, if the pace has seconds, until `stopping`.

        LostError if records are gone that the archive has not, ConflictError if somebody else archives to it.
        """
        began = time.monotonic()
        # Rows of a task are of one topic and hardly more than one day: they need no sorting before they are written.
        self._spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "16")
        with self._place.locked(), Heard(self._spark, self.meters, progress) as heard:
            make(self._spark, self._place)
            fulfilment = self._fulfilment()
            writer = Writer(self._spark, self._place, fulfilment)
            planned = self._planned()
            while True:
                self.meters.lost += sum(each.offset - each.missing_from for each in planned.losses)
                heard.expect(planned.starts, planned.waiting)
                if fulfilment is not None:
                    fulfilment.begin()
                watch = _Watch(self._settings, self._wanted, planned, fulfilment)
                stream = Stream(self._spark, self._settings, planned, writer, self._wanted.pace)
                if self._is_once:
                    stream.run(stopping, watch.is_over)
                    break
                with self._tolerated():
                    stream.run(stopping, watch.is_over)
                following = self._followed(stopping)
                if following is None:
                    break
                planned = following
            heard.wait()
        logs = planned.topics.logs
        seconds = round(time.monotonic() - began, 3)
        counts = self.meters
        return Done(counts.records, counts.batches, seconds, len(planned.topics.facts), len(logs), counts.lost)

    @property
    def _is_once(self) -> bool:
        return self._wanted.pace.seconds is None

    def _followed(self, stopping: Callable[[], bool]) -> Plan | None:
        """The next plan, once Kafka tells what there is; None if it is to stop."""
        while not stopping():
            with self._tolerated():
                return self._planned()
            _wait(stopping, _AGAIN_SECONDS)
        return None

    @contextmanager
    def _tolerated(self) -> Iterator[None]:
        """A Kafka that does not answer is none to stop for, once it has: whoever archives on and on asks again."""
        try:
            yield
        except UnreachableError as error:
            self.meters.failed(str(error))
            _LOG.warning("%s", error)

    def _fulfilment(self) -> Fulfilment | None:
        """Asked before it is known where to read up to: what is fulfilled has been written by then."""
        if not self._wanted.notifications:
            return None
        fulfilment = Fulfilment(fulfilled_by(self._spark, self._place))
        fulfilment.ask(self._settings, waits=self._is_once)
        return fulfilment

    def _planned(self) -> Plan:
        """What begins, or is lost, is noted before anything is read beyond it."""
        topics = topics_of(self._settings, notifications=self._wanted.notifications)
        for topic in topics.missing:
            _LOG.warning("%s is an event topic of the layout, and is not there: tamis topics check tells more.", topic)
        planned = plan(self._settings, topics, next_offsets(self._spark, self._place))
        if planned.losses and not self._wanted.accept_loss:
            raise LostError(
                f"Kafka no longer has {_told(planned.losses)}, and the archive has not got them yet: retention was "
                "faster. Look whether another archive has them; --accept-loss notes that they are missing here, and "
                "goes on."
            )
        for loss in planned.losses:
            _LOG.warning("%s: gone before they were archived, and noted as missing.", _told([loss]))
        add_beginnings(self._spark, self._place, planned.beginnings)
        return planned


def _told(losses: "list[Beginning]") -> str:
    named = [
        f"offsets {loss.missing_from} to {loss.offset - 1} of {loss.topic} [{loss.slice[1]}]"
        for loss in losses[:_NAMED_MAX]
    ]
    more = len(losses) - len(named)
    return ", ".join(named) + (f" and more in {more} other partitions" if more > 0 else "")


def _wait(stopping: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not stopping() and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)


class _Watch:
    """Looks now and then whether there are the topics, and the partitions, that were planned with."""

    def __init__(self, settings: Settings, wanted: Wanted, planned: Plan, fulfilment: Fulfilment | None) -> None:
        self._fulfilment = fulfilment
        self._settings = settings
        self._wanted = wanted
        self._places = frozenset(log.slice for log in planned.topics.logs)
        self._next = time.monotonic() + _LOOK_SECONDS

    def is_over(self) -> bool:
        """Never for who reads up to an end: what is added meanwhile is the next one's."""
        if self._wanted.pace.seconds is None or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + _LOOK_SECONDS
        try:
            topics = self._asked() or topics_of(self._settings, notifications=self._wanted.notifications)
        except UnreachableError:
            return False  # the stream itself will tell, if that lasts
        if self._fulfilment is not None and self._fulfilment.has_more_to_tell:
            return True  # which the next stream's first batch does
        return frozenset(log.slice for log in topics.logs) != self._places

    def _asked(self) -> Topics | None:
        return None if self._fulfilment is None else self._fulfilment.ask(self._settings)
