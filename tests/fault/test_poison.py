"""Messages that processes die of, or hang in: after some deaths they are rejected, and everything else is delivered."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_cluster import Cluster, Reader
from broker_process import POISON, Manner
from tamis.admin.local import LocalStack
from tamis.admin.local.stack import StackOptions
from tamis.broker.configuration import BrokerSettings
from tamis.broker.subscription_list import subscriptions
from tamis.codecs.event import Event
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription

SECONDS = 90.0
EVENTS = 300


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(StackOptions(redis=False)) as stack:
        yield stack


def restarted_until(cluster: Cluster, manner: Manner, reader: Reader, count: int, slot: str = "one") -> int:
    """How often the process died until so many notifications were there; it is started again each time."""
    deaths = 0
    deadline = time.monotonic() + SECONDS
    cluster.start(slot, manner=manner)
    while len(reader.seen) < count:
        assert time.monotonic() < deadline, f"{deaths} deaths, {len(reader.seen)} notifications"
        process: subprocess.Popen[bytes] = cluster.processes[slot]
        if process.poll() is not None:
            deaths += 1
            cluster.start(slot, manner=manner)
        time.sleep(0.05)
    return deaths


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("how", "deadly"), [("kill", {100, 200}), ("hang", {100})])
def test_a_message_that_processes_die_of_is_rejected_and_all_others_are_delivered(
    stack: LocalStack, tmp_path: Path, how: str, deadly: set[int]
) -> None:
    settings = stack.settings.model_copy(update={"broker": BrokerSettings(stall_seconds=2)})
    with Cluster(settings, f"poison-{how}", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        cluster.subscribe(Subscription("ann", "all", "exists a"))
        for number in range(EVENTS):
            attributes: dict[str, int | str] = {"a": number}
            if number in deadly:
                attributes["b"] = POISON.decode()
            event = Event(str(number), 0, attributes)
            cluster.send(cluster.names.events, event.encode(), None, number % 2)
        cluster.flush()
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            deaths = restarted_until(cluster, Manner(poison=how), reader, EVENTS - len(deadly))
            assert cluster.is_done(SECONDS)
            reader.wait_until_done()
        got = sorted(int(Notification.decode(each.value).id) for each in reader.seen)
        assert got == [number for number in range(EVENTS) if number not in deadly]
        rejected = [value for _, _, _, value in cluster.content(cluster.names.rejected)]
        assert len(rejected) == len(deadly)
        assert all(POISON in (value or b"") for value in rejected), "as they came"
        assert 2 * len(deadly) <= deaths <= 4 * len(deadly), "of a batch, of a part of it, of it alone, and once more"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("manner", "left"),
    [
        (Manner(poison="hang"), "broker processes died of it"),
        (Manner(poison="kill", poison_paused=True), None),
    ],
    ids=["hangs", "kills though it is paused"],
)
def test_a_subscription_that_processes_die_of_is_paused_for_all_and_the_others_are_in_force(
    stack: LocalStack, tmp_path: Path, manner: Manner, left: str | None
) -> None:
    settings = stack.settings.model_copy(update={"broker": BrokerSettings(stall_seconds=2)})
    prefix = f"poison-{manner.poison}-{manner.poison_paused}".lower()
    with Cluster(settings, prefix, tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        wanted = [Subscription("ann", f"s{number}", "exists a") for number in range(EVENTS)]
        wanted[100] = Subscription("ann", "s100", f'b = "{POISON.decode()}" or exists a')
        cluster.subscribe(*wanted)
        cluster.send_event("before", a=1)
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            deaths = restarted_until(cluster, manner, reader, 1)
            cluster.send_event("after", a=2)
            cluster.processes["one"].terminate()
            deaths_of_another = restarted_until(cluster, manner, reader, 2, "two")
            assert cluster.is_done(SECONDS)
            reader.wait_until_done()
        first, second = (Notification.decode(each.value) for each in reader.seen)
        assert (first.id, second.id) == ("before", "after")
        names = {f"s{number}" for number in range(EVENTS)} - {"s100"}
        assert {match.name for match in first.matches} == {match.name for match in second.matches} == names
        records = subscriptions(cluster.settings, cluster.layout)
        assert [one.reason for one in records if one.name == "s100"] == ([left] if left else [])
        rejected = [value or b"" for _, _, _, value in cluster.content(cluster.names.rejected)]
    assert len(rejected) == (1 if left else 2)
    assert all(POISON in value for value in rejected), "as they came"
    assert 4 <= deaths <= 8
    assert deaths_of_another <= deaths, "what it had to find out by itself"
