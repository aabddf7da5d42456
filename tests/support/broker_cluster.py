"""A Tamis of its own on a Kafka, for tests: topics, a layout, broker processes, and what went through them."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from broker_process import Manner, Plan
from kafka_proxy import victim
from processes import soon
from sender import Sender
from tamis.broker.configuration import Settings
from tamis.broker.following import Follower
from tamis.broker.kafka import (
    LOG_WENT_BACK,
    Consumer,
    KafkaException,
    Message,
    NewPartitions,
    TopicPartition,
    admin_client,
    consumer,
    end_offsets,
    headers_of,
    is_fatal,
    offset_of,
    place_of,
)
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.partitions import partition_of
from tamis.broker.reading import BEGINNING, partitions_of, records
from tamis.broker.topics import Wanted, create
from tamis.codecs.event import Event
from tamis.codecs.headers import ID, KEY, VIEW
from tamis.codecs.subscription import Subscription
from tamis.codecs.undelivered import Undelivered

_PROGRAM = Path(__file__).with_name("broker_process.py")
_SUBSCRIPTION_PARTITIONS = 4
_SECONDS = 60.0
_FLUSH_SECONDS = 120.0
"""Longer than any Kafka broker stays away."""


class Cluster:
    """Topics of one prefix, with a layout, and nothing in them."""

    def __init__(
        self, settings: Settings, prefix: str, folder: Path, shards: int = 1, event_partitions: int = 4
    ) -> None:
        self.settings = settings.model_copy(update={"prefix": prefix})
        self.names = self.settings.names
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        """By slot, those that run under that name; who starts more of one keeps the others."""
        self.calm = folder / "calm"
        """The file at whose presence processes have no more faults."""
        self.layout = create(self.settings, Wanted((), shards, _SUBSCRIPTION_PARTITIONS, event_partitions)).layout
        self._sender = Sender(settings.kafka)
        self._admin = admin_client(settings.kafka)
        self._event_partitions = event_partitions
        self._members: dict[int, Consumer] = {}
        """By shard, of its group, only to ask what is committed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """End its processes, and delete its topics."""
        self.end_processes()
        prefix = f"{self.settings.prefix}."
        topics = [topic for topic in self._admin.list_topics(timeout=_SECONDS).topics if topic.startswith(prefix)]
        for future in self._admin.delete_topics(topics).values() if topics else ():
            future.result()

    def end_processes(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        for member in self._members.values():
            member.close()
        self._members.clear()

    # What clients do.

    def send(self, topic: str, value: bytes | None, key: bytes | None, partition: int) -> None:
        self._sender.send(topic, value, key, partition)

    def flush(self) -> None:
        """Until all is acknowledged."""
        assert self._sender.flush(_FLUSH_SECONDS), "Kafka does not acknowledge what is sent"

    def subscribe(self, *subscriptions: Subscription) -> None:
        """Acknowledged when this returns."""
        for subscription in subscriptions:
            self._write(subscription.subscriber, subscription.key, subscription.encode())
        self.flush()

    def unsubscribe(self, subscriber: str, name: str) -> None:
        self._write(subscriber, f"{subscriber}/{name}".encode(), None)
        self.flush()

    def make_notification_topics(self, subscribers: Iterable[str]) -> None:
        ensure_notification_topics(self._admin, self.settings, subscribers)

    def send_event(self, name: str, **attributes: int | str) -> None:
        """To the first partition; acknowledged when this returns."""
        self.send(self.names.events, Event(name, 0, attributes).encode(), None, 0)
        self.flush()

    def renew_producer(self) -> None:
        """Where a partition has lost records its producers have to begin anew, and they know of no new partition."""
        self._sender.renew()

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

    def start(self, slot: str, shard: int = 0, manner: Manner | None = None) -> None:
        """The process of this slot from now on."""
        self.processes[slot] = self.started(slot, shard, manner)

    def started(
        self, slot: str, shard: int = 0, manner: Manner | None = None, host: str = ""
    ) -> subprocess.Popen[bytes]:
        """A process; with a host it knows nothing of those without, as if it were on another machine."""
        settings = self.settings.model_copy(update={"kafka": victim(self.settings.kafka)}).model_dump(mode="json")
        plan = Plan(settings, shard, slot, os.getpid(), str(self.calm), manner or Manner())
        state = self.folder / host
        state.mkdir(exist_ok=True)
        file = state / f"{slot}.json"
        file.write_text(plan.text)
        with self.log(slot, host).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, str(_PROGRAM), str(file)],
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=os.environ | {"TAMIS_STATE_DIR": str(state)},
                start_new_session=True,  # Ctrl-C in a terminal is for whoever started it, who decides when it stops
            )

    def log(self, slot: str, host: str = "") -> Path:
        return self.folder / f"{slot}{host and '-'}{host}.log"

    def told(self, words: str, logs: str = "*.log") -> int:
        """How many lines of all logs, or of these, have these words."""
        return sum(words in line for log in self.folder.glob(logs) for line in log.read_text().splitlines())

    # What came of it.

    def is_done(self, seconds: float = _SECONDS, shards: Sequence[int] = (0,)) -> bool:
        """Whether each shard's group has committed the end of every event partition, in so many seconds."""
        deadline = time.monotonic() + seconds
        while not all(self.has_committed_all(shard) for shard in shards):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def has_committed_all(self, shard: int = 0, seconds: float = _SECONDS) -> bool:
        """As far as Kafka tells in so many seconds."""
        partitions = range(self._event_partitions)
        places = [TopicPartition(self.names.events, partition) for partition in partitions]
        if shard not in self._members:
            self._members[shard] = consumer(self.settings.kafka, self.names.group(self.layout.number, shard))
        try:
            committed = {place.partition: place.offset for place in self._members[shard].committed(places, seconds)}
            ends = end_offsets(self._admin, self.names.events, partitions)
        except KafkaException:
            self._members.pop(shard).close()  # it may never be answered again
            return False
        return all(committed[partition] >= ends[partition] for partition in partitions)

    def content(self, topic: str) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
        """Partition, offset, key and value of all that is committed."""
        places = [TopicPartition(topic, number, BEGINNING) for number in partitions_of(self.settings.kafka, topic)]
        for record in records(self.settings.kafka, places):
            yield place_of(record)[1], offset_of(record), record.key(), record.value()


@dataclass(slots=True)
class Seen:
    """A notification, as a subscriber had it, or as the topic of undelivered ones has it."""

    topic: str
    subscriber: str
    value: bytes
    view: str
    header: str
    key: bytes | None
    at: float
    is_undelivered: bool = False


@dataclass
class Reader:
    """Reads notification topics as subscribers do, committed data only, from the beginning and all the time.

    And the topic of undelivered ones, which has what they should have had.
    """

    settings: Settings
    topics: list[str]
    seen: list[Seen] = field(default_factory=list)
    keys: set[bytes] = field(default_factory=set)

    def __enter__(self) -> Self:
        self._failure: BaseException | None = None
        names = self.settings.names
        self._prefix = names.notifications("")
        self._undelivered = names.undelivered
        undelivered = partitions_of(self.settings.kafka, self._undelivered)
        self._places = [  # what is asked for first waits for something to come, and the last of these is
            *((self._undelivered, partition) for partition in undelivered),
            *((topic, 0) for topic in self.topics),
        ]
        self._follower = Follower(self.settings.kafka, dict.fromkeys(self._places, BEGINNING))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._follower.close()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                for message in self._follower.poll(0.05, 1000):
                    self._take(message)
        except Exception as error:  # noqa: BLE001 - whoever waits for this thread is told
            self._failure = error

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            if is_fatal(error) or error.code() in LOG_WENT_BACK:
                raise KafkaException(error)
            return  # what a broker that went away has to say
        topic, _ = place_of(message)
        headers, value, key = dict(headers_of(message)), message.value() or b"", message.key()
        is_undelivered = topic == self._undelivered
        self.keys.add((headers.get(KEY) if is_undelivered else key) or b"")
        if is_undelivered and not value:
            return  # what waited was sent after all
        if is_undelivered:
            subscriber, value = (key or b"").decode(), Undelivered.decode(value).notification
        else:
            subscriber = topic.removeprefix(self._prefix)
        view, header = headers[VIEW].decode(), headers[ID].decode()
        self.seen.append(Seen(topic, subscriber, value, view, header, key, time.monotonic(), is_undelivered))

    @property
    def delivered(self) -> list[Seen]:
        """What subscribers had, themselves."""
        return [each for each in self.seen if not each.is_undelivered]

    def has(self, count: int, seconds: float = _SECONDS) -> bool:
        """Whether subscribers have so many in time."""
        return soon(lambda: len(self.delivered) >= count, seconds)

    def wait_until_done(self, seconds: float = _SECONDS) -> None:
        """Until it has reached the ends of all topics, and no transaction hides what is before them."""
        admin = admin_client(self.settings.kafka)
        deadline = time.monotonic() + seconds
        for topic, partition in self._places:
            while self._follower.nexts.get((topic, partition), 0) < end_offsets(admin, topic, [partition])[partition]:
                self.require_alive()
                assert time.monotonic() < deadline, f"{topic} [{partition}] cannot be read to its end"
                time.sleep(0.1)

    def require_alive(self) -> None:
        if self._failure is not None:
            raise self._failure
