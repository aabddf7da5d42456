"""A broker in a thread of this process, and what users do with it."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from broker_cluster import Cluster, Reader, Seen
from tamis.broker.errors import BrokerError
from tamis.broker.service import serve
from tamis.codecs.event import Event

SECONDS = 30.0


@contextmanager
def running(
    cluster: Cluster, shard: int = 0, slot: str | None = None, ends_by: type[BrokerError] | None = None
) -> Iterator[threading.Event]:
    """A broker in a thread, which sets the event when it ends by itself; it must not, but by such an error."""
    stop = threading.Event()
    ended: list[BrokerError] = []

    def run() -> None:
        try:
            serve(cluster.settings, shard, slot, stop.is_set)
        except BrokerError as error:
            ended.append(error)
            stop.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join()
    assert [type(error) for error in ended] == ([] if ends_by is None else [ends_by]), ended


def publish(cluster: Cluster, *events: Mapping[str, int | str], topic: str | None = None, partition: int = 0) -> None:
    for number, attributes in enumerate(events):
        event = Event(f"event-{number}", 1_700_000_000_000_000 + number, attributes)
        cluster.send(topic or cluster.names.events, event.encode(), f"key-{number}".encode(), partition)
    cluster.flush()


def delivered(cluster: Cluster, *subscribers: str, count: int) -> list[Seen]:
    """The first so many notifications of these subscribers, and no more that are there by then."""
    cluster.await_topics([cluster.names.notifications(name) for name in subscribers])
    with Reader(cluster.settings, [cluster.names.notifications(name) for name in subscribers]) as reader:
        deadline = time.monotonic() + SECONDS
        while len(reader.delivered) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        assert cluster.is_done(SECONDS)
        reader.wait_until_done()
    return reader.delivered
