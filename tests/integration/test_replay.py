"""Replays on a real Spark of what real brokers delivered on a real Kafka."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from broker_cluster import Cluster, Reader
from processes import soon
from serving import SECONDS
from spark_sessions import small_spark
from tamis.admin.cli import run as tamis
from tamis.broker.kafka import admin_client
from tamis.broker.lag import matched_up_to
from tamis.broker.partitions import partition_of
from tamis.broker.undelivered import waiting_counts
from tamis.broker.undelivered_retry import RetryReport, retry
from tamis.broker.undelivered_retry import Wanted as WantedRetry
from tamis.codecs.event import Event
from tamis.codecs.notification import Match, Notification
from tamis.codecs.subscription import Subscription
from tamis.spark_sink import replay_comparison as comparing
from tamis.spark_sink.archive import Archiver, Wanted
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.archive_stream import Pace
from tamis.spark_sink.archive_tables import Slice, fulfilled_by, is_there, next_offsets
from tamis.spark_sink.replay_comparison import Comparison, Difference
from tamis.spark_sink.replay_job import AsDelivered, Plan, Report, run
from tamis.spark_sink.replay_kafka import KafkaSource
from tamis.spark_sink.replay_sources import ArchiveSource, Interval, ReplaySource
from topic_settings import COMPACTED_AT_ONCE, altered

MakeCluster = Callable[..., Cluster]
SUBSCRIBERS = ["ann", "bob", "cy", "dave"]
EXPRESSIONS = ["n < 4", "n >= 4", "n = 3 or n = 5", "exists n", "kind = 1 and n > 2"]
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # those of threads that Spark calls back in
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


class Workload:
    """Subscriptions come and go, some of them wrong, while events come, some of them rubbish."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._events = 0

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            self._change()
            for _ in range(self._random.randrange(8)):
                self._publish()
            self._cluster.flush()

    def _change(self) -> None:
        choose = self._random.choice
        subscriber, name = choose(SUBSCRIBERS), choose("xyz")
        home = partition_of(subscriber, self._cluster.layout.partitions)
        paused = choose([None, None, None, None, "for now"])
        one = Subscription(subscriber, name, choose(EXPRESSIONS), paused=paused)
        topic, send = self._cluster.names.subscriptions, self._cluster.send
        match self._random.randrange(10):
            case 0 | 1:
                send(topic, None, one.key, home)
            case 2:
                send(topic, Subscription(subscriber, name, "n = ").encode(), one.key, home)
            case 3:
                send(topic, one.encode(), one.key, (home + 1) % self._cluster.layout.partitions)
            case 4:
                send(topic, b"rubbish", one.key, home)
            case _:
                send(topic, one.encode(), one.key, home)

    def _publish(self) -> None:
        event = Event(f"e{self._events}", 0, {"n": self._random.randrange(8), "kind": self._random.randrange(2)})
        value = b"rubbish" if self._random.randrange(20) == 0 else event.encode()
        self._cluster.send(self._cluster.names.events, value, None, self._random.randrange(4))
        self._events += 1


class Busy:
    """Two shards, through which a random workload goes; what two subscribers should get is refused at first."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._admin = admin_client(cluster.settings.kafka)
        self._workload = Workload(cluster, seed=7)
        self._log = cluster.names.subscriptions
        cluster.make_notification_topics(SUBSCRIBERS)

    def go_on(self, steps: int) -> None:
        """A process of each shard is killed in the midst of it, and another one is there at once."""
        for shard in range(2):
            self.cluster.start(f"slot-{shard}", shard)
        self._workload.go_on(steps)
        for shard in range(2):
            self.cluster.processes[f"slot-{shard}"].kill()
            self.cluster.start(f"other-{shard}", shard)
        self._workload.go_on(steps)
        assert self.cluster.is_done(SECONDS, shards=(0, 1))
        self.cluster.end_processes()

    @contextmanager
    def refused(self, *subscribers: str) -> Iterator[None]:
        with ExitStack() as stack:
            for subscriber in subscribers:
                topic = self.cluster.names.notifications(subscriber)
                # Too little for a notification, and enough for what ends a transaction.
                stack.enter_context(altered(self._admin, topic, {"max.message.bytes": "100"}))
            yield

    def compact(self) -> None:
        """Versions that were in force when events were matched are gone then."""
        before = self._records()
        with altered(self._admin, self._log, COMPACTED_AT_ONCE):
            for _ in range(3):
                self.cluster.subscribe(Subscription("ann", "still", "n < 0"), Subscription("dave", "still", "n < 0"))
                time.sleep(0.2)  # the next record begins a new segment, and this one can be compacted
            assert soon(lambda: self._records() < before, SECONDS)

    def _records(self) -> int:
        return sum(1 for _ in self.cluster.content(self._log))


def archived(spark: SparkSession, cluster: Cluster, folder: Path) -> Path:
    """All of its topics."""
    path = folder / "archive"
    Archiver(spark, cluster.settings, Place.at(str(path)), Wanted(notifications=True)).run()
    return path


def replayed(spark: SparkSession, cluster: Cluster, source: ArchiveSource, plan: Plan) -> Report:
    return run(spark, cluster.settings, source, plan, lambda _: None)


class Tampered(ArchiveSource):
    """An archive whose notifications are not as they were."""

    def __init__(self, *given: Any, change: Callable[[DataFrame], DataFrame]) -> None:
        super().__init__(*given)
        self._change = change

    def notifications(self, prefix: str) -> DataFrame:
        return self._change(super().notifications(prefix))


def test_what_was_delivered_is_what_matched_at_each_view_and_each_planted_error_is_found(
    make_brokered: MakeCluster, spark: SparkSession, tmp_path: Path
) -> None:
    """Though processes are killed, topics take nothing for a while, and the log of subscriptions is compacted."""
    busy = Busy(make_brokered(shards=2))
    cluster, names = busy.cluster, busy.cluster.names
    with busy.refused("cy", "dave"):
        busy.go_on(35)
        archived(spark, cluster, tmp_path)
    busy.compact()
    busy.go_on(15)
    retry(cluster.settings, WantedRetry(["cy"]), RetryReport(), lambda _more: None)
    path = archived(spark, cluster, tmp_path)
    with Reader(cluster.settings, [names.notifications(name) for name in SUBSCRIBERS]) as reader:
        reader.wait_until_done()
    waiting = waiting_counts(cluster.settings)
    assert waiting.keys() == {"dave"}
    plan = Plan(AsDelivered(versions_max=25), str(tmp_path / "out"), compares=True)
    clean = replayed(spark, cluster, ArchiveSource(spark, str(path), Interval()), plan)
    assert clean.comparison is not None
    assert clean.comparison.is_empty, clean.differences
    assert clean.comparison.expected == clean.comparison.delivered == len(reader.delivered) + waiting.total() > 100
    assert clean.counts.rejected["unknown_framing"] > 5
    assert clean.counts.without_view == 0

    def change(notifications: DataFrame) -> DataFrame:
        """One is removed, one added to a topic where it does not belong, one comes twice."""
        first = notifications.orderBy("topic", "offset").limit(3).collect()
        removed, added, doubled = first
        left = notifications.where(~((F.col("topic") == removed.topic) & (F.col("offset") == removed.offset)))
        where = (F.col("topic") == added.topic) & (F.col("offset") == added.offset)
        stray = notifications.where(where).withColumn("topic", F.lit(names.notifications("stray")))
        where = (F.col("topic") == doubled.topic) & (F.col("offset") == doubled.offset)
        return left.unionAll(stray).unionAll(notifications.where(where))

    tampered = Tampered(spark, str(path), Interval(), change=change)
    should = comparing.expected(spark.read.parquet(str(tmp_path / "out" / "matches")))
    found = comparing.differences(should, comparing.delivered(tampered, names, tampered.fulfilled())).cache()
    assert {kind: count for kind, count in comparing.compared(found).differences.items() if count} == {
        Difference.MISSING: 1,
        Difference.UNEXPECTED: 1,
        Difference.TWICE: 1,
    }
    wrong = {one["difference"]: one["subscriber"] for one in comparing.examples(found, 10)}
    assert wrong["unexpected"] == "stray"
    found.unpersist()


@contextmanager
def at_work(cluster: Cluster) -> Iterator[None]:
    """Brokers of two shards, and a random workload on and on."""
    ended = Flag()
    workload = Workload(cluster, seed=11)

    def go_on() -> None:
        while not ended.wait(0.05):
            workload.go_on(1)

    for shard in range(2):
        cluster.start(f"slot-{shard}", shard)
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(go_on)
        try:
            yield
        finally:
            ended.set()
            running.result(SECONDS)


def compared(spark: SparkSession, cluster: Cluster, source: ReplaySource) -> Comparison:
    report = run(spark, cluster.settings, source, Plan(AsDelivered(), compares=True), lambda _: None)
    assert report.comparison is not None
    assert report.comparison.is_empty, report.differences
    return report.comparison


def test_what_is_read_while_brokers_work_is_compared_as_far_as_it_is_whole(
    make_brokered: MakeCluster, spark: SparkSession, tmp_path: Path
) -> None:
    cluster = make_brokered(shards=2)
    cluster.make_notification_topics(SUBSCRIBERS)
    expected = [0]
    with at_work(cluster):
        assert soon(lambda: min(matched_up_to(cluster.settings).values()) > 0, SECONDS)
        path = archived(spark, cluster, tmp_path)
        expected.append(compared(spark, cluster, ArchiveSource(spark, str(path), Interval())).expected)
        expected.append(compared(spark, cluster, KafkaSource(spark, cluster.settings)).expected)
    assert expected == sorted(set(expected)), "each time more can be compared"
    assert cluster.is_done(SECONDS, shards=(0, 1))
    cluster.end_processes()
    archived(spark, cluster, tmp_path)
    every = compared(spark, cluster, ArchiveSource(spark, str(path), Interval()))
    assert every.uncompared == 0
    for number in range(5):
        cluster.send(cluster.names.events, Event(f"late{number}", 0, {"n": 3}).encode(), None, number % 4)
    cluster.flush()
    archived(spark, cluster, tmp_path)
    later = compared(spark, cluster, ArchiveSource(spark, str(path), Interval()))
    assert (later.expected, later.uncompared) == (every.expected, 5), "nobody has matched them yet"


def test_an_archiver_that_goes_on_tells_of_the_last_events_though_nothing_follows(
    make_brokered: MakeCluster, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.spark_sink.archive._LOOK_SECONDS", 1.0)
    cluster = make_brokered()
    events = cluster.names.events
    cluster.subscribe(Subscription("ann", "few", "n < 4"))
    cluster.start("slot-0")
    place, ended = Place.at(str(tmp_path / "archive")), Flag()
    archiver = Archiver(spark, cluster.settings, place, Wanted(Pace(seconds=1), notifications=True))

    def send(numbers: range) -> None:
        for number in numbers:
            cluster.send(events, Event(f"e{number}", 0, {"n": number}).encode(), None, number % 4)
        cluster.flush()

    def reach(told: Callable[[SparkSession, Place], Mapping[Slice, int] | None], count: int) -> bool:
        offsets = (told(spark, place) if is_there(spark, place) else None) or {}
        return sum(offsets.get((cluster.layout.topics[events], partition), 0) for partition in range(4)) == count

    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(archiver.run, ended.is_set)
        try:
            send(range(4))
            assert soon(lambda: running.done() or reach(fulfilled_by, 4), 2 * SECONDS)
            cluster.end_processes()
            send(range(4, 20))
            assert soon(lambda: running.done() or reach(next_offsets, 20), 2 * SECONDS)
            cluster.start("slot-0")  # which has nothing to send
            assert soon(lambda: running.done() or reach(fulfilled_by, 20), 2 * SECONDS)
        finally:
            ended.set()
        running.result(SECONDS)


def test_proposals_are_matched_against_all_that_came(
    make_brokered: MakeCluster,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = make_brokered()
    for number in range(40):
        cluster.send(cluster.names.events, Event(f"e{number}", 0, {"n": number}).encode(), None, number % 4)
    cluster.send(cluster.names.events, b"rubbish", None, 0)
    cluster.flush()
    path = archived(spark, cluster, tmp_path)
    lines = [
        {"subscriber": "ann", "name": "few", "expression": "n < 10"},
        {"subscriber": "bob", "name": "none", "expression": "n < 0"},
        {"subscriber": "bob", "name": "some", "expression": "n between 5 and 29"},
        {"subscriber": "cy", "name": "still", "expression": "exists n", "paused": "for now"},
    ]
    (tmp_path / "proposed.ndjson").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.setenv("TAMIS_KAFKA__BOOTSTRAP_SERVERS", cluster.settings.kafka.bootstrap_servers)
    monkeypatch.setenv("TAMIS_PREFIX", cluster.settings.prefix)
    out = tmp_path / "out"
    arguments = ["replay", "--archive", str(path), "-f", str(tmp_path / "proposed.ndjson"), "--out", str(out)]
    assert tamis([*arguments, "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["subscriptions"] == {"ann/few": 10, "bob/none": 0, "bob/some": 25}
    assert (told["events"], told["matches"], told["rejected"], told["never"]) == (
        41,
        35,
        {"unknown_framing": 1},
        ["bob/none"],
    )
    written = spark.read.parquet(str(out / "matches")).collect()
    assert Counter(row.subscription for row in written) == {"ann/few": 10, "bob/some": 25}
    assert [row.offset for row in spark.read.parquet(str(out / "rejected")).collect()] == [10]
    assert tamis(arguments) == 5, "what is there already is not written over"
    assert "already" in capsys.readouterr().err


def test_what_kafka_has_is_matched_by_the_subscriptions_of_now_and_published(
    make_brokered: MakeCluster,
    spark: SparkSession,  # noqa: ARG001 - the command uses the session that is there
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = make_brokered()
    for number in range(20):
        cluster.send(cluster.names.events, Event(f"e{number}", 0, {"n": number}).encode(), b"key", number % 4)
    cluster.subscribe(
        Subscription("ann", "few", "n < 5", {"team": "blue"}, scores=True),
        Subscription("ann", "more", "n < 9"),
        Subscription("bob", "gone", "exists n"),
    )
    cluster.unsubscribe("bob", "gone")
    target = cluster.names.notifications("redelivered")
    cluster.make_notification_topics(["redelivered"])
    monkeypatch.setenv("TAMIS_KAFKA__BOOTSTRAP_SERVERS", cluster.settings.kafka.bootstrap_servers)
    monkeypatch.setenv("TAMIS_PREFIX", cluster.settings.prefix)
    assert tamis(["replay", "--kafka", "--publish", target, "--yes", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["events"], told["matches"], told["published"]) == (20, 14, 9)
    found = [Notification.decode(value or b"") for _, _, _, value in cluster.content(target)]
    assert {each.id: [match.name for match in each.matches] for each in found} == {
        f"e{number}": ["few", "more"] if number < 5 else ["more"] for number in range(9)
    }
    scored = next(match for each in found for match in each.matches if match.name == "few")
    assert scored == Match("few", {"team": "blue"}, 1.0)
    assert tamis(["replay", "--kafka", "--publish", cluster.names.events, "--yes"]) == 6
    assert "publish to another one" in capsys.readouterr().err
