"""What became of a process, and waiting for it."""

import os
import time
from collections.abc import Callable
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether it runs; one that has ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except ProcessLookupError:
        return False  # it ended between the opening of its status and the reading
    except FileNotFoundError:
        return not Path("/proc/self").exists()  # it ended just now, or this is no Linux


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def soon(condition: Callable[[], bool], seconds: float = 20.0, pause: float = 0.02) -> bool:
    """Whether it comes true in time; asked after each pause, which is longer where asking takes long."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
