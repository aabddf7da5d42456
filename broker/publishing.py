"""Sending events, each acknowledged or told."""

import time
from collections.abc import Iterable, Iterator

from tamis.broker.configuration import Settings
from tamis.broker.delivery import Deliveries
from tamis.broker.errors import InvalidError, MissingError
from tamis.broker.event_lines import Outgoing, outgoing
from tamis.broker.json_lines import LineError, WrongLine
from tamis.broker.layouts import read_layout
from tamis.broker.line_report import Account, LineReport, Listener

_TOLD_SECONDS = 0.1

Lines = Iterable[tuple[int, Outgoing | WrongLine]]


def default_topic(settings: Settings, seconds: float = 10.0) -> str:
    """The only event topic that the layout has, else the one of whoever names none."""
    names = settings.names
    try:
        layout = read_layout(settings, seconds)
    except (MissingError, InvalidError):  # who only sends events may not see it
        layout = None
    topics = [] if layout is None else sorted(set(layout.topics) - set(names.own))
    return topics[0] if len(topics) == 1 else names.events


def outgoing_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Outgoing | WrongLine]]:
    """Of each line its event, or why it has none."""
    for line, text in lines:
        try:
            yield line, outgoing(text)
        except LineError as error:
            yield line, WrongLine(line, str(error))


def publish(settings: Settings, topic: str, events: Lines, listener: Listener, seconds: float = 30.0) -> LineReport:
    """Send them, and wait until Kafka has them. MissingError if there is no such topic."""
    account = Account(listener)
    with Deliveries(settings.kafka, topic, account.refused, seconds) as deliveries:
        told = time.monotonic()
        for line, event in events:
            account.report.lines += 1
            if isinstance(event, WrongLine):
                account.wrong(event)
            else:
                deliveries.send(line, event.value, event.key)
            if time.monotonic() - told > _TOLD_SECONDS:
                told = time.monotonic()
                account.acknowledged(deliveries.acknowledged())
        deliveries.wait(account.acknowledged)
        account.acknowledged(deliveries.acknowledged())
    return account.report


def paced(events: Lines, rate: float) -> Lines:
    """So many a second: each no sooner than its turn; a late one delays none that follow."""
    began = time.monotonic()
    for place, event in enumerate(events):
        time.sleep(max(0.0, began + place / rate - time.monotonic()))
        yield event
