"""What becomes of a notification on its way."""

from typing import cast

import pytest

from tamis.broker.kafka import Message
from tamis.broker.outbox import Headers, Outbox
from tamis.broker.outlets import Outlet, Suspension
from tamis.broker.parcels import Parcel, ParcelPost
from tamis.broker.undeliverable import WHOLE_BYTES_MAX
from tamis.codecs.headers import ID, KEY
from tamis.codecs.notification import Match, Notification
from tamis.codecs.undelivered import Obstacle, Undelivered

EVENT = b"{}"
NOTIFICATION = Notification("e-1", 7, "tamis.events", 2, 99, [Match("one", {})], EVENT)
TAKEN = 2 << 20
"""By `tamis.undelivered`, at least."""


class Sent:
    """An outbox, and a message that has a key."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self.record: Undelivered | None = None
        self.headers: dict[str, str | bytes | None] = {}
        self.size = 0

    def key(self) -> bytes | None:
        return self._key

    def send(self, _topic: str, value: bytes, key: bytes, headers: Headers) -> None:
        self.record, self.headers = Undelivered.decode(value), dict(headers)
        self.size = len(value) + len(key) + sum(len(value or b"") for value in self.headers.values())


@pytest.mark.parametrize(
    ("key", "is_kept"), [(None, True), (b"key", True), (bytes(WHOLE_BYTES_MAX), True), (bytes(TAKEN), False)]
)
def test_what_is_turned_away_has_its_key_unless_that_would_be_too_large(key: bytes | None, is_kept: bool) -> None:  # noqa: FBT001
    sent = Sent(key)
    outlet = Outlet("ann", "t", 1, suspension=Suspension(Obstacle.MISSING, "", 2.0, 0.0))
    message = cast("Message", sent)
    post = ParcelPost(cast("Outbox", sent), "tamis.undelivered")
    post.send(Parcel(outlet, message, NOTIFICATION.encode(), [(ID, b"id")], EVENT))
    assert sent.record is not None
    assert (sent.headers.get(KEY), sent.record.whole) == (key if is_kept else None, is_kept)
    assert (Notification.decode(sent.record.notification).event is None) != is_kept
    assert sent.headers[ID] == b"id"
    assert sent.size < TAKEN
