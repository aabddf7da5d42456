"""Broker processes under load while they are killed and frozen: nothing is lost, doubled, disordered or wrong.

A reader of committed data runs all the time, and an oracle tells what it should have seen. That these tests can fail is
shown by brokers that lack a part.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from broker_cluster import Cluster, Reader
from broker_process import Faults
from oracle import Findings, examine
from processes import soon
from tamis.admin.local import LocalStack
from tamis.broker.configuration import BrokerSettings
from tamis.broker.partitions import partition_of
from tamis.codecs.event import Event
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription

SUBSCRIBERS = 8
EVENTS_A_SECOND = 400
SECONDS = float(os.environ.get("TAMIS_FAULT_SECONDS", "25"))
"""Of being killed and frozen; more of it finds more."""
PAIRS = int(12 * SECONDS) + 300


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack() as stack:
        yield stack


@dataclass
class Load:
    """Events at a pace; and subscriptions that come, and others that end, each followed at once by an event for it."""

    cluster: Cluster
    subscribed: list[int] = field(default_factory=list)
    """The numbers of events that came after a subscription to them was acknowledged."""
    unsubscribed: list[int] = field(default_factory=list)
    """Of those that came after the end of a subscription to them was."""
    sent: int = 0

    def __enter__(self) -> Self:
        self.cluster.subscribe(*(pair("old", number) for number in range(PAIRS)))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        chance = random.Random(7)
        began = time.monotonic()
        for number in range(PAIRS):
            for _ in range(EVENTS_A_SECOND // 10):
                self._send({"price": chance.randrange(1000), "region": chance.choice(("eu", "uk", "us"))})
            self.cluster.subscribe(pair("new", number))
            self.subscribed.append(self._send({"new": number}))
            old = pair("old", number)
            self.cluster.unsubscribe(old.subscriber, old.name)
            self.unsubscribed.append(self._send({"old": number}))
            behind = began + self.sent / EVENTS_A_SECOND - time.monotonic()
            if self._stopping.wait(max(behind, 0.0)):
                break
        self.cluster.flush()

    def _send(self, attributes: dict[str, int | str]) -> int:
        number = self.sent
        event = Event(str(number), int(time.time() * 1_000_000), attributes)
        self.cluster.send(self.cluster.names.events, event.encode(), str(number).encode(), number % 4)
        self.sent += 1
        return number


def pair(kind: str, number: int) -> Subscription:
    return Subscription(f"subscriber-{number % SUBSCRIBERS}", f"{kind}-{number}", f"{kind} = {number}")


@dataclass
class Outcome:
    findings: Findings
    missed: int
    """Events that were sent after a subscription to them was acknowledged, and were not delivered."""
    stale: int
    """Events that were sent after an unsubscription was acknowledged, and were delivered."""
    pairs: int
    is_done: bool
    """Whether every event was processed."""


def run(cluster: Cluster, seconds: float, faults: Faults, broken: str = "") -> Outcome:
    subscribers = [f"subscriber-{number}" for number in range(SUBSCRIBERS)]
    cluster.make_notification_topics(subscribers)
    cluster.subscribe(
        *(
            Subscription(
                subscriber, f"band-{band}", f'price between {band * 97} and {band * 97 + 60} and region != "us"'
            )
            for band in range(10)
            for subscriber in subscribers[:: 1 + band % 3]
        )
    )
    for slot in ("one", "two"):
        cluster.start(slot, faults=faults, broken=broken)
    with Reader(cluster.settings, [cluster.names.notifications(name) for name in subscribers]) as reader:
        with Load(cluster) as load:
            disturb(cluster, seconds, faults, broken)
        is_done = cluster.is_done(8.0 if broken else 60.0)
        reader.wait_until_done()
    findings = examine(cluster, reader.seen)
    delivered = {Notification.decode(each.value).id for each in reader.seen}
    missed = sum(str(number) not in delivered for number in load.subscribed)
    stale = sum(str(number) in delivered for number in load.unsubscribed)
    return Outcome(findings, missed, stale, len(load.subscribed), is_done)


def disturb(cluster: Cluster, seconds: float, faults: Faults, broken: str) -> None:
    """Kill and freeze; and start again what has ended."""
    chance = random.Random(11)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(chance.uniform(0.5, 2.5))
        for slot, process in list(cluster.processes.items()):
            if process.poll() is not None:
                cluster.start(slot, faults=faults, broken=broken)
        if broken:
            continue
        slot = chance.choice(sorted(cluster.processes))
        process = cluster.processes[slot]
        if chance.random() < 0.5:
            process.kill()
            process.wait()
            if chance.random() < 0.5:
                time.sleep(chance.uniform(0.0, 7.0))
            cluster.start(slot, faults=faults, broken=broken)
        else:
            process.send_signal(signal.SIGSTOP)
            time.sleep(chance.choice((0.3, 2.0, 8.0)))
            process.send_signal(signal.SIGCONT)
    # From now on none dies by itself, since nobody would start it again.
    for slot, process in list(cluster.processes.items()):
        if faults.kill_share or process.poll() is not None:
            process.kill()
            process.wait()
            cluster.start(slot, faults=Faults(), broken=broken)


@pytest.mark.timeout(SECONDS + 150)
def test_two_processes_that_are_killed_and_frozen_deliver_everything_once(stack: LocalStack, tmp_path: Path) -> None:
    faults = Faults(abort_every=20, kill_share=0.03)
    # Bounds that are met, so that messages are held back when partitions go and transactions fail.
    bounded = BrokerSettings(batch_notifications=100, batch_bytes=3000)
    with Cluster(stack.settings.model_copy(update={"broker": bounded}), "killed", tmp_path) as cluster:
        outcome = run(cluster, SECONDS, faults)
        told = {
            words: cluster.told(words) for words in ("aborted on purpose", "killed inside a transaction", "revoked")
        }
    print(outcome.pairs, outcome.findings.expected, outcome.findings.delivered, outcome.findings.views, told)
    assert outcome.is_done
    assert outcome.findings.is_clean, outcome.findings
    assert (outcome.missed, outcome.stale) == (0, 0)
    assert outcome.pairs > 50
    assert told["aborted on purpose"] > 0
    assert told["killed inside a transaction"] > 0
    assert told["revoked"] > 0


@pytest.mark.parametrize("broken", ["rewind", "barrier", "transactions", ""])
def test_a_broker_that_lacks_a_part_is_found_out(stack: LocalStack, tmp_path: Path, broken: str) -> None:
    faults = Faults(abort_every=10)
    with Cluster(stack.settings, f"without-{broken}", tmp_path) as cluster:
        outcome = run(cluster, 5.0, faults, broken)
    assert outcome.findings.delivered > 100
    found = {
        "rewind": bool(outcome.findings.lost),
        "barrier": bool(outcome.missed or outcome.stale),
        "transactions": bool(outcome.findings.doubled),
        "": not outcome.findings.is_clean or not outcome.is_done,
    }
    assert found[broken] is bool(broken)


def test_a_subscription_log_that_is_cut_back_is_noticed_though_it_has_grown_again(
    stack: LocalStack, tmp_path: Path
) -> None:
    with Cluster(stack.settings, "cut", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        home = partition_of("ann", cluster.layout.partitions)
        for number in range(10):  # one batch each, for the log to be cut between them
            cluster.subscribe(Subscription("ann", f"before-{number}", f"a = {number}"))
        cluster.start("one")
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            cluster.send_event("first", a=7)
            assert soon(lambda: len(reader.seen) == 1)
            cluster.processes["one"].send_signal(signal.SIGSTOP)
            stack.cut_back(cluster.names.subscriptions, home, 5)
            cluster.renew_producer()
            cluster.subscribe(*(Subscription("ann", f"after-{number}", f"a = {number}") for number in range(20, 30)))
            cluster.processes["one"].send_signal(signal.SIGCONT)
            for name, value in (("lost", 7), ("kept", 3), ("new", 25)):
                cluster.send_event(name, a=value)
            assert soon(lambda: len(reader.seen) >= 3, 60.0)
            assert cluster.is_done()
            reader.wait_until_done()
        assert [Notification.decode(each.value).id for each in reader.seen] == ["first", "kept", "new"]
        assert cluster.told("went backwards, reading it again") > 0

        stack.cut_back(cluster.names.subscriptions, home, 5)
        assert soon(lambda: cluster.processes["one"].poll() is not None, 60.0)
        assert cluster.told("tamis topics set-start") > 0
