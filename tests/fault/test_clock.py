"""A wall clock that is set while a broker works: nothing is lost, doubled, refused, or waits for it to come back."""

import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_cluster import Cluster, Reader
from preloading import compiled
from tamis.admin.local import LocalStack
from tamis.broker.configuration import SnapshotSettings
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription

SECONDS = 60.0
HOUR = 3600
EVENTS = 20

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only there libraries can stand before glibc's"),
    pytest.mark.skipif(shutil.which("c++") is None, reason="the library that sets the clock has to be compiled"),
]


class Clock:
    """Of the processes that are started while it is there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.write_bytes(bytes(8))

    def set(self, ahead: float) -> None:
        """By so many seconds, from the machine's."""
        with self._file.open("r+b") as opened:
            opened.write(struct.pack("=q", int(ahead * 1e9)))


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    library, file = compiled("jumping_clock", tmp_path), tmp_path / "clock"
    clock = Clock(file)
    clock.set(-2 * HOUR)
    preloaded = {"LD_PRELOAD": str(library), "TAMIS_TEST_CLOCK": str(file)}
    asking = [sys.executable, "-c", "import time; print(time.time())"]
    told = subprocess.run(asking, env=os.environ | preloaded, capture_output=True, text=True, check=True).stdout
    assert -2 * HOUR - 60 < float(told) - time.time() < -2 * HOUR + 60
    clock.set(0)
    for name, value in preloaded.items():
        monkeypatch.setenv(name, value)
    return clock


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack() as stack:
        yield stack


@pytest.mark.timeout(300)
def test_a_clock_that_is_set_forth_and_back_changes_nothing(stack: LocalStack, tmp_path: Path, clock: Clock) -> None:
    settings = stack.settings.model_copy(update={"snapshots": SnapshotSettings(every_seconds=1)})
    with Cluster(settings, "clock", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        cluster.subscribe(Subscription("ann", "all", "exists a"))
        sent = 0
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            for ahead in (0, 2 * HOUR, -40 * 24 * HOUR, 600, -5, 400 * 24 * HOUR, 0):
                if sent % (2 * EVENTS) == 0:
                    cluster.start(f"slot-{sent}")
                clock.set(ahead)
                cluster.subscribe(Subscription("ann", f"since-{sent}", f"a >= {sent}"))
                for _ in range(EVENTS):
                    cluster.send_event(str(sent), a=sent)
                    sent += 1
                    time.sleep(0.05)
                assert reader.has(sent, SECONDS), f"{len(reader.delivered)} of {sent}, {ahead} s ahead"
            assert cluster.is_done(SECONDS)
            reader.wait_until_done()
        got = [Notification.decode(each.value) for each in reader.delivered]
        assert [int(each.id) for each in got] == list(range(sent))
        for each in got:
            since = {f"since-{number}" for number in range(0, int(each.id) + 1, EVENTS)}
            assert {match.name for match in each.matches} == {"all"} | since
        assert all(process.poll() is None for process in cluster.processes.values())
