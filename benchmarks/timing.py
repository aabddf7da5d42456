"""The one stopwatch."""

import time
from collections.abc import Callable

_ROUNDS = 3


def per_second(count: int, work: Callable[[], object]) -> float:
    """How many of `count` things a second the work does: the best of several rounds, since others share the machine."""
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return count / best
