"""What a notification becomes that its topic cannot take."""

import json

import pytest

from tamis.broker import undeliverable
from tamis.broker.outlets import Outlet
from tamis.broker.undeliverable import undelivered
from tamis.codecs.notification import Match, Notification
from tamis.codecs.undelivered import Obstacle, Undelivered

OUTLET = Outlet("ann", "tamis.notifications.ann", 1)
EVENT = b'{"a": [1, "}"], "b": {"event": null}}'
MATCHES = [Match(f"name-{number}", {"team": "a"}) for number in range(50)]


def notification(event: bytes | None = EVENT) -> Notification:
    return Notification("e-1", 7, "tamis.events", 2, 99, MATCHES, event)


def as_json(event: bytes) -> bytes:
    """As the encoder writes it: the event comes last, as it is."""
    fields = {"id": "e-1", "time": 7, "topic": "tamis.events", "partition": 2, "offset": 99}
    matches = [{"name": match.name, "tags": dict(match.tags)} for match in MATCHES]
    head = json.dumps(fields | {"matches": matches}).encode()
    return head[:-1] + b', "event": ' + event + b"}"


def made(value: bytes) -> Undelivered:
    return Undelivered.decode(undelivered(OUTLET, Obstacle.MISSING, "why", value, EVENT).encode())


def test_what_is_small_enough_is_kept_as_it_was_to_be_sent() -> None:
    value = notification().encode()
    assert made(value) == Undelivered("ann", OUTLET.topic, "topic_missing", value, "why")


@pytest.mark.parametrize("is_json", [False, True])
def test_what_is_too_large_goes_without_its_event(monkeypatch: pytest.MonkeyPatch, is_json: bool) -> None:  # noqa: FBT001
    value = as_json(EVENT) if is_json else notification().encode()
    monkeypatch.setattr(undeliverable, "WHOLE_BYTES_MAX", len(value) - 1)
    record = made(value)
    assert not record.whole
    if is_json:
        assert json.loads(record.notification) == json.loads(value) | {"event": None}
        assert record.notification.endswith(b'"event": null}')
    else:
        assert Notification.decode(record.notification) == notification(None)


@pytest.mark.parametrize("is_json", [False, True])
def test_what_is_too_large_even_so_goes_without_its_matches(monkeypatch: pytest.MonkeyPatch, is_json: bool) -> None:  # noqa: FBT001
    value = as_json(EVENT) if is_json else notification().encode()
    monkeypatch.setattr(undeliverable, "WHOLE_BYTES_MAX", 100)
    record = made(value)
    assert not record.whole
    if is_json:
        assert json.loads(record.notification) == json.loads(value) | {"event": None, "matches": []}
    else:
        read = Notification.decode(record.notification)
        assert (read.id, read.offset, read.matches, read.event) == ("e-1", 99, (), None)
