"""The course of the demo, from the servers' start to the verdict."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass

from tamis.admin.demo.audience import Audience
from tamis.admin.demo.judge import judged
from tamis.admin.demo.shop import AT_FIRST, GIVEN_UP, LATER, PEOPLE, Offer, offers, told
from tamis.admin.demo.stage import Stage, Work
from tamis.admin.demo.summary import Burst, Crash, Summary
from tamis.admin.errors import StackError
from tamis.admin.local import LocalStack, StackOptions, TamisBroker
from tamis.broker.configuration import Settings
from tamis.broker.delivery import Deliveries
from tamis.broker.kafka import admin_client
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.subscribing import SubscriptionWriter
from tamis.broker.subscription_list import subscriptions

_OFFERS_PER_SECOND = 4.0
_LOOK_SECONDS = 0.2
_BURST_SECONDS_MAX = 10.0
"""For sending it: on a slow machine it is shorter."""
_PATIENCE_SECONDS = 25.0
_SESSION_SECONDS = 3
"""How long a consumer may be silent before Kafka gives its partitions to another one; Kafka's default is 45."""

# When what happens, as shares of the time that offers take.
_SUBSCRIBE, _UNSUBSCRIBE, _KILL, _START = 0.18, 0.36, 0.5, 0.64


@dataclass(frozen=True)
class Plan:
    """How long, and how much."""

    seconds: float
    """Of offers at a human pace."""
    events: int
    """Of the burst."""


def play(plan: Plan, stage: AbstractContextManager[Stage], report: Callable[[str], None]) -> Summary:
    """All of it; the stage opens when the servers run. Nothing is left of it, however it ends."""
    options = StackOptions(properties={"group.consumer.session.timeout.ms": str(_SESSION_SECONDS * 1000)})
    with LocalStack(options, report) as stack, ExitStack() as ends:
        settings = stack.settings
        report("Making the topics, and starting a broker ...")
        broker = ends.enter_context(closing(TamisBroker(stack, settings)))
        broker.start()
        ensure_notification_topics(admin_client(settings.kafka), settings, PEOPLE)
        broker.wait_until_ready()
        shown = ends.enter_context(stage)
        audience = ends.enter_context(Audience(settings, PEOPLE, shown))
        writer = ends.enter_context(SubscriptionWriter(settings, broker.layout, _refuse))
        publisher = ends.enter_context(Deliveries(settings.kafka, settings.names.events, _refuse))
        performance = _Performance(settings, broker, shown, audience, writer, publisher)
        crash, shown_offers = performance.show_offers(plan.seconds)
        burst = performance.measure(plan.events)
        shown.say(
            "Now the check: what should each person have got? Every event is evaluated again, alone, and compared "
            "with what was read."
        )
        verdict = judged(settings, audience.seen)
    return Summary(shown_offers, _OFFERS_PER_SECOND, crash, burst, verdict)


def _refuse(_line: int, reason: str) -> None:
    raise StackError(f"Kafka did not take a record of the demo: {reason}.")


@dataclass
class _Performance:
    settings: Settings
    broker: TamisBroker
    stage: Stage
    audience: Audience
    writer: SubscriptionWriter
    publisher: Deliveries

    def __post_init__(self) -> None:
        self._offers: Iterator[Offer] = offers()
        self._sent = 0
        self._killed_at = self._started_at = 0.0
        self._waiting_then = 0
        self._caught_up_at = 0.0

    def show_offers(self, seconds: float) -> tuple[Crash, int]:
        """At a human pace; meanwhile somebody comes, somebody goes, and the broker dies."""
        self.stage.say(
            "A shop makes offers. Each of five people has a Kafka topic of their own, and expressions say what "
            "belongs in it. The broker reads every offer, and writes it where it belongs."
        )
        self.stage.work(Work.MATCHING)
        for subscription in AT_FIRST:
            self.writer.put_one(subscription)
            self.stage.subscribed(subscription)
        self.writer.wait()
        scenes = [
            (_SUBSCRIBE * seconds, self._subscribe),
            (_UNSUBSCRIBE * seconds, self._unsubscribe),
            (_KILL * seconds, self._kill),
            (_START * seconds, self._start),
        ]
        began = looked = time.monotonic()
        # Offers go on until all that waited is matched, so that the end of the crash is seen too.
        while (at := time.monotonic() - began) < seconds or not self._caught_up_at:
            if at > seconds + _PATIENCE_SECONDS:
                raise StackError("The broker was started again, and has not matched what waited. That is a bug.")
            if scenes and at >= scenes[0][0]:
                scenes.pop(0)[1]()
            elif at >= self._sent / _OFFERS_PER_SECOND:
                self._offer()
            if time.monotonic() - looked > _LOOK_SECONDS:
                looked = time.monotonic()
                self._look()
            time.sleep(0.02)
        self._wait_until_read(time.monotonic() + _PATIENCE_SECONDS)
        away = self._started_at - self._killed_at
        return Crash(away, self._caught_up_at - self._started_at, self._waiting_then), self._sent

    def measure(self, count: int) -> Burst:
        """As many events as there are to be, as fast as they go."""
        self.stage.say(f"Now fast: {count:,} offers at once, for the same people. They are too many to be shown.")
        self.audience.is_telling = False
        burst = [next(self._offers) for _ in range(count)]
        records = [(offer.encode(), offer.key) for offer in burst]
        seen, sent = len(self.audience.seen), self._sent
        began = looked = time.monotonic()
        for number, (value, key) in enumerate(records):
            self.publisher.send(number, value, key)
            self._sent += 1
            if number % 500 == 0 and time.monotonic() - looked > _LOOK_SECONDS:
                looked = time.monotonic()
                self._look()
                if looked - began > _BURST_SECONDS_MAX:
                    break
        self.publisher.wait()
        self._wait_until_read(time.monotonic() + _PATIENCE_SECONDS)
        ended = max(self.audience.last_at, time.monotonic() if len(self.audience.seen) == seen else began)
        return Burst(self._sent - sent, len(self.audience.seen) - seen, ended - began)

    def _offer(self) -> None:
        offer = next(self._offers)
        self._sent += 1
        self.stage.offered(offer.number, told(offer.attributes))
        self.publisher.send(offer.number, offer.encode(), offer.key)

    def _subscribe(self) -> None:
        self.stage.say(
            f"{LATER.subscriber.title()} subscribes while offers come. As soon as Kafka has acknowledged that, it "
            "counts: from the very next offer on."
        )
        self.writer.put_one(LATER)
        self.writer.wait()
        self.stage.subscribed(LATER)

    def _unsubscribe(self) -> None:
        self.stage.say(
            f"{GIVEN_UP.subscriber.title()} takes back the subscription {GIVEN_UP.name}; the other one stays."
        )
        for found in subscriptions(self.settings, self.broker.layout, GIVEN_UP.subscriber):
            if found.key == GIVEN_UP.key:
                self.writer.remove(found)
        self.writer.wait()
        self.stage.unsubscribed(GIVEN_UP)

    def _kill(self) -> None:
        self.broker.kill()
        self._killed_at = time.monotonic()
        self.stage.work(Work.DEAD)
        self.stage.say(
            "The broker is killed with kill -9, and nobody matches. The offers go on: Kafka keeps them, so they wait "
            "and are not lost."
        )

    def _start(self) -> None:
        self._waiting_then = self.broker.events_waiting()
        self.broker.start()
        self._started_at = time.monotonic()
        self.stage.work(Work.COMING_BACK)
        self.stage.say(
            f"The broker is started again, with nothing but what is in Kafka: the subscriptions, and which offer was "
            f"the last one that is done. {self._waiting_then} wait."
        )

    def _look(self) -> None:
        """Tell how far things are, and whether the broker has caught up."""
        waiting = self.broker.events_waiting()
        self.stage.count(self._sent, len(self.audience.seen), waiting)
        if self._killed_at and not self._started_at:
            return
        self.broker.require_running()
        if not self._killed_at:
            return
        if not self._caught_up_at and waiting <= 1:  # one may have been sent just now
            self._caught_up_at = time.monotonic()
            self.stage.work(Work.MATCHING)
            self.stage.say(
                "It has caught up: all that waited is matched. Was anything lost, or delivered twice? The check at the "
                "end will tell."
            )

    def _wait_until_read(self, deadline: float) -> None:
        """Until every event is matched, and every notification read. What is late then, the judge calls lost."""
        self.publisher.wait()
        while time.monotonic() < deadline:
            self._look()
            if self.broker.events_waiting() == 0 and self.audience.has_read_all():
                break
            time.sleep(_LOOK_SECONDS / 2)
        self.stage.count(self._sent, len(self.audience.seen), self.broker.events_waiting())
