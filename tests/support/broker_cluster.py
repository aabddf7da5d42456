"""A Tamis of its own on a Kafka, for tests: topics, a layout, broker processes, and what went through them."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from broker_process import Faults, Plan
from processes import soon
from tamis.broker.configuration import Settings
from tamis.broker.kafka import (
    NewPartitions,
    NewTopic,
    TopicPartition,
    admin_client,
    consumer,
    end_offsets,
    headers_of,
    producer,
)
from tamis.broker.partitions import partition_of
from tamis.broker.reading import BEGINNING, partitions_of, records
from tamis.broker.topics import Wanted, create
from tamis.codecs.event import Event
from tamis.codecs.subscription import Subscription

_PROGRAM = Path(__file__).with_name("broker_process.py")
_SUBSCRIPTION_PARTITIONS = 4
_SECONDS = 60.0


class Cluster:
    """Topics of one prefix, with a layout, and nothing in them."""

    def __init__(
        self, settings: Settings, prefix: str, folder: Path, shards: int = 1, event_partitions: int = 4
    ) -> None:
        self.settings = settings.model_copy(update={"prefix": prefix})
        self.names = self.settings.names
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.layout = create(self.settings, Wanted((), shards, _SUBSCRIPTION_PARTITIONS, event_partitions)).layout
        self._producer = producer(settings.kafka)
        self._admin = admin_client(settings.kafka)
        self._lock = threading.Lock()
        self._event_partitions = event_partitions

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """End its processes, and delete its topics."""
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        prefix = f"{self.settings.prefix}."
        topics = [topic for topic in self._admin.list_topics(timeout=_SECONDS).topics if topic.startswith(prefix)]
        for future in self._admin.delete_topics(topics).values() if topics else ():
            future.result()

    # What clients do.

    def send(self, topic: str, value: bytes | None, key: bytes | None, partition: int) -> None:
        self._producer.produce(topic, value, key, partition)

    def flush(self) -> None:
        """Until all is acknowledged."""
        with self._lock:
            assert self._producer.flush(_SECONDS) == 0

    def subscribe(self, *subscriptions: Subscription) -> None:
        """Acknowledged when this returns."""
        for subscription in subscriptions:
            self._write(subscription.subscriber, subscription.key, subscription.encode())
        self.flush()

    def unsubscribe(self, subscriber: str, name: str) -> None:
        self._write(subscriber, f"{subscriber}/{name}".encode(), None)
        self.flush()

    def make_notification_topics(self, subscribers: Iterable[str]) -> None:
        topics = [NewTopic(self.names.notifications(subscriber), 1) for subscriber in subscribers]
        for future in self._admin.create_topics(topics).values():
            future.result()

    def send_event(self, name: str, **attributes: int | str) -> None:
        """To the first partition; acknowledged when this returns."""
        self.send(self.names.events, Event(name, 0, attributes).encode(), None, 0)
        self.flush()

    def renew_producer(self) -> None:
        """Where a partition has lost records its producers have to begin anew, and they know of no new partition."""
        self._producer = producer(self.settings.kafka)

    def add_partition(self) -> None:
        """To the event topic."""
        self._event_partitions += 1
        new = NewPartitions(self.names.events, self._event_partitions)
        self._admin.create_partitions([new])[self.names.events].result()
        assert soon(lambda: self._event_partitions in self._counts())
        self.renew_producer()

    def _counts(self) -> set[int]:
        return {len(self._admin.list_topics(self.names.events, timeout=_SECONDS).topics[self.names.events].partitions)}

    def await_topics(self, topics: Iterable[str]) -> None:
        """Until they are there, whoever makes them."""
        deadline = time.monotonic() + _SECONDS
        while missing := set(topics) - self._admin.list_topics(timeout=_SECONDS).topics.keys():
            assert time.monotonic() < deadline, missing
            time.sleep(0.05)

    def delete_topic(self, topic: str) -> None:
        """Gone when this returns."""
        self._admin.delete_topics([topic])[topic].result()
        assert soon(lambda: topic not in self._admin.list_topics(timeout=_SECONDS).topics)

    def forget_offsets(self) -> None:
        """As Kafka does for groups that were away for too long."""
        for future in self._admin.delete_consumer_groups([self.names.group(self.layout.number, 0)]).values():
            future.result()

    def _write(self, subscriber: str, key: bytes, value: bytes | None) -> None:
        self.send(self.names.subscriptions, value, key, partition_of(subscriber, _SUBSCRIPTION_PARTITIONS))

    # Processes.

    def start(self, slot: str, shard: int = 0, faults: Faults | None = None, broken: str = "") -> None:
        plan = Plan(self.settings.model_dump(mode="json"), shard, slot, faults or Faults(), broken)
        file = self.folder / f"{slot}.json"
        file.write_text(plan.text)
        with self.log(slot).open("ab") as log:
            environment = os.environ | {"TAMIS_STATE_DIR": str(self.folder)}
            self.processes[slot] = subprocess.Popen(
                [sys.executable, str(_PROGRAM), str(file)], stderr=log, stdin=subprocess.DEVNULL, env=environment
            )

    def log(self, slot: str) -> Path:
        return self.folder / f"{slot}.log"

    def told(self, words: str) -> int:
        """How many lines of all logs have these words."""
        return sum(words in line for log in self.folder.glob("*.log") for line in log.read_text().splitlines())

    # What came of it.

    def is_done(self, seconds: float = _SECONDS) -> bool:
        """Whether the group has committed the end of every event partition, in so many seconds."""
        deadline = time.monotonic() + seconds
        group = self.names.group(self.layout.number, 0)
        partitions = range(self._event_partitions)
        client = consumer(self.settings.kafka, group)
        try:
            while True:
                places = [TopicPartition(self.names.events, partition) for partition in partitions]
                committed = {place.partition: place.offset for place in client.committed(places, _SECONDS)}
                ends = end_offsets(self._admin, self.names.events, partitions)
                if all(committed[partition] >= ends[partition] for partition in partitions):
                    return True
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.1)
        finally:
            client.close()

    def content(self, topic: str) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
        """Partition, offset, key and value of all that is committed."""
        places = [TopicPartition(topic, number, BEGINNING) for number in partitions_of(self.settings.kafka, topic)]
        for record in records(self.settings.kafka, places):
            partition, offset = record.partition(), record.offset()
            assert partition is not None
            assert offset is not None
            yield partition, offset, record.key(), record.value()


@dataclass
class Seen:
    """A notification, as a subscriber had it."""

    topic: str
    value: bytes
    view: str
    header: str
    key: bytes | None
    at: float


@dataclass
class Reader:
    """Reads notification topics as subscribers do, committed data only, from the beginning and all the time."""

    settings: Settings
    topics: list[str]
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._client = consumer(self.settings.kafka, "reader", {"enable.partition.eof": True})
        self._client.assign([TopicPartition(topic, 0, BEGINNING) for topic in self.topics])
        self._ends: dict[str, int] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._client.close()

    def _read(self) -> None:
        while not self._stopping.is_set():
            for message in self._client.consume(1000, 0.05):
                topic, error = message.topic() or "", message.error()
                if error is not None:
                    self._ends[topic] = message.offset() or 0
                    continue
                headers = dict(headers_of(message))
                view, header = headers["tamis-view"].decode(), headers["tamis-id"].decode()
                self.seen.append(Seen(topic, message.value() or b"", view, header, message.key(), time.monotonic()))

    def wait_until_done(self, seconds: float = _SECONDS) -> None:
        """Until it has reached the ends of all topics, and no transaction hides what is before them."""
        admin = admin_client(self.settings.kafka)
        deadline = time.monotonic() + seconds
        for topic in self.topics:
            while self._ends.get(topic, 0) < end_offsets(admin, topic, [0])[0]:
                assert time.monotonic() < deadline, f"{topic} cannot be read to its end"
                time.sleep(0.1)
