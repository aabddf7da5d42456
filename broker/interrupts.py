"""Ctrl-C, where it may not come at any moment.

The Kafka client calls back into Python in the midst of its calls, and an interrupt that falls into such a callback is
lost: the call fails without a reason, and nobody knows whether it was done.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """A first Ctrl-C comes at the end of the block, also if that ends with an error; a second one comes at once."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    deferred: list[tuple[int, FrameType | None]] = []

    def defer(number: int, frame: FrameType | None) -> None:
        deferred.append((number, frame))
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, defer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if deferred:
            before(*deferred[0])
