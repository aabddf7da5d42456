"""How a service is told to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """It is set by SIGTERM or Ctrl-C; a second one ends the process at once, and nothing is lost by that either."""
    stop = threading.Event()

    def end(number: int, _frame: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            signal.signal(number, end)
    try:
        yield stop
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)
