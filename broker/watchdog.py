"""Ending a process that hangs: whoever watches over it starts it again, and others take its partitions.

A client library that never returns, or an event that is matched for ever, would else keep its partitions from everyone
until Kafka gives up on it, and then stay there for good. What it has not committed comes again.

A thread looks whether the loop turns. Code that never hands over the interpreter stops that thread as well: against it
the system counts the work of the process, which the thread always grants for a while ahead, and ends it after that.
"""

import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tamis.broker.metrics import Meters

EXIT_CODE = 70
"""As of any mistake in Tamis."""
_TICKS = 20
_LOG = logging.getLogger(__name__)


class Watchdog:
    """Runs in a thread of its own from the beginning of a block to its end."""

    def __init__(self, meters: Meters, seconds: float, end: Callable[[float], None] | None = None) -> None:
        """Ends a process whose loop has not turned for so many seconds, of which it was awake itself."""
        self._meters = meters
        self._seconds = seconds
        self._end = end or _end
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        # It tells where all threads are without the interpreter; then what the signal does by itself, which is the end.
        faulthandler.register(signal.SIGPROF, file=sys.__stderr__ or sys.stderr, all_threads=True, chain=True)
        self._grant(self._seconds)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._grant(0)
        faulthandler.unregister(signal.SIGPROF)

    def _watch(self) -> None:
        seen, still = self._meters.turned_at, 0
        # In ticks and not by the clock, which goes on while a process is frozen as a whole.
        while not self._stopping.wait(self._seconds / _TICKS):
            self._grant(self._seconds)
            turned = self._meters.turned_at
            seen, still = turned, still + 1 if turned == seen else 0
            if still >= _TICKS:
                self._end(self._seconds)
                return

    @staticmethod
    def _grant(seconds: float) -> None:
        """So much work by all threads together; 0: without end. It goes by what processors do, not by the clock."""
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _end(seconds: float) -> None:
    """At once: what hangs cannot be asked to stop."""
    _LOG.critical("nothing has moved for %g s: ending, so that others go on; this is where it hangs", seconds)
    faulthandler.dump_traceback(file=sys.__stderr__ or sys.stderr, all_threads=True)
    os._exit(EXIT_CODE)
