"""The one stopwatch."""

import gc
import time
from collections.abc import Callable

_ROUNDS = 3
_TURNS = 5


def per_second(count: int, work: Callable[[], object]) -> float:
    """How many of `count` things a second the work does: the best of several rounds, since others share the machine."""
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return count / best


def rounds(*works: Callable[[], float]) -> list[float]:
    """The least seconds of each, in rounds that take turns."""
    best = [float("inf")] * len(works)
    for _ in range(_TURNS):
        for place, work in enumerate(works):
            gc.collect()
            best[place] = min(best[place], work())
    return best


def processor(work: Callable[[], object]) -> float:
    began = time.process_time()
    kept = work()
    taken = time.process_time() - began
    del kept
    return taken


def wall(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    kept = work()
    taken = time.perf_counter() - began
    del kept
    return taken
