"""What the others notice when one subscriber's topic is deleted, and another one's is forbidden, under load.

    python -m benchmarks.bad_topics [--subscribers N] [--rate N] [--seconds N]

A secured Kafka of its own, a broker that logs in as a user with the rights it needs, and events for every tenth
subscriber each.
"""

import argparse
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from benchmarks.broker.__main__ import send
from benchmarks.report import Report
from tamis.admin.local import LocalStack, StackOptions
from tamis.admin.local.tamis_broker import TamisBroker
from tamis.broker.configuration import Settings
from tamis.broker.kafka import TopicPartition, admin_client, consumer, producer
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.partitions import partition_of
from tamis.broker.reading import BEGINNING, records
from tamis.codecs.event import Event
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.undelivered import Undelivered

_USER = "User:broker"
_BANDS = 10
_RIGHTS = {
    (ResourceType.TOPIC, "tamis"): ("DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS", "CREATE"),
    (ResourceType.GROUP, "tamis"): ("READ", "DESCRIBE"),
    (ResourceType.TRANSACTIONAL_ID, "tamis"): ("WRITE", "DESCRIBE"),
}


@dataclass
class Reader:
    """Of all notification topics at once: when each notification came."""

    settings: Settings
    topics: list[str]
    arrivals: list[tuple[str, int, float]] = field(default_factory=list)
    """Topic, number of the event, and when."""
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        client = consumer(self.settings.kafka, "reader")
        client.assign([TopicPartition(topic, 0, BEGINNING) for topic in self.topics])
        while not self.stopping.is_set():
            for message in client.consume(1000, 0.02):
                if message.error() is None:
                    number = int(Notification.decode(message.value() or b"").id)
                    self.arrivals.append((message.topic() or "", number, time.monotonic()))
        client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subscribers", type=int, default=500)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each part: before, one deleted, one forbidden")
    options = parser.parse_args()
    report = Report("bad_topics")
    with LocalStack(StackOptions(secured=True, redis=False)) as stack:
        measure(report, stack, options.subscribers, options.rate, options.seconds)
    report.show()
    print(f"\nKept in {report.keep()}")


def measure(report: Report, stack: LocalStack, subscribers: int, rate: int, seconds: float) -> None:
    settings = stack.settings
    admin = admin_client(settings.kafka)
    rights = [acl(*place, right, ResourcePatternType.PREFIXED) for place, some in _RIGHTS.items() for right in some]
    served = settings.model_copy(update={"kafka": stack.add_user("broker")})
    for future in admin.create_acls(rights).values():
        future.result()
    broker = TamisBroker(stack, served)
    names = [f"s{number:03}" for number in range(subscribers)]
    topics = [settings.names.notifications(name) for name in names]
    ensure_notification_topics(admin, settings, names)
    out = producer(settings.kafka, properties={"linger.ms": 0})
    for number, name in enumerate(names):
        subscription = Subscription(name, "mine", f"band = {number % _BANDS}")
        home = partition_of(name, broker.layout.partitions)
        send(out, settings.names.subscriptions, subscription.encode(), subscription.key, home)
    out.flush()
    broker.start()
    broker.wait_until_ready()
    reader = Reader(settings, topics[2:])
    thread = threading.Thread(target=reader.run)
    thread.start()
    sent: list[float] = []
    marks: list[tuple[str, int]] = []

    def play(what: str) -> None:
        marks.append((what, len(sent)))
        began, first = time.monotonic(), len(sent)
        while time.monotonic() < began + seconds:
            time.sleep(max(0.0, began + (len(sent) - first) / rate - time.monotonic()))
            event = Event(str(len(sent)), 0, {"band": len(sent) % _BANDS})
            sent.append(time.monotonic())
            send(out, settings.names.events, event.encode(), None, len(sent) % 4)
            out.poll(0)

    play("all is well")
    admin.delete_topics([topics[0]])[topics[0]].result()
    play("one was deleted")
    denial = acl(ResourceType.TOPIC, topics[1], "WRITE", ResourcePatternType.LITERAL)
    for future in admin.create_acls([denial]).values():
        future.result()
    play("another one is forbidden, too")
    out.flush()
    while broker.events_waiting():
        time.sleep(0.1)
    time.sleep(1)
    reader.stopping.set()
    thread.join()
    tell(report, reader, sent, marks, subscribers)
    places = [TopicPartition(settings.names.undelivered, 0, BEGINNING)]
    reasons = Counter(Undelivered.decode(record.value() or b"").reason for record in records(settings.kafka, places))
    for reason, count in reasons.items():
        report.row("In tamis.undelivered", reason=reason, notifications=count)
    broker.close()


def acl(kind: ResourceType, name: str, right: str, pattern: ResourcePatternType) -> AclBinding:
    """A right to all that begins so, or none to just this."""
    is_right = pattern is ResourcePatternType.PREFIXED
    permission = AclPermissionType.ALLOW if is_right else AclPermissionType.DENY
    return AclBinding(kind, name, pattern, _USER, "*", AclOperation[right], permission)


def tell(report: Report, reader: Reader, sent: list[float], marks: list[tuple[str, int]], subscribers: int) -> None:
    ends = [first for _, first in marks[1:]] + [len(sent)]
    for (what, first), end in zip(marks, ends, strict=True):
        came = [(at, at - sent[number]) for _, number, at in reader.arrivals if first <= number < end]
        moments = np.sort([at for at, _ in came])
        expected = sum(
            len([number for number in range(2, subscribers) if number % _BANDS == event % _BANDS])
            for event in range(first, end)
        )
        late = np.array([seconds for _, seconds in came]) * 1000
        report.row(
            f"What {subscribers - 2} others notice",
            what=what,
            expected=expected,
            delivered=len(came),
            p50_ms=float(np.percentile(late, 50)),
            p99_ms=float(np.percentile(late, 99)),
            longest_ms=float(late.max()),
            largest_gap_ms=float(np.diff(moments).max() * 1000),
        )


if __name__ == "__main__":
    main()
