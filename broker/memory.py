"""How much memory this process uses, and how much it may."""

import ctypes
import os
import resource
import sys
import time
from collections.abc import Iterator
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
_GIVING_SECONDS = 10.0
"""What a backlog needed once is free afterwards. To look for it takes a fraction of a millisecond, or some."""
_GIVING_SHARE = 0.001
"""Of the time, at most."""
_SHARE = 0.9
_UNLIMITED = 1 << 60
"""What the first version of Linux's groups says where there is no limit is about as much."""


def resident_bytes() -> int:
    """Where the system does not tell, the most that it has been."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * resource.getpagesize()


def own_bytes() -> int:
    """Without what is mapped from files, such as a snapshot, which the system takes back when it needs it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resident_bytes()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))


def bound_arenas() -> None:
    """Have all threads share two of the C library's stores of memory, unless its own variable says otherwise.

    Each new client of Kafka has some threads, and glibc gives these up to eight stores a core, which keep what was
    freed in them: a process whose clients are renewed often would grow for hours.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS_MAX)


def give_back() -> None:
    """What was freed, to the system.

    Clients that come and go leave holes between what stays, more each time; glibc by itself gives back only what is
    free at the end of a store.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def granted_bytes(root: Path = Path("/")) -> int | None:
    """How much the system grants a container, or whatever group of processes this one is in; None: all there is."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # no Linux
        return None
    limits = [limit for line in lines for limit in _limits(root / "sys/fs/cgroup", *line.split(":", 2)[1:])]
    return min((limit for limit in limits if limit < _UNLIMITED), default=None)


def _limits(groups: Path, controllers: str, group: str) -> Iterator[int]:
    """Of a group and those that it is in. In a container the outermost one that is seen is often its own."""
    if controllers not in ("", "memory"):
        return
    place, name = (groups / "memory", "memory.limit_in_bytes") if controllers else (groups, "memory.max")
    here = place / group.lstrip("/")
    for folder in (here, *here.parents):
        with suppress(OSError, ValueError):  # not seen from here, or "max"
            yield int((folder / name).read_text())
        if folder == place:
            return


class MemoryBound:
    """Stops a process in order before the system kills it, which would be again and again, and tell nobody why.

    Now and then it gives back what is free: that counts, too.
    """

    def __init__(self, most: int | None) -> None:
        """None: most of what the system grants."""
        if most is None and (granted := granted_bytes()) is not None:
            most = int(granted * _SHARE)
        self._most = most
        self._looked_at = 0.0
        self._looks = 0
        self._give_back_at = time.monotonic() + _GIVING_SECONDS

    def look(self, subscriptions: int) -> None:
        """InvalidError if it has been too much for some seconds; how many subscriptions there are is told with it."""
        now = time.monotonic()
        if now > self._give_back_at:
            give_back()
            took = time.monotonic() - now
            self._give_back_at = now + max(_GIVING_SECONDS, took / _GIVING_SHARE)
        if self._most is None or now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        used = own_bytes()
        self._looks = self._looks + 1 if used > self._most else 0
        if self._looks == _LOOKS:
            raise InvalidError(
                f"With {subscriptions} subscriptions this process uses {used // _MIB} MiB, and may use "
                f"{self._most // _MIB} (broker.memory_bytes). Let it use more, or make a layout of more shards."
            )
