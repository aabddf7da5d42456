"""Who hangs is ended; who works, waits or was frozen as a whole is not."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from tamis.broker.metrics import Meters
from tamis.broker.watchdog import EXIT_CODE, Watchdog

HANGS = """
import collections, itertools, sys, time
from tamis.broker.metrics import Meters
from tamis.broker.watchdog import Watchdog

def sleeps():
    time.sleep(60)

def works():
    while True:
        pass

def keeps_the_interpreter():
    collections.deque(itertools.repeat(0), maxlen=0)

with Watchdog(Meters(), 0.2):
    {}()
"""


WORKS = """
import time
from tamis.broker.metrics import Meters
from tamis.broker.watchdog import Watchdog

def work(seconds, meters):
    end = time.process_time() + seconds
    while time.process_time() < end:
        meters.turned_at = time.monotonic()

meters = Meters()
with Watchdog(meters, 0.5):
    work(1.5, meters)
work(1.0, meters)
"""


def _run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("how", ["sleeps", "works"])
def test_a_process_that_hangs_is_ended_and_says_where(how: str) -> None:
    run = _run(HANGS.format(how))
    assert run.returncode == EXIT_CODE
    assert "nothing has moved for 0.2 s" in run.stderr
    assert f"in {how}" in run.stderr


def test_one_that_never_hands_over_the_interpreter_is_ended_and_says_where() -> None:
    run = _run(HANGS.format("keeps_the_interpreter"))
    assert run.returncode == -signal.SIGPROF
    assert "in keeps_the_interpreter" in run.stderr


def test_work_is_granted_for_as_long_as_the_loop_turns_and_after_the_end() -> None:
    run = _run(WORKS)
    assert (run.returncode, run.stderr) == (0, "")


def test_one_whose_loop_turns_is_left_alone() -> None:
    ended = threading.Event()
    meters = Meters()
    with Watchdog(meters, 1.0, lambda _: ended.set()):
        for _ in range(30):
            meters.turned_at = time.monotonic()
            time.sleep(0.05)
        assert not ended.is_set()
        assert ended.wait(30.0), "when it stops turning"


def test_time_for_which_all_of_it_was_frozen_does_not_count() -> None:
    ended = threading.Event()
    meters = Meters()
    meters.turned_at = time.monotonic() - 3600
    with Watchdog(meters, 1000.0, lambda _: ended.set()):
        time.sleep(0.2)
    assert not ended.is_set()
