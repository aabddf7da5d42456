"""How far Spark has come with a job, told while it runs."""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_PAUSE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Tasks:
    """Of all stages that Spark has begun."""

    done: int
    known: int


Tell = Callable[[Tasks], None]


@contextmanager
def watched(session: "SparkSession", what: str, tell: Tell) -> Iterator[None]:
    """Spark's jobs within are one group: their tasks are told now and then. Left early, they are ended."""
    context = session.sparkContext
    group = f"tamis-{uuid.uuid4().hex}"
    context.setJobGroup(group, what, interruptOnCancel=True)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, group, tell, over), daemon=True)
    watcher.start()
    try:
        yield
    except BaseException:
        context.cancelJobGroup(group)
        raise
    finally:
        over.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # as its own documentation has it


def _watch(context: "SparkContext", group: str, tell: Tell, over: threading.Event) -> None:
    tracker = context.statusTracker()
    done: dict[int, tuple[int, int]] = {}
    while not over.wait(_PAUSE_SECONDS):
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in () if info is None else info.stageIds:
                found = tracker.getStageInfo(stage)
                if found is not None:
                    done[stage] = found.numCompletedTasks, found.numTasks
        tell(Tasks(sum(each for each, _ in done.values()), sum(each for _, each in done.values())))
