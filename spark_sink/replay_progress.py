"""How far Spark has come with a replay, told while it runs."""

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

_PAUSE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class HowFar:
    """Tasks of all stages that Spark has begun; events that are matched."""

    tasks: int
    tasks_known: int
    events: int
    events_known: int | None
    """None as long as they are being counted."""


Tell = Callable[[HowFar], None]


class Watch:
    """What is known of a replay under way."""

    def __init__(self, context: "SparkContext", group: str, tell: Tell) -> None:
        self.matched: Accumulator[int] = context.accumulator(0)
        """Counted by the workers; Spark brings it here when a task ends."""
        self.events: int | None = None
        """How many there are to be matched."""
        self._tracker = context.statusTracker()
        self._group = group
        self._tell = tell
        self._tasks: dict[int, tuple[int, int]] = {}

    def look(self) -> None:
        for job in self._tracker.getJobIdsForGroup(self._group):
            info = self._tracker.getJobInfo(job)
            for stage in () if info is None else info.stageIds:
                found = self._tracker.getStageInfo(stage)
                if found is not None:
                    self._tasks[stage] = found.numCompletedTasks, found.numTasks
        done, known = (sum(each[column] for each in self._tasks.values()) for column in (0, 1))
        self._tell(HowFar(done, known, self.matched.value, self.events))


@contextmanager
def watched(session: "SparkSession", what: str, tell: Tell) -> Iterator[Watch]:
    """Spark's jobs within are one group. How far they are is told now and then; left early, they are ended."""
    context = session.sparkContext
    group = f"tamis-{uuid.uuid4().hex}"
    context.setJobGroup(group, what, interruptOnCancel=True)
    watch, over = Watch(context, group, tell), threading.Event()

    def look_now_and_then() -> None:
        while not over.wait(_PAUSE_SECONDS):
            watch.look()

    watcher = threading.Thread(target=look_now_and_then, daemon=True)
    watcher.start()
    try:
        yield watch
        over.set()
        watcher.join()
        watch.look()
    except BaseException:
        context.cancelJobGroup(group)
        raise
    finally:
        over.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # as Spark's own code does


def counting(
    counter: "Accumulator[int]", match: Callable[[Iterable[Any]], Iterable[Any]], batches: Iterable[Any]
) -> Iterator[Any]:
    """What a function makes of batches; their rows are counted. It is here since workers import what it is beside."""

    def counted() -> Iterator[Any]:
        for batch in batches:
            yield batch
            counter.add(batch.num_rows)

    yield from match(counted())
