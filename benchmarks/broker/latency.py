"""How long an event takes, from its producer's send to a reader of committed data, at a steady pace."""

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from benchmarks.broker import workload
from benchmarks.broker.bare import copy
from benchmarks.report import Report
from tamis.broker.configuration import KafkaSettings, Settings
from tamis.broker.kafka import TopicPartition, admin_client, consumer, end_offsets, producer
from tamis.codecs.event import Event
from tamis.codecs.layout import KEY, Layout, Start
from tamis.indexes.values import Value

RATES = (100, 1000)
PROBE = 'symbol = "probe"'
_SETTLING_SECONDS = 60.0
_WARMING_SECONDS = 2.0


def measure_latency(report: Report, settings: Settings, layout: Layout, seconds: float) -> None:
    """The broker beside a bare loop; each is a process of its own."""
    names = settings.names
    events = [event.attributes for event in workload.events(100)]
    outlet = names.notifications("prober")
    with bare_loop(settings.kafka):
        for rate in RATES:
            times = round_trips(settings.kafka, "live", "copied", events, rate, seconds)
            add_row(report, "bare", rate, times)
    with broker(settings, renewed(settings, layout)):
        for rate in RATES:
            times = round_trips(settings.kafka, names.events, outlet, events, rate, seconds)
            add_row(report, "tamis", rate, times)


def renewed(settings: Settings, layout: Layout) -> Layout:
    """A layout that begins at the end of what was matched before."""
    ends = end_offsets(
        admin_client(settings.kafka), settings.names.events, [start.partition for start in layout.starts]
    )
    starts = [Start(settings.names.events, partition, end) for partition, end in ends.items()]
    new = replace(layout, number=layout.number + 100, starts=starts)
    out = producer(settings.kafka)
    out.produce(settings.names.layout, new.encode(), KEY)
    out.flush()
    return new


def add_row(report: Report, what: str, rate: int, times: list[float]) -> None:
    milliseconds = np.array(times) * 1000
    report.row(
        "Latency, milliseconds",
        what=what,
        events_a_second=rate,
        events=len(times),
        p50=float(np.percentile(milliseconds, 50)),
        p99=float(np.percentile(milliseconds, 99)),
        longest=float(milliseconds.max()),
    )


@contextmanager
def bare_loop(settings: KafkaSettings) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=_copy, args=(settings,), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _copy(settings: KafkaSettings) -> None:
    copy(settings, "bare-live", "live", ["copied"], 10_000, lambda _done: False)


@contextmanager
def broker(settings: Settings, layout: Layout) -> Iterator[None]:
    """Ready when it has matched all that was there before."""
    environment = os.environ | {"TAMIS_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers}
    command = [sys.executable, "-m", "tamis.admin", "broker", "--log-level", "warning"]
    process = subprocess.Popen(command, env=environment)
    try:
        _wait_until_settled(settings, layout)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _wait_until_settled(settings: Settings, layout: Layout) -> None:
    topic = settings.names.events
    admin = admin_client(settings.kafka)
    client = consumer(settings.kafka, settings.names.group(layout.number, 0))
    deadline = time.monotonic() + _SETTLING_SECONDS
    partitions = [start.partition for start in layout.starts]
    try:
        while time.monotonic() < deadline:
            places = client.committed([TopicPartition(topic, partition) for partition in partitions], 30)
            ends = end_offsets(admin, topic, partitions)
            if all(place.offset >= ends[place.partition] for place in places):
                return
            time.sleep(0.2)
    finally:
        client.close()
    raise TimeoutError("the broker did not catch up with its events")


def round_trips(  # noqa: PLR0913, PLR0917 - all that differs between two measurements
    settings: KafkaSettings,
    source: str,
    target: str,
    events: list[Mapping[str, Value | None]],
    rate: int,
    seconds: float,
) -> list[float]:
    """Seconds of each event, but for those of the first two seconds."""
    sent: dict[str, float] = {}
    times: list[float] = []
    total = int(rate * (seconds + _WARMING_SECONDS))
    client = consumer(settings, "latency")
    client.assign([TopicPartition(target, 0, end_offsets(admin_client(settings), target, [0])[0])])

    def read() -> None:
        deadline = time.monotonic() + seconds + _WARMING_SECONDS + 10
        while len(times) < total and time.monotonic() < deadline:
            message = client.poll(0.1)
            if message is not None and message.error() is None:
                now = time.perf_counter()
                key = message.key()
                assert key is not None
                times.append(now - sent[key.decode()])

    thread = threading.Thread(target=read)
    thread.start()
    out = producer(settings, properties={"linger.ms": 0})
    began = time.perf_counter()
    for number, attributes in zip(range(total), itertools.cycle(events), strict=False):
        name = f"{number}"
        value = Event(name, 0, {**attributes, "symbol": "probe"}).encode()
        time.sleep(max(0.0, began + number / rate - time.perf_counter()))
        sent[name] = time.perf_counter()
        out.produce(source, value, name.encode(), number % 4)
        out.poll(0)
    thread.join()
    client.close()
    assert len(times) == total, f"{len(times)} of {total} events arrived"
    return times[int(rate * _WARMING_SECONDS) :]
