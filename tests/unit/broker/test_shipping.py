"""What is told in one transaction with a part of an event."""

from collections import deque
from types import SimpleNamespace
from typing import Any

from tamis.broker.configuration import Settings
from tamis.broker.judgement import InvalidRecord
from tamis.broker.matching_step import Bounds, matched
from tamis.broker.message_batch import MessageBatch
from tamis.broker.shipping import Identity, Shipment, Shipper
from tamis.broker.subscription_log import InvalidSubscription
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.event import Event
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.layout import Layout
from tamis.codecs.reasons import Reason
from tamis.codecs.view import Position, View
from tamis.indexes.limits import Limits

NAMES = Settings().names
LAYOUT = Layout(1, 1, 1, {NAMES.subscriptions: "S", NAMES.events: "E"}, Limits())


class Sent:
    """What would be produced: topics and values."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bytes | None]] = []

    def send(self, topic: str, value: bytes | None, *_: object) -> None:
        self.records.append((topic, value))


class Message:
    """The first event of the first partition, as the client hands it out."""

    def topic(self) -> str:
        return NAMES.events

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 0

    def leader_epoch(self) -> None:
        """As of a Kafka that does not tell."""

    def timestamp(self) -> tuple[int, int]:
        return 1, 0

    def value(self) -> bytes:
        return Event("e", 0, {"a": 1}).encode()

    def key(self) -> None:
        return None


def test_invalid_subscriptions_are_told_with_the_first_part_that_commits_a_view_behind_them() -> None:
    """Whoever goes on with the next part takes them for told."""
    waiting = deque([InvalidSubscription(0, 3, b"ann/x", b"rubbish", InvalidRecord(0, Reason.BAD_SYNTAX, "why"))])
    state = SubscriptionState(LAYOUT, "scan")
    log: Any = SimpleNamespace(state=state, invalid=waiting, topic=NAMES.subscriptions)
    source: Any = SimpleNamespace(
        owned={(NAMES.events, 0)}, view_before=lambda _place: None, sent_before=lambda _place, _offset: ""
    )
    messages: Any = [Message()]
    step = matched(state, EventDecoder(), MessageBatch.of(messages, {}), Bounds(1, 1, 1))
    view = View(1, [Position(0, 4)])
    shipper, outbox = Shipper(Settings(), Identity(LAYOUT, 0, "one"), log, source), Sent()
    shipper.ship(Shipment(messages, step, view, {}, upto="bob"), outbox)  # type: ignore[arg-type]
    assert (NAMES.rejected, b"rubbish") in outbox.records
    shipper.shipped()
    assert not waiting
