"""`tamis demo` as people run it: what it says at the end is true, and nothing of it stays, however it ends."""

import os
import pty
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from processes import soon
from tamis.admin.local.cache import cache_folder

DEMO = [sys.executable, "-m", "tamis.admin", "demo"]
SMALL = ["--seconds", "5", "--events", "3000"]
LAST_LINE = re.compile(r"(\d+) events, (\d+) notifications expected, (\d+) delivered, 0 lost, 0 duplicated")
SECONDS = 90

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


class Scratch:
    """Where a command may write, and a mark that all of its processes carry."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark = f"MARK={uuid.uuid4()}"

    @property
    def environment(self) -> Mapping[str, str]:
        name, value = self._mark.split("=")
        cache = cache_folder()
        home = {"HOME": str(self._folder), "TMPDIR": str(self._folder)}
        return {**os.environ, **home, "XDG_CACHE_HOME": str(cache.parent), name: value}

    def processes(self) -> list[int]:
        """Those with the mark; and Redis, which writes its title over it, by where it works."""
        return [int(place.name) for place in Path("/proc").glob("[0-9]*") if self._is_ours(place)]

    def files(self) -> list[Path]:
        """But the folder of locks on ports, which is everybody's."""
        return [
            path
            for path in self._folder.rglob("*")
            if path.is_file() and not path.parent.name.startswith("tamis-ports")
        ]

    def _is_ours(self, place: Path) -> bool:
        try:
            marked = self._mark.encode() in (place / "environ").read_bytes().split(b"\0")
            return marked or (place / "cwd").readlink().is_relative_to(self._folder)
        except OSError:  # it has ended, or is somebody else's
            return False


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def test_in_a_pipe_its_last_line_tells_that_nothing_was_lost_or_doubled(scratch: Scratch) -> None:
    run = subprocess.run(
        [*DEMO, *SMALL], env=scratch.environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (run.returncode, "Traceback" in run.stderr) == (0, False), run.stderr
    last = LAST_LINE.fullmatch(run.stdout.splitlines()[-1])
    assert last is not None, run.stdout
    events, expected, delivered = map(int, last.groups())
    assert events > 3000
    assert expected == delivered > 1000
    for scene in ("Eva subscribes", "Ben takes back", "kill -9", "started again", "caught up", "Now fast", "the check"):
        assert scene in run.stderr
    assert "\x1b" not in run.stdout + run.stderr
    assert re.search(r"-> eva gets offer \d+ \(bikes\)", run.stderr)
    assert scratch.processes() == []
    assert scratch.files() == []


def test_interrupted_on_a_terminal_it_gives_the_screen_back_and_leaves_nothing(scratch: Scratch) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        DEMO, env={**scratch.environment, "TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    while b"gets" not in shown and b"Eva subscribes" not in shown:
        shown += os.read(ours, 65536)
    process.send_signal(signal.SIGINT)
    while part := read(ours):
        shown += part
    assert process.wait(SECONDS) == 130
    os.close(ours)
    assert shown.count(b"\x1b[?1049h") == shown.count(b"\x1b[?1049l") == 1
    assert shown.rstrip().endswith(b"Interrupted; the servers are stopped and all data is removed.")
    assert b"Traceback" not in shown
    assert scratch.processes() == []
    assert scratch.files() == []


def test_killed_it_leaves_nothing(scratch: Scratch) -> None:
    process = subprocess.Popen(DEMO, env=scratch.environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert any("gets offer" in line for line in process.stderr)
    assert len(scratch.processes()) >= 5
    process.kill()
    process.communicate()
    assert soon(lambda: scratch.processes() == [])
    assert soon(lambda: scratch.files() == [])


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""
