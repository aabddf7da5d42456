"""What may be wrong with a Kafka and with the Tamis on it: `tamis doctor`.

It only looks, but for one thing: a transactional id of its own is initialised, since that is the only way to learn
whether transactions work. Nothing is written under it.
"""

import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version

from tamis.broker.configuration import Settings
from tamis.broker.doctor_findings import RIGHTS, Symptom, looked_at
from tamis.broker.errors import ConfigurationError
from tamis.broker.kafka import (
    TRANSACTION_SECONDS,
    AdminClient,
    ConfigResource,
    KafkaException,
    OffsetSpec,
    ResourceType,
    TopicPartition,
    admin_client,
    described,
    producer,
)
from tamis.broker.lag_ends import owners, places_of
from tamis.broker.layouts import read_layout, require_layout
from tamis.broker.redis import RedisError
from tamis.broker.snapshot_tools import listed
from tamis.broker.topic_checks import Finding, Status, check
from tamis.broker.topic_facts import node_ids
from tamis.broker.topic_plans import min_in_sync, replicas_for
from tamis.broker.transactions import is_forbidden
from tamis.codecs.layout import Layout

_CONNECT_SECONDS = 3.0
_SESSION_SECONDS_MAX = 45.0
"""Kafka's own default."""
_SKEW_SECONDS_MAX = 2.0
_SINCE_4_3 = "group.consumer.assignment.interval.ms"
_NEWEST: OffsetSpec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]


def kafka_symptoms(settings: Settings, seconds: float) -> Iterator[Symptom]:
    """Everything about Kafka; if it does not answer, that."""
    yield Symptom("client", "confluent-kafka", Status.OK, version("confluent-kafka"), "2.15 or newer")
    admin = admin_client(settings.kafka)
    try:
        brokers = admin.list_topics(timeout=seconds).brokers
    except KafkaException as error:
        yield Symptom(
            *("kafka", settings.kafka.bootstrap_servers, Status.FAIL, error.args[0].str(), "an answer"),
            "Is it running, and is this its address? --bootstrap-server, or kafka.bootstrap_servers; security in "
            "kafka.extra. --debug shows what the client tries.",
        )
        return
    yield Symptom("kafka", settings.kafka.bootstrap_servers, Status.OK, f"answers; brokers: {len(brokers)}")
    for broker in brokers.values():
        yield _listener(broker.id, str(broker.host), int(broker.port or 0))
    doctor = _Doctor(settings, admin, seconds)
    yield from looked_at("kafka", doctor.server_settings)
    yield from looked_at("kafka", doctor.transactions)
    yield from looked_at("topics", doctor.topics)
    yield from looked_at("rights", doctor.rights)
    yield from looked_at("groups", doctor.groups)
    yield from looked_at("clocks", doctor.clocks)
    yield from looked_at("snapshots", doctor.snapshots)


def _listener(number: int, host: str, port: int) -> Symptom:
    """What a broker calls itself is where clients go, whatever they were told first."""
    about, address = f"broker {number}", f"advertised as {host}:{port}"
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError as error:
        return Symptom(
            *("kafka", about, Status.FAIL, f"{address}: {error}", "reachable from here"),
            "Set advertised.listeners of this broker to an address that its clients reach.",
        )
    return Symptom("kafka", about, Status.OK, address)


@dataclass(frozen=True, slots=True)
class _Least:
    """A setting of Kafka's servers that is to be at least so much."""

    name: str
    value: int
    why: str


class _Doctor:
    """Looks at one area after the other."""

    def __init__(self, settings: Settings, admin: AdminClient, seconds: float) -> None:
        self._settings = settings
        self._admin = admin
        self._seconds = seconds
        self._layout: Layout | None = None

    def server_settings(self) -> Iterator[Symptom]:
        nodes = node_ids(self._admin)
        config = self._server_config(nodes[0])
        yield from _version(config)
        yield from _session(config)
        yield _open_transactions(config)
        replicas = replicas_for(len(nodes))
        for least in (
            _Least("offsets.topic.replication.factor", replicas, "where groups stand"),
            _Least("transaction.state.log.replication.factor", replicas, "what became of transactions"),
            _Least("transaction.state.log.min.isr", min_in_sync(replicas), "what became of transactions"),
        ):
            found = int(config.get(least.name) or least.value)
            is_enough = found >= least.value
            yield Symptom(
                *("kafka", least.name, Status.OK if is_enough else Status.WARN, str(found), f"{least.value} or more"),
                ""
                if is_enough
                else f"One broker's loss may stop Tamis: it is {least.why}. Raise it, also of the topic.",
            )
        for name, harm in (
            ("unclean.leader.election.enable", "acknowledged subscriptions and events may be lost"),
            ("auto.create.topics.enable", "a misspelt or deleted topic is made with settings that nobody chose"),
        ):
            is_on = config.get(name) == "true"
            yield Symptom(
                *("kafka", name, Status.WARN if is_on else Status.OK, config.get(name, ""), "false"),
                f"With it {harm}: set it to false." if is_on else "",
            )

    def transactions(self) -> Iterator[Symptom]:
        name = f"{self._settings.prefix}.doctor"
        try:
            producer(self._settings.kafka, name).init_transactions(self._seconds)
        except KafkaException as error:
            forbidden = is_forbidden(error.args[0])
            yield Symptom(
                *("kafka", "transactions", Status.FAIL, error.args[0].str(), "they begin"),
                RIGHTS if forbidden else "Is the topic __transaction_state whole? It needs its minimum of replicas.",
            )
        else:
            yield Symptom("kafka", "transactions", Status.OK, f"they begin, as {name}")

    def topics(self) -> Iterator[Symptom]:
        there = self._admin.list_topics(timeout=self._seconds).topics
        self._layout = read_layout(self._settings) if self._settings.names.layout in there else None
        found = check(self._admin, self._settings, self._layout)
        yield from (_of_topic(finding) for finding in found if finding.status is not Status.OK or not finding.topic)
        good = sum(finding.status is Status.OK for finding in found)
        yield Symptom(
            "topics", "checks", Status.OK, f"{good} of {len(found)} are as they should be", "tamis topics check"
        )

    def rights(self) -> Iterator[Symptom]:
        """What Kafka lets this user do, where it says so."""
        names = self._settings.names
        wanted = {name: {"READ", "WRITE", "DESCRIBE"} for name in names.own}
        wanted |= {topic: {"READ", "DESCRIBE"} for topic in self._event_topics()}
        for topic, told in described(self._admin, wanted, self._seconds, rights=True):
            if not isinstance(told, KafkaException):
                yield from _missing(f"topic {topic}", wanted[topic], told.authorized_operations)
            elif is_forbidden(told.args[0]):
                yield _forbidden(f"topic {topic}", wanted[topic])
        for group in self._groups():
            future = self._admin.describe_consumer_groups(
                [group], include_authorized_operations=True, request_timeout=self._seconds
            )[group]
            try:
                allowed = future.result().authorized_operations
            except KafkaException as error:
                if is_forbidden(error.args[0]):
                    yield _forbidden(f"group {group}", {"READ", "DESCRIBE"})
                continue
            yield from _missing(f"group {group}", {"READ", "DESCRIBE"}, allowed)

    def groups(self) -> Iterator[Symptom]:
        """Whether somebody moves each partition."""
        places = set(places_of(self._admin, self._event_topics(), self._seconds))
        groups = self._groups()
        owned = owners(self._admin, groups, self._seconds) if groups else {}
        for shard, group in enumerate(groups):
            idle = sorted(places - owned[group].keys())
            members = len({owner.member for owner in owned[group].values()})
            if not idle:
                yield Symptom("groups", group, Status.OK, f"processes: {members}, partitions: {len(places)}")
                continue
            told = "no broker runs" if members == 0 else f"nobody has {idle[0][0]} [{idle[0][1]}]"
            yield Symptom(
                *("groups", group, Status.WARN, told, "an owner for each partition"),
                f"Start one: tamis broker --shard {shard}. After a crash the group's session has to end first.",
            )

    def snapshots(self) -> Iterator[Symptom]:
        """Never worse than a warning: without one a start takes longer, and nothing else changes."""
        if not self._settings.snapshots.enabled:
            yield Symptom(
                "snapshots", "snapshots.enabled", Status.OK, "off: brokers read all subscriptions at their start"
            )
            return
        layout = require_layout(self._settings)
        try:
            found = listed(self._settings)
        except (RedisError, ConfigurationError):
            return  # what is wrong with it is told with what else is said of Redis
        for shard in range(layout.shards):
            about = f"shard {shard}"
            newest = next((each for each in found if each.shard == shard), None)
            if newest is None:
                fix = "Brokers keep one by themselves, as soon as something changes; tamis snapshot save does it now."
                yield Symptom(
                    "snapshots", about, Status.WARN, "there is none: a start reads all subscriptions", fix=fix
                )
            elif newest.faults or newest.generation is None or newest.age is None:
                yield Symptom(
                    *("snapshots", about, Status.WARN, f"the newest one is of no use: {newest.faults[0]}"),
                    fix="tamis snapshot save makes a new one.",
                )
            else:
                told = f"{newest.generation.subscriptions:,} subscriptions, {newest.age / 3600:.1f} hours old"
                yield Symptom("snapshots", about, Status.OK, told)

    def clocks(self) -> Iterator[Symptom]:
        """Kafka does not tell its time; but a record from the future tells that somebody's clock is wrong."""
        names = self._settings.names
        there = self._admin.list_topics(timeout=self._seconds).topics
        topics = [topic for topic in (*self._event_topics(), names.views, names.subscriptions) if topic in there]
        places = {TopicPartition(*place): _NEWEST for place in places_of(self._admin, topics, self._seconds)}
        newest: dict[str, int] = {}
        futures = self._admin.list_offsets(places, request_timeout=self._seconds) if places else {}
        for place, future in futures.items():
            try:
                newest[place.topic] = max(newest.get(place.topic, -1), future.result().timestamp)
            except KafkaException:
                continue
        now = time.time()
        for topic, stamp in newest.items():
            if stamp < 0:
                continue
            ahead = stamp / 1000 - now
            if ahead > _SKEW_SECONDS_MAX:
                yield Symptom(
                    *(
                        "clocks",
                        topic,
                        Status.WARN,
                        f"its newest record is {ahead:.1f} s ahead of this clock",
                        "the past",
                    ),
                    "Let NTP set the clock here, and those of whoever writes it.",
                )
            else:
                yield Symptom("clocks", topic, Status.OK, f"its newest record is {max(0, -ahead):.0f} s old")

    def _event_topics(self) -> list[str]:
        if self._layout is None:
            return []
        return sorted(topic for topic in self._layout.topics if topic != self._settings.names.subscriptions)

    def _groups(self) -> list[str]:
        if self._layout is None:
            return []
        return [self._settings.names.group(self._layout.number, shard) for shard in range(self._layout.shards)]

    def _server_config(self, node: int) -> Mapping[str, str]:
        resource = ConfigResource(ResourceType.BROKER, str(node))
        found = self._admin.describe_configs([resource], request_timeout=self._seconds)[resource].result()
        return {name: entry.value or "" for name, entry in found.items()}


def _version(config: Mapping[str, str]) -> Iterator[Symptom]:
    """Kafka does not tell it; but a newer one has more settings."""
    if _SINCE_4_3 in config:
        yield Symptom(
            *("kafka", "version", Status.WARN, "4.3.0 or newer", "4.0 to 4.2, or one in which KAFKA-20734 is mended"),
            "4.3.0 and 4.3.1 may lose what was committed to a partition whose leader has just gone (docs/broker.md). "
            "Use Kafka 4.2, or ask whoever runs it whether this one is mended.",
        )


def _session(config: Mapping[str, str]) -> Iterator[Symptom]:
    name = "group.consumer.session.timeout.ms"
    if not config.get(name):
        return
    seconds = int(config[name]) / 1000
    is_long = seconds > _SESSION_SECONDS_MAX
    yield Symptom(
        *("kafka", name, Status.WARN if is_long else Status.OK),
        f"{seconds:g} s: so long after a crash partitions stand still",
        f"{_SESSION_SECONDS_MAX:g} s or less",
        "Lower it on Kafka's brokers, to 10 s for example." if is_long else "",
    )


def _open_transactions(config: Mapping[str, str]) -> Symptom:
    name = "transaction.max.timeout.ms"
    most = int(config.get(name) or "900000") / 1000
    scan = int(config.get("transaction.abort.timed.out.transaction.cleanup.interval.ms") or "10000") / 1000
    if most < TRANSACTION_SECONDS:
        return Symptom(
            *("kafka", name, Status.FAIL, f"{most:g} s", f"{TRANSACTION_SECONDS:g} s or more"),
            "Raise it on Kafka's brokers: no broker of Tamis can start.",
        )
    told = f"what a crash leaves open ends after {TRANSACTION_SECONDS:g} to {TRANSACTION_SECONDS + scan:g} s"
    return Symptom("kafka", name, Status.OK, f"{most:g} s; {told}", f"{TRANSACTION_SECONDS:g} s or more")


def _of_topic(finding: Finding) -> Symptom:
    about = f"{finding.topic} {finding.about}".strip()
    return Symptom("topics", about, finding.status, finding.found or "not set", finding.wanted, finding.fix)


def _missing(about: str, wanted: set[str], allowed: object) -> Iterator[Symptom]:
    if not isinstance(allowed, list | tuple | set):
        return  # this Kafka does not say
    names = {operation.name for operation in allowed}
    lacking = sorted(wanted - names)
    if lacking:
        yield Symptom("rights", about, Status.FAIL, f"no {', '.join(lacking)}", ", ".join(sorted(wanted)), RIGHTS)
    else:
        yield Symptom("rights", about, Status.OK, ", ".join(sorted(wanted)))


def _forbidden(about: str, wanted: set[str]) -> Symptom:
    return Symptom("rights", about, Status.FAIL, "not even to be seen", ", ".join(sorted(wanted)), RIGHTS)
