"""Writing subscriptions: one, or millions of them.

A subscriber's notification topic is there before its first subscription is: from the moment that Kafka acknowledges a
subscription, matching events are owed to that topic.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Self

from tamis.broker.configuration import Settings
from tamis.broker.delivery import Deliveries, Failed
from tamis.broker.errors import InvalidError
from tamis.broker.json_lines import WrongLine
from tamis.broker.kafka import admin_client
from tamis.broker.line_report import Account, LineReport, Listener
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.partitions import partition_of
from tamis.broker.quotas import Quota
from tamis.broker.subscription_lines import Numbered, parsed_lines
from tamis.broker.subscription_list import Listed
from tamis.codecs.errors import RecordError
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription, default_name
from tamis.indexes import ExpressionError, parse


def new_subscription(layout: Layout, subscriber: str, expression: str, name: str | None = None) -> Subscription:
    """InvalidError if the expression is none within the layout's limits, or a name is none."""
    try:
        canonical = parse(expression, layout.limits).text
        return Subscription(subscriber, name or default_name(canonical), expression)
    except ExpressionError as error:
        raise InvalidError(f"The expression cannot be taken: {error}") from error
    except RecordError as error:
        raise InvalidError(f"The subscription cannot be taken: {error}.") from error


class SubscriptionWriter:
    """Sends records to the subscription topic, each to the partition of its subscriber, and waits for Kafka's word."""

    def __init__(self, settings: Settings, layout: Layout, failed: Failed, seconds: float = 30.0) -> None:
        self.topics: list[str] = []
        """The notification topics that were made."""
        self._settings = settings
        self._partitions = layout.partitions
        self._admin = admin_client(settings.kafka)
        self._known: set[str] = set()
        self._deliveries = Deliveries(settings.kafka, settings.names.subscriptions, failed, seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deliveries.__exit__(kind, error, trace)

    def acknowledged(self) -> int:
        """How many records, by all that Kafka has answered until now."""
        return self._deliveries.acknowledged()

    def put_one(self, subscription: Subscription) -> None:
        self.put([Numbered(0, subscription, subscription.encode())])

    def put(self, some: Iterable[Numbered]) -> None:
        """Makes the notification topics that are missing, then sends."""
        numbered = list(some)
        new = {one.subscription.subscriber for one in numbered} - self._known
        if new:
            self.topics += ensure_notification_topics(self._admin, self._settings, sorted(new))
            self._known |= new
        for one in numbered:
            subscription = one.subscription
            partition = partition_of(subscription.subscriber, self._partitions)
            self._deliveries.send(one.line, one.value, subscription.key, partition)

    def remove(self, found: Listed) -> None:
        """An empty record in the place of what was found there, valid or not."""
        self._deliveries.send(0, None, found.key, found.partition)

    def pause(self, found: Listed, reason: str | None) -> None:
        """With no reason: put it in force again."""
        if found.subscription is None:
            raise InvalidError(f"{found.subscriber}/{found.name} is no subscription: {found.reason}.")
        subscription = replace(found.subscription, paused=reason)
        self._deliveries.send(0, subscription.encode(), subscription.key, found.partition)

    def wait(self, progress: Callable[[int], None] | None = None) -> None:
        """Until all is acknowledged."""
        self._deliveries.wait(progress)


def subscribe_lines(
    settings: Settings, layout: Layout, lines: Iterable[tuple[int, bytes]], listener: Listener, seconds: float = 30.0
) -> LineReport:
    """Subscribe all that is right, and tell each line that is wrong; subscribing again changes nothing.

    When this raises, what was acknowledged before stays subscribed.
    """
    account = Account(listener)
    with SubscriptionWriter(settings, layout, account.refused, seconds) as writer:
        for good in _good(settings, lines, layout, account):
            writer.put(good)
            account.acknowledged(writer.acknowledged())
        writer.wait(account.acknowledged)
        account.acknowledged(writer.acknowledged())
    return account.report


def check_lines(
    settings: Settings, layout: Layout, lines: Iterable[tuple[int, bytes]], listener: Listener
) -> LineReport:
    """What `subscribe_lines` would do, and nothing done."""
    account = Account(listener)
    for good in _good(settings, lines, layout, account):
        account.acknowledged(account.report.acknowledged + len(good))
    return account.report


def _good(
    settings: Settings, lines: Iterable[tuple[int, bytes]], layout: Layout, account: Account
) -> Iterator[list[Numbered]]:
    quota = Quota(settings, layout)
    for good, wrong in parsed_lines(lines, layout.limits):
        account.report.lines += len(good) + len(wrong)
        taken = []
        for one in good:
            reason = quota.refusal(one.subscription)
            if reason is None:
                taken.append(one)
            else:
                wrong.append(WrongLine(one.line, reason))
        for line in sorted(wrong, key=lambda each: each.line):
            account.wrong(line)
        yield taken
