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


@pytest.mark.parametrize("looks", [[False, True, False], [False, False, False]])
def test_what_redis_has_lost_is_made_again_at_once_though_nothing_changes(
    monkeypatch: pytest.MonkeyPatch, looks: list[bool]
) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(snapshots, "time", SimpleNamespace(monotonic=lambda: clock.now))
    found = iter([(None, is_wanting) for is_wanting in looks])
    monkeypatch.setattr(snapshots, "newest_kept", lambda *_: next(found))
    made = SimpleNamespace(created=1.0, name="made", subscriptions=1, size=1)
    saved: list[float] = []

    def save(*_: object) -> SimpleNamespace:
        saved.append(clock.now)
        return made

    monkeypatch.setattr(snapshots, "save", save)
    meters = Meters()
    keeper = Snapshots(Settings(snapshots=SnapshotSettings(every_seconds=300)), 0, meters)
    keeper.started(None)
    log: Any = SimpleNamespace(applied=0, state=FrozenOne(), view=None, invalid=[])
    for second in range(1, 600):
        clock.now = float(second)
        keeper.look(log, LAYOUT, is_keeper=True)
        assert soon(lambda: not keeper.is_at_work, SECONDS)
    assert saved == [302.0] * sum(looks)
    keeper.look(log, LAYOUT, is_keeper=False)
    assert meters.snapshot_at is None


class FrozenOne:
    """A state of one subscription."""

    def __len__(self) -> int:
        return 1

    def freeze(self) -> None:
        pass


def test_one_that_fails_is_tried_less_and_less_often_however_much_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time a whole file is written."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(snapshots, "time", SimpleNamespace(monotonic=lambda: clock.now))
    tried: list[float] = []

    def save(*_: object) -> None:
        tried.append(clock.now)
        raise RedisError("full")

    monkeypatch.setattr(snapshots, "save", save)
    monkeypatch.setattr(snapshots, "newest_kept", lambda *_: (None, False))
    meters = Meters()
    keeper = Snapshots(Settings(snapshots=SnapshotSettings(every_seconds=300, after_changes=10)), 0, meters)
    state = SimpleNamespace(freeze=lambda: None)
    log: Any = SimpleNamespace(applied=1_000_000, state=state, view=None, invalid=[])
    keeper.started(None)
    for second in range(1, 1400):
        clock.now = float(second)
        log.applied += 100
        keeper.look(log, LAYOUT, is_keeper=True)
        assert soon(lambda: meters.snapshot_failures == len(tried) and not keeper.is_at_work, SECONDS)
    waits = [later - earlier for earlier, later in pairwise(tried)]
    assert waits[:5] == [31, 61, 121, 241, 301]
    assert set(waits[5:]) == {301}
