import contextlib
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import NewPartitions

from clusters import remove_cluster
from processes import soon
from tamis.broker.configuration import NotificationSettings, Settings
from tamis.broker.errors import ConflictError, InvalidError, MissingError
from tamis.broker.group_starts import apply, decide
from tamis.broker.kafka import AdminClient, Consumer, KafkaException, NewTopic, TopicPartition, consumer, producer
from tamis.broker.layouts import change_layout, require_layout
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.positions import END, START, Position
from tamis.broker.topic_checks import Finding, Status
from tamis.broker.topic_facts import awaited_facts, topic_facts
from tamis.broker.topics import Made, Wanted, add, check_topics, create, require_topics
from tamis.codecs.layout import Layout, Start
from tamis.indexes.limits import Limits
from topic_settings import altered

SECONDS = 15.0


@pytest.fixture
def mine(settings: Settings, unique: str, admin: AdminClient) -> Iterator[Settings]:
    """The settings of a Tamis of its own, of which nothing is there yet."""
    yield settings.model_copy(update={"prefix": unique})
    remove_cluster(admin, unique)


def make(admin: AdminClient, name: str, partitions: int = 1, **config: str) -> None:
    properties = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(name, partitions, config=properties)])[name].result()
    awaited_facts(admin, [name])


def delete(admin: AdminClient, name: str) -> None:
    admin.delete_topics([name])[name].result()
    assert soon(lambda: name not in topic_facts(admin, [name]))


def send(settings: Settings, topic: str, count: int, partition: int = 0) -> None:
    client = producer(settings.kafka)
    for number in range(count):
        client.produce(topic, str(number), partition=partition)
    assert client.flush(SECONDS) == 0


def started(layout: Layout) -> dict[tuple[str, int], int]:
    return {(start.topic, start.partition): start.offset for start in layout.starts}


def findings(settings: Settings) -> dict[tuple[str, str], Finding]:
    names = settings.names
    return {(found.topic.removeprefix(f"{names.prefix}."), found.about): found for found in check_topics(settings)}


def test_topics_are_made_with_what_promises_rest_on(mine: Settings, admin: AdminClient) -> None:
    made = create(mine, Wanted(shards=3, event_partitions=2))
    names = mine.names
    assert made.is_new
    assert made.topics == dict.fromkeys((*names.own, names.events), True)
    facts = topic_facts(admin, made.topics)
    assert {fact.name.removeprefix(f"{names.prefix}."): fact.partitions for fact in facts.values()} == {
        "layout": 1,
        "subscriptions": 16,
        "views": 1,
        "rejected": 1,
        "undelivered": 1,
        "events": 2,
    }
    week = "604800000"
    subscriptions = facts[names.subscriptions].config
    assert subscriptions is not None
    promised = {
        "cleanup.policy": "compact",
        "message.timestamp.type": "LogAppendTime",
        "min.compaction.lag.ms": week,
        "delete.retention.ms": week,
        "unclean.leader.election.enable": "false",
        "min.insync.replicas": "1",
    }
    assert {key: subscriptions[key] for key in promised} == promised
    views = facts[names.views].config
    assert views is not None
    assert (views["cleanup.policy"], views["retention.ms"]) == ("delete", str(30 * 86_400_000))
    layout = require_layout(mine)
    assert layout == made.layout
    assert (layout.number, layout.shards, layout.partitions, layout.limits) == (1, 3, 16, Limits())
    assert layout.topics == {name: facts[name].id for name in (names.subscriptions, names.events)}
    assert started(layout) == {(names.events, 0): 0, (names.events, 1): 0}
    require_topics(mine, layout)


def test_a_topics_id_is_printed_as_kafka_prints_it(mine: Settings, admin: AdminClient) -> None:
    """In the alphabet that is safe in headers and file names: of 128 random bits, few ids need no sign of it."""
    topics = [f"{mine.prefix}.{number}" for number in range(40)]
    for future in admin.create_topics([NewTopic(topic) for topic in topics]).values():
        future.result()
    ids = "".join(fact.id for fact in awaited_facts(admin, topics).values())
    assert set("-_") & set(ids)
    assert not set("+/=") & set(ids)


def test_making_them_again_changes_nothing(mine: Settings) -> None:
    first = create(mine, Wanted(shards=2))
    again = create(mine, Wanted(shards=2))
    assert not again.is_new
    assert not any(again.topics.values())
    assert again.layout == first.layout


def test_what_was_made_half_is_completed(mine: Settings, admin: AdminClient) -> None:
    names = mine.names
    first = create(mine, Wanted())
    delete(admin, names.views)
    again = create(mine, Wanted())
    assert [name for name, is_made in again.topics.items() if is_made] == [names.views]
    assert again.layout == first.layout
    delete(admin, names.layout)
    written = create(mine, Wanted())
    assert [name for name, is_made in written.topics.items() if is_made] == [names.layout]
    assert written.is_new
    assert written.layout == first.layout


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(shards=2), "has 1 shards, and 2 were asked for"),
        (Wanted(subscription_partitions=4), "has 16 partitions of the subscription topic, and 4 were asked for"),
        (Wanted(event_topics=["test-other"]), "tamis topics add test-other"),
    ],
)
def test_a_disagreement_is_a_conflict_and_makes_nothing(
    whole: tuple[Settings, Layout], admin: AdminClient, wanted: Wanted, said: str
) -> None:
    with pytest.raises(ConflictError, match=said):
        create(whole[0], wanted)
    assert "test-other" not in admin.list_topics(timeout=SECONDS).topics


def test_a_topic_that_breaks_a_promise_is_a_conflict(mine: Settings, admin: AdminClient) -> None:
    make(admin, mine.names.subscriptions, 16, cleanup_policy="delete")
    with pytest.raises(
        ConflictError, match=r"subscriptions is there with cleanup\.policy=delete, and compact is needed"
    ):
        create(mine, Wanted())
    there = [topic for topic in admin.list_topics(timeout=SECONDS).topics if topic.startswith(mine.prefix)]
    assert there == [mine.names.subscriptions]


def test_wrong_wishes_are_refused_before_anything_is_made(mine: Settings, admin: AdminClient) -> None:
    with pytest.raises(InvalidError, match="17 shards of 16 partitions"):
        create(mine, Wanted(shards=17))
    for topic in (mine.names.views, mine.names.notifications("ann")):
        with pytest.raises(InvalidError, match="Tamis's own"):
            create(mine, Wanted(event_topics=[topic]))
    with pytest.raises(KafkaException):
        create(mine, Wanted(replication=9))
    assert not [topic for topic in admin.list_topics(timeout=SECONDS).topics if topic.startswith(mine.prefix)]


def test_events_that_are_there_already_are_left_out_unless_asked_for(
    mine: Settings, make_topic: Callable[..., str]
) -> None:
    topic, other = make_topic(partitions=2), make_topic()
    send(mine, topic, 5, partition=1)
    send(mine, other, 3)
    made = create(mine, Wanted(event_topics=[topic]))
    assert started(made.layout) == {(topic, 0): 0, (topic, 1): 5}
    added = add(mine, other, from_start=True)
    assert started(added.layout)[other, 0] == 0


def test_two_at_once_do_no_harm(mine: Settings) -> None:
    made: list[Made] = []
    makers = [threading.Thread(target=lambda: made.append(create(mine, Wanted(shards=2)))) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(made) == len(makers)
    assert len({each.layout.encode() for each in made}) == 1
    assert sum(each.is_new for each in made) == 1
    for topic in made[0].topics:
        assert sum(each.topics[topic] for each in made) == 1


def test_topics_that_are_added_at_once_are_all_added(mine: Settings, make_topic: Callable[..., str]) -> None:
    create(mine, Wanted())
    topics = [make_topic() for _ in range(3)]
    makers = [threading.Thread(target=add, args=(mine, topic)) for topic in topics]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    layout = require_layout(mine)
    assert set(topics) <= layout.topics.keys()
    assert {(topic, 0) for topic in topics} <= started(layout).keys()
    assert layout.number == 1


def test_a_writer_that_was_overtaken_reads_again(mine: Settings) -> None:
    """Whoever reads first and writes last would else undo what the other one wrote."""
    create(mine, Wanted())
    seen: list[int] = []

    def change(newest: Layout | None, start: int) -> Layout:
        assert newest is not None
        starts = (*newest.starts, Start("x", start, 0))
        return Layout(1, 1, 16, newest.topics, newest.limits, starts)

    def slowly(newest: Layout | None) -> Layout:
        seen.append(0 if newest is None else len(newest.starts))
        if len(seen) == 1:
            change_layout(mine, lambda inner: change(inner, 1))
        return change(newest, 2)

    change_layout(mine, slowly)
    assert len(seen) == 2
    assert seen[1] == seen[0] + 1
    assert {("x", 1), ("x", 2)} <= started(require_layout(mine)).keys()


def test_a_topic_joins_without_a_new_layout_number(mine: Settings, make_topic: Callable[..., str]) -> None:
    first = create(mine, Wanted()).layout
    topic = make_topic(partitions=2)
    send(mine, topic, 4)
    added = add(mine, topic)
    assert added.is_new
    assert added.layout.number == first.number
    assert added.layout.rules == first.rules
    assert started(added.layout) == {**started(first), (topic, 0): 4, (topic, 1): 0}
    assert not add(mine, topic).is_new
    with pytest.raises(MissingError, match="--partitions"):
        add(mine, f"{mine.prefix}.more")
    assert add(mine, f"{mine.prefix}.more", partitions=3).topics == {f"{mine.prefix}.more": True}


@pytest.fixture(scope="module")
def whole(settings: Settings, admin: AdminClient) -> Iterator[tuple[Settings, Layout]]:
    """A Tamis that several tests look at, and leave as it was."""
    whole = settings.model_copy(update={"prefix": f"test-{uuid.uuid4().hex[:12]}"})
    yield whole, create(whole, Wanted()).layout
    remove_cluster(admin, whole.prefix)


@pytest.mark.parametrize(
    ("place", "value", "status"),
    [
        (("subscriptions", "cleanup.policy"), "compact,delete", Status.FAIL),
        (("subscriptions", "message.timestamp.type"), "CreateTime", Status.FAIL),
        (("subscriptions", "min.compaction.lag.ms"), "1000", Status.FAIL),
        (("subscriptions", "delete.retention.ms"), "1000", Status.FAIL),
        (("subscriptions", "unclean.leader.election.enable"), "true", Status.FAIL),
        (("subscriptions", "delete.retention.ms"), "9999999999", Status.OK),
        (("layout", "cleanup.policy"), "delete", Status.FAIL),
        (("views", "cleanup.policy"), "compact", Status.FAIL),
        (("views", "retention.ms"), "1000", Status.WARN),
        (("views", "message.timestamp.type"), "CreateTime", Status.WARN),
        (("views", "retention.ms"), "-1", Status.OK),
        (("undelivered", "max.message.bytes"), "1000", Status.WARN),
        (("events", "cleanup.policy"), "compact", Status.WARN),
    ],
)
def test_each_setting_is_compared(
    whole: tuple[Settings, Layout], admin: AdminClient, place: tuple[str, str], value: str, status: Status
) -> None:
    (mine, layout), (topic, name) = whole, place
    refused = status is Status.FAIL
    with altered(admin, f"{mine.prefix}.{topic}", {name: value}):
        found = findings(mine)
        with pytest.raises(ConflictError, match=name) if refused else contextlib.nullcontext():
            require_topics(mine, layout)
    assert {key: finding.status for key, finding in found.items() if finding.status is not Status.OK} == (
        {} if status is Status.OK else {(topic, name): status}
    )
    if status is not Status.OK:
        assert f"--entity-name {mine.prefix}.{topic} --add-config {name}=" in found[topic, name].fix


def test_what_is_missing_is_told(mine: Settings, admin: AdminClient) -> None:
    assert findings(mine)["layout", "layout"].status is Status.FAIL
    layout = create(mine, Wanted()).layout
    delete(admin, mine.names.undelivered)
    with pytest.raises(MissingError, match=r"undelivered, topic: missing\. Make it: tamis topics create"):
        require_topics(mine, layout)
    create(mine, Wanted())
    delete(admin, mine.names.events)
    with pytest.raises(MissingError, match=r"events, topic: missing"):
        require_topics(mine, layout)


def test_a_topic_that_was_made_anew_is_another_topic(mine: Settings, admin: AdminClient) -> None:
    layout = create(mine, Wanted()).layout
    for topic, partitions in ((mine.names.events, 4), (mine.names.subscriptions, 16)):
        config = topic_facts(admin, [topic])[topic].config
        assert config is not None
        kept = ("cleanup.policy", "message.timestamp.type", "min.compaction.lag.ms", "delete.retention.ms")
        delete(admin, topic)
        make(admin, topic, partitions, **{key.replace(".", "_"): config[key] for key in kept})
        with pytest.raises(ConflictError, match=rf"made anew.*tamis topics set-start {topic}"):
            require_topics(mine, layout)
        with pytest.raises(ConflictError, match=f"{topic} was deleted and made anew"):
            create(mine, Wanted())
        apply(mine, decide(mine, topic, START))
        layout = require_layout(mine)
        require_topics(mine, layout)
        create(mine, Wanted())


def test_the_subscription_topics_partitions_are_the_layouts(mine: Settings, admin: AdminClient) -> None:
    layout = create(mine, Wanted(subscription_partitions=4)).layout
    topic = mine.names.subscriptions
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result()
    assert soon(lambda: topic_facts(admin, [topic])[topic].partitions == 5)
    with pytest.raises(ConflictError, match=r"partitions: 5 \(needed: 4\)"):
        require_topics(mine, layout)


def committed(settings: Settings, group: str, topic: str, partitions: int) -> list[int]:
    client = consumer(settings.kafka, group)
    try:
        return [at.offset for at in client.committed([TopicPartition(topic, n) for n in range(partitions)], SECONDS)]
    finally:
        client.close()


@pytest.fixture
def shared(mine: Settings, make_topic: Callable[..., str]) -> tuple[Settings, str]:
    """Two shards, and a topic of two partitions with 10 and 4 events."""
    topic = make_topic(partitions=2)
    create(mine, Wanted(shards=2, event_topics=[topic]))
    send(mine, topic, 10)
    send(mine, topic, 4, partition=1)
    return mine, topic


@pytest.mark.parametrize(
    ("at", "offsets"), [("start", [0, 0]), ("end", [10, 4]), ("7", [7, 4]), ("-3", [7, 1]), ("-1h", [0, 0])]
)
def test_groups_go_on_where_they_are_told(shared: tuple[Settings, str], at: str, offsets: list[int]) -> None:
    settings, topic = shared
    groups = [settings.names.group(1, shard) for shard in range(2)]
    decision = decide(settings, topic, Position.parse(at))
    assert [(move.group, move.partition, move.before, move.after) for move in decision.moves] == [
        (group, partition, None, offsets[partition]) for group in groups for partition in range(2)
    ]
    assert [committed(settings, group, topic, 2) for group in groups] == [[-1001, -1001]] * 2, "nothing is done yet"
    apply(settings, decision)
    assert [committed(settings, group, topic, 2) for group in groups] == [offsets, offsets]
    assert started(require_layout(settings)) == {(topic, 0): offsets[0], (topic, 1): offsets[1]}


def test_one_partition_may_go_on_elsewhere(shared: tuple[Settings, str]) -> None:
    settings, topic = shared
    apply(settings, decide(settings, topic, START))
    decision = decide(settings, topic, END, [1])
    assert [(move.partition, move.before, move.after) for move in decision.moves] == [(1, 0, 4)] * 2
    apply(settings, decision)
    assert committed(settings, settings.names.group(1, 1), topic, 2) == [0, 4]
    assert started(require_layout(settings)) == {(topic, 0): 0, (topic, 1): 4}
    with pytest.raises(MissingError, match="the partitions 0 to 1, and no 2"):
        decide(settings, topic, END, [2])


def test_nobody_is_moved_who_is_at_work(shared: tuple[Settings, str]) -> None:
    settings, topic = shared
    decision = decide(settings, topic, START)
    with member(settings, settings.names.group(1, 1), topic):
        with pytest.raises(ConflictError, match=r"Group .*\.1\.1 has members \(1\)"):
            decide(settings, topic, START)
        with pytest.raises(ConflictError, match="Did one of its brokers start meanwhile"):
            apply(settings, decision)
    assert soon(lambda: decide(settings, topic, START) is not None)


@contextlib.contextmanager
def member(settings: Settings, group: str, topic: str) -> Iterator[Consumer]:
    client = consumer(settings.kafka, group)

    def begin(client: Consumer, partitions: list[TopicPartition]) -> None:
        client.incremental_assign([TopicPartition(at.topic, at.partition, 0) for at in partitions])

    client.subscribe([topic], on_assign=begin)
    try:
        assert soon(lambda: client.poll(0.1) is not None or bool(client.assignment()))
        yield client
    finally:
        client.close()


def test_only_topics_of_the_layout_have_starts(shared: tuple[Settings, str], make_topic: Callable[..., str]) -> None:
    settings, _topic = shared
    with pytest.raises(MissingError, match="is no topic of layout 1"):
        decide(settings, make_topic(), START)
    with pytest.raises(InvalidError, match="always read from its beginning"):
        decide(settings, settings.names.subscriptions, END)


def test_notification_topics_are_made_as_configured_and_once(mine: Settings, admin: AdminClient) -> None:
    configured = mine.model_copy(update={"notifications": NotificationSettings(partitions=2, retention_days=0.5)})
    make(admin, mine.names.notifications("s007"))
    subscribers = [f"s{number:03}" for number in range(250)]
    made = ensure_notification_topics(admin, configured, [*subscribers, "s001"])
    assert made == [mine.names.notifications(subscriber) for subscriber in subscribers if subscriber != "s007"]
    assert ensure_notification_topics(admin, configured, subscribers) == []
    names = [mine.names.notifications("s000"), mine.names.notifications("s249")]
    facts = awaited_facts(admin, names)
    assert [facts[name].partitions for name in names] == [2, 2]
    assert [(facts[name].config or {})["retention.ms"] for name in names] == ["43200000"] * 2
    assert [(facts[name].config or {})["message.timestamp.type"] for name in names] == ["LogAppendTime"] * 2


def run(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "TAMIS_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
        "TAMIS_PREFIX": settings.prefix,
    }
    command = [sys.executable, "-m", "tamis.admin", "topics", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_command_makes_lists_checks_and_moves(mine: Settings) -> None:
    names = mine.names
    assert run(mine, "check").returncode == 1
    made = run(mine, "create", "-o", "json")
    assert made.returncode == 0
    assert {row["topic"]: row["result"] for row in json.loads(made.stdout)} == dict.fromkeys(
        (*names.own, names.events), "made"
    )
    again = run(mine, "create")
    assert (again.returncode, again.stderr) == (0, "All of it is there already.\n")
    assert run(mine, "create", "--shards", "2").returncode == 5
    assert run(mine, "add", names.prefix).returncode == 4
    assert run(mine, "list", "-o", "name").stdout.split() == [*names.own, names.events]
    assert run(mine, "check", "-q").returncode == 0
    asked = run(mine, "set-start", names.events, "--at", "start")
    assert asked.returncode == 2
    assert "say --yes" in asked.stderr
    assert run(mine, "set-start", names.events, "--at", "start", "--dry-run").returncode == 0
    assert committed(mine, names.group(1, 0), names.events, 1) == [-1001]
    moved = run(mine, "set-start", names.events, "--at", "start", "--yes", "-o", "ndjson")
    assert moved.returncode == 0
    assert [json.loads(line)["after"] for line in moved.stdout.splitlines()] == [0] * 4
    assert committed(mine, names.group(1, 0), names.events, 1) == [0]
