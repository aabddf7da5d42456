"""Who hangs is ended; who works, waits or was frozen as a whole is not."""

import subprocess
import sys
import threading
import time

from tamis.broker.metrics import Meters
from tamis.broker.watchdog import EXIT_CODE, Watchdog

HANGS = """
import sys, time
from tamis.broker.metrics import Meters
from tamis.broker.watchdog import Watchdog

def here_it_hangs():
    time.sleep(60)

with Watchdog(Meters(), 0.2):
    here_it_hangs()
"""


def test_a_process_that_hangs_is_ended_and_says_where() -> None:
    run = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == EXIT_CODE
    assert "nothing has moved for 0.2 s" in run.stderr
    assert "here_it_hangs" in run.stderr


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
