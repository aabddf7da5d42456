"""How much memory this process uses, and how much it may."""

import ctypes
import os
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

from tamis.broker.errors import InvalidError

_LOOK_SECONDS = 1.0
_LOOKS = 3
"""So often in a row it is too much: a batch's own memory, or a snapshot's, goes again."""
_MIB = 1 << 20
_M_ARENA_MAX = -8
"""As glibc's `mallopt` knows it."""
_ARENAS_MAX = 2


def resident_bytes() -> int:
    """Where the system does not tell, the most that it has been."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * resource.getpagesize()


def bound_arenas() -> None:
    """Have all threads share two of the C library's stores of memory, unless its own variable says otherwise.

    Each new client of Kafka has some threads, and glibc gives these up to eight stores a core, which keep what was
    freed in them: a process whose clients are renewed often would grow for hours.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS_MAX)


class MemoryBound:
    """Stops a process in order before the system kills it, which would be again and again, and tell nobody why."""

    def __init__(self, most: int | None) -> None:
        """None: as much as there is."""
        self._most = most
        self._looked_at = 0.0
        self._looks = 0

    def look(self, subscriptions: int) -> None:
        """InvalidError if it has been too much for some seconds; how many subscriptions there are is told with it."""
        now = time.monotonic()
        if self._most is None or now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        used = resident_bytes()
        self._looks = self._looks + 1 if used > self._most else 0
        if self._looks == _LOOKS:
            raise InvalidError(
                f"With {subscriptions} subscriptions this process uses {used // _MIB} MiB, and may use "
                f"{self._most // _MIB} (broker.memory_bytes). Let it use more, or make a layout of more shards."
            )
