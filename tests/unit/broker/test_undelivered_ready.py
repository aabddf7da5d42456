"""What is sent for a notification that waits."""

from dataclasses import replace
from typing import cast

import pytest

from tamis.broker import undelivered_ready
from tamis.broker.configuration import KafkaSettings, Settings
from tamis.broker.undelivered import ReceivedUndelivered
from tamis.broker.undelivered_ready import Preparation, Ready
from tamis.broker.undelivered_targets import Target, Targets
from tamis.codecs.headers import KEY, WaitingPlace
from tamis.codecs.notification import Match, Notification
from tamis.codecs.undelivered import Obstacle, Undelivered

NOTIFICATION = Notification("e-1", 7, "tamis.events", 2, 99, [Match("one", {})], b"{}")


class Known:
    def of(self, _subscriber: str) -> Target:
        return Target("t", 1, None)


class Events:
    """They are all there."""

    def __init__(self, _settings: Settings) -> None:
        pass

    def restored(self, *_: object) -> bytes:
        return NOTIFICATION.encode()

    def key(self, _notification: Notification) -> bytes:
        return b"the event's"


@pytest.mark.parametrize(
    ("headers", "whole", "key"),
    [
        ({}, True, None),
        ({KEY: b"kept"}, True, b"kept"),
        ({KEY: b"kept"}, False, b"kept"),
        ({}, False, b"the event's"),
    ],
)
def test_it_has_the_key_that_it_was_to_have(
    monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, bytes],
    whole: bool,  # noqa: FBT001
    key: bytes | None,
) -> None:
    monkeypatch.setattr(undelivered_ready, "LeftOutEvents", Events)
    preparation = Preparation(Settings(kafka=KafkaSettings()), cast("Targets", Known()))
    value = (NOTIFICATION if whole else replace(NOTIFICATION, event=None)).encode()
    it = Undelivered("ann", "t", Obstacle.MISSING, value, whole=whole)
    ready = preparation.prepared(ReceivedUndelivered(WaitingPlace(0, 0), 0, headers, "ann", it, None))
    assert isinstance(ready, Ready)
    assert (ready.key, ready.value) == (key, NOTIFICATION.encode())
