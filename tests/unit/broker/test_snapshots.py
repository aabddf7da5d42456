"""When a snapshot is tried again."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from processes import soon
from tamis.broker import snapshots
from tamis.broker.configuration import Settings, SnapshotSettings
from tamis.broker.metrics import Meters
from tamis.broker.redis import RedisError
from tamis.broker.snapshots import Snapshots
from tamis.codecs.layout import Layout
from tamis.indexes.limits import Limits

NAMES = Settings().names
LAYOUT = Layout(1, 1, 1, {NAMES.subscriptions: "S", NAMES.events: "E"}, Limits())
SECONDS = 10.0


def test_one_that_fails_is_tried_less_and_less_often_however_much_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time a whole file is written."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(snapshots, "time", SimpleNamespace(monotonic=lambda: clock.now))
    tried: list[float] = []

    def save(*_: object) -> None:
        tried.append(clock.now)
        raise RedisError("full")

    monkeypatch.setattr(snapshots, "save", save)
    meters = Meters()
    keeper = Snapshots(Settings(snapshots=SnapshotSettings(every_seconds=300, after_changes=10)), 0, meters)
    state = SimpleNamespace(freeze=lambda: None)
    log: Any = SimpleNamespace(applied=1_000_000, state=state, view=None, invalid=[])
    keeper.started(None)
    for second in range(1, 1400):
        clock.now = float(second)
        log.applied += 100
        keeper.look(log, LAYOUT, is_writer=True)
        assert soon(lambda: meters.snapshot_failures == len(tried) and not keeper.is_at_work, SECONDS)
    waits = [later - earlier for earlier, later in pairwise(tried)]
    assert waits[:5] == [31, 61, 121, 241, 301]
    assert set(waits[5:]) == {301}
