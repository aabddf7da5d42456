"""Kafka's clients, as Tamis uses them: the one module that imports the client library.

The settings here are what exactly-once delivery rests on, so they are no caller's to forget and no user's to change
(`configuration.PROTECTED`); for the rest, `KafkaSettings.extra` wins over everything.
"""

import ctypes
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Node,
    Producer,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka.admin import (
    AclOperation,
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    TopicDescription,
    UserScramCredentialUpsertion,
)

from tamis.broker.configuration import KafkaSettings, RegistrySettings

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

__all__ = [
    "EARLIEST",
    "FENCED",
    "FORBIDDEN",
    "LATEST",
    "LOG_WENT_BACK",
    "NOT_FETCHING",
    "REFUSED",
    "TIMED_OUT",
    "TOO_LARGE",
    "TOO_OLD",
    "TOPIC_FORBIDDEN",
    "TRANSACTION_SECONDS",
    "UNKNOWN_PARTITION",
    "UNSETTLED",
    "AdminClient",
    "ConfigResource",
    "Consumer",
    "ConsumerGroupTopicPartitions",
    "IsolationLevel",
    "KafkaError",
    "KafkaException",
    "Message",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "Producer",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanism",
    "TopicDescription",
    "TopicPartition",
    "UserScramCredentialUpsertion",
    "admin_client",
    "called",
    "can_write",
    "consumer",
    "described",
    "end_offsets",
    "headers_of",
    "is_end",
    "is_end_of_partition",
    "is_fatal",
    "is_impaired",
    "leader_epoch_of",
    "learn_leaders",
    "offset_of",
    "place_of",
    "producer",
    "reader",
    "registered_schema",
    "registry_client",
]

PropertyValue = str | int | float | bool
Properties = Mapping[str, PropertyValue]
"""librdkafka's properties, under its own names."""
Failed = Callable[[KafkaError, Message], None]
Answer = TypeVar("Answer")

_LOG = logging.getLogger(__name__)
_NONE: Properties = MappingProxyType({})

_PRODUCER: Properties = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 5,
    "compression.type": "lz4",
    "batch.size": 1_000_000,
    # A transaction that begins within 3 ms of the last one's commit meets CONCURRENT_TRANSACTIONS and waits this long.
    "retry.backoff.ms": 1,
    "retry.backoff.max.ms": 1000,
    "reconnect.backoff.max.ms": 500,
    # A subscriber's topic that was deleted stays so, on clusters too that make whatever is asked for.
    "allow.auto.create.topics": False,
}
TRANSACTION_SECONDS = 10.0
"""For longer than this no transaction stays open: Kafka ends it."""
_TRANSACTIONS: dict[str, PropertyValue] = {
    "transaction.timeout.ms": round(TRANSACTION_SECONDS * 1000),
    "message.timeout.ms": 9_000,
    # A topic may take more than a client sends by default, and what one does not take must not be lost on the way.
    "message.max.bytes": 64 << 20,
    # Offsets that are sent when the group's coordinator has gone wait, beyond any timeout, until the state of some
    # connection changes. One that is closed for being idle is such a change; and a client that does not begin again
    # with its first addresses does not take those it knows for gone.
    "connections.max.idle.ms": 4_000,
    "metadata.recovery.strategy": "none",
}
_CONSUMER: Properties = {
    "group.protocol": "consumer",  # KIP-848: heals by itself where the classic protocols can leave partitions unread
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    # Where to start is never the client's choice: during a rebalance it would take this for a missing offset.
    "auto.offset.reset": "error",
    "fetch.queue.backoff.ms": 5,
}
_READER: Properties = {
    # So late Kafka says that nothing more is there; and where one of several partitions is asked for first and has
    # nothing, so late the others are. By default it is half a second.
    "fetch.wait.max.ms": 100,
}
_KEEPS_IDS = version("confluent-kafka") in ("2.15.0", "2.15.1", "2.16.0", "2.16.1")
"""These versions count a reference too many to each topic id of a description, and so keep it for ever: a hundred
bytes, and a broker asks five times a second whether its topics are still the same. A test tells if another one does
(docs/decisions/010-topic-ids.md)."""
_OWN_DESCRIPTION = TopicDescription("", Uuid(0, 1), is_internal=False, partitions=[])
"""Made here, and so with the right count."""

# The client's own errors have no other names.
_END_OF_PARTITION = KafkaError._PARTITION_EOF  # noqa: SLF001
LOG_WENT_BACK = frozenset(
    {KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE}  # noqa: SLF001
)
"""What a reader is told whose records are gone."""
NOT_FETCHING = frozenset({KafkaError._STATE, KafkaError._PREV_IN_PROGRESS})  # noqa: SLF001
"""What a consumer says of a partition that it has not begun yet, or is about to leave."""
FENCED = frozenset({KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FENCED})  # noqa: SLF001
"""What a producer is told whose transactional id has a newer owner, or whose transaction took too long."""
_FATAL = KafkaError._FATAL  # noqa: SLF001
TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
REFUSED = frozenset(
    {
        *(KafkaError.INVALID_RECORD, KafkaError.POLICY_VIOLATION, KafkaError.INVALID_TIMESTAMP),
        *(KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT, KafkaError.TOPIC_EXCEPTION),
    }
)
"""What a topic says of a record that it takes at no time."""
UNSETTLED = frozenset(
    {
        *(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.REPLICA_NOT_AVAILABLE),
        *(KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.OFFSET_NOT_AVAILABLE),
        *(KafkaError.NOT_CONTROLLER, KafkaError.BROKER_NOT_AVAILABLE, KafkaError.STALE_CTRL_EPOCH),
        *(KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR),
        *(KafkaError.REQUEST_TIMED_OUT, KafkaError.NETWORK_EXCEPTION, KafkaError.THROTTLING_QUOTA_EXCEEDED),
        *(KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN),  # noqa: SLF001
        *(KafkaError._WAIT_COORD, KafkaError._RESOLVE),  # noqa: SLF001
    }
)
"""What an admin client is told that may be otherwise a moment later; `KafkaError.retriable` is about transactions."""
UNKNOWN_PARTITION = frozenset({KafkaError._UNKNOWN_PARTITION})  # noqa: SLF001
"""What a producer says of a topic that has fewer partitions than somebody thought."""
TIMED_OUT = frozenset({KafkaError._MSG_TIMED_OUT})  # noqa: SLF001
TOO_OLD = frozenset({KafkaError.UNSUPPORTED_VERSION, KafkaError._UNSUPPORTED_FEATURE})  # noqa: SLF001
FORBIDDEN = frozenset(
    {
        *(KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        *(KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.SASL_AUTHENTICATION_FAILED),
        KafkaError._AUTHENTICATION,  # noqa: SLF001
    }
)
"""What no waiting mends, whoever asks. A topic's own authorization is not among them: one topic may be another's."""
TOPIC_FORBIDDEN = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED})
_ADMIN_SECONDS = 10.0
_KNOWN_SECONDS = 1.0
"""For what spares a client half a second."""
EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]

_REGISTRY: Properties = {"timeout": 10, "max.retries": 3}
_NO_SUCH_SCHEMA = 40403


class _AdminClient(AdminClient):
    """Knows its servers before it asks for offsets.

    One that does not looks for the partitions' leaders again after 3 s; that is how long about every tenth new client
    would take for its first answer.
    """

    _is_informed = False

    def list_offsets(  # type: ignore[override]  # the stubs' base has another one of this name
        self, topic_partition_offsets: dict[TopicPartition, OffsetSpec], **options: Any
    ) -> dict[TopicPartition, Any]:
        if not self._is_informed:
            with suppress(KafkaException):  # the question itself will tell
                self.list_topics(timeout=options.get("request_timeout", _ADMIN_SECONDS))
                self._is_informed = True
        return super().list_offsets(topic_partition_offsets, **options)


class _Reader(Consumer):
    """Knows its servers before it asks where partitions begin or end.

    One that does not looks for their leaders again after half a second. But one that does, and is to go on at an
    offset, takes it for right: the epoch that is given with it is compared where a leader becomes known after that.
    """

    def assign(self, partitions: list[TopicPartition]) -> None:
        if all(place.offset < 0 for place in partitions):
            with suppress(KafkaException):  # whoever reads is told
                for topic in {place.topic for place in partitions}:
                    self.list_topics(topic, timeout=_KNOWN_SECONDS)
        super().assign(partitions)


def admin_client(settings: KafkaSettings, properties: Properties = _NONE) -> AdminClient:
    return _AdminClient(_merged(settings, properties), logger=_LOG)


def producer(
    settings: KafkaSettings,
    transactional_id: str | None = None,
    properties: Properties = _NONE,
    failed: Failed | None = None,
) -> Producer:
    """An idempotent producer, transactional if it is given an id. `failed` is told of what Kafka has not taken."""
    transactions = {} if transactional_id is None else _TRANSACTIONS | {"transactional.id": transactional_id}
    told = {} if failed is None else {"delivery.report.only.error": True, "on_delivery": failed}
    return Producer(_merged(settings, _PRODUCER, transactions, properties) | told, logger=_LOG)


def consumer(settings: KafkaSettings, group: str, properties: Properties = _NONE) -> Consumer:
    """A consumer that sees committed data only, and starts where its owner says."""
    return Consumer(_merged(settings, _CONSUMER, {"group.id": group}, properties), logger=_LOG)


def reader(settings: KafkaSettings, topic: str, properties: Properties = _NONE) -> Consumer:
    """A consumer for whoever joins no group, commits nothing, and is given partitions of this topic.

    The client names a group all the same, and fails where it may not describe that one. So it is called as the topic:
    whoever has rights for names that begin with a prefix, or for one subscriber's, needs no others for it.
    """
    return _Reader(_merged(settings, _CONSUMER, _READER, {"group.id": topic}, properties), logger=_LOG)


def called(operation: Callable[..., Answer], *arguments: object) -> Answer:
    """A call of a client that has to tell somebody of deliveries. KafkaException, also where that failed of itself.

    A fatal error is raised by the client in the midst of what else it calls, which then fails in a way of its own, or
    makes it drop the error. Then it is called again: what is wrong is told by that, or by whatever is called next.
    """
    try:
        return operation(*arguments)
    except SystemError as error:
        if error.__cause__ is None:
            return operation(*arguments)
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KafkaException):
            cause = cause.__cause__
        if cause is None:
            raise
        raise cause from None


def is_end(message: Message) -> bool:
    """Whether it is no record, but says that its partition has nothing more just now. Other errors are raised."""
    error = message.error()
    if error is None:
        return False
    if is_end_of_partition(error):
        return True
    raise KafkaException(error)


def is_fatal(error: KafkaError) -> bool:
    """Whether the client that says so is of no more use."""
    return error.fatal() or error.code() == _FATAL


def is_end_of_partition(error: KafkaError) -> bool:
    return error.code() == _END_OF_PARTITION


def can_write(topic: TopicDescription) -> bool:
    """By what Kafka was asked to tell of it; where it has no ACLs, anyone can."""
    allowed: Any = topic.authorized_operations
    return allowed is None or AclOperation.WRITE in allowed or AclOperation.ALL in allowed


def is_impaired(topic: TopicDescription) -> bool:
    """Whether a partition of it is nobody's just now, or a replica of one is behind."""
    leaders: list[Node | None] = [partition.leader for partition in topic.partitions]
    return any(leader is None or leader.id < 0 for leader in leaders) or any(
        len(partition.isr) < len(partition.replicas) for partition in topic.partitions
    )


def end_offsets(admin: AdminClient, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """The high watermarks: whatever was acknowledged before is below. KafkaException if one cannot be told."""
    return _listed(admin, topic, partitions, LATEST)


def first_offsets(admin: AdminClient, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """Where partitions begin. KafkaException if one cannot be told."""
    return _listed(admin, topic, partitions, EARLIEST)


def _listed(admin: AdminClient, topic: str, partitions: Iterable[int], which: OffsetSpec) -> dict[int, int]:
    asked = {TopicPartition(topic, partition): which for partition in partitions}
    futures = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=_ADMIN_SECONDS)
    try:
        found = {place.partition: future.result().offset for place, future in futures.items()}
    except KafkaException:
        learn_leaders(admin, topic)
        raise
    # A leader that is new, and does not know yet, says so by a number that is no offset, and without an error.
    if min(found.values(), default=0) < 0:
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE, "a leader does not know its log yet"))
    return found


def described(
    admin: AdminClient, names: Iterable[str], seconds: float, *, rights: bool = False
) -> Iterator[tuple[str, TopicDescription | KafkaException]]:
    """Each topic with its description, and with what the user may do there, if that is asked; or why there is none."""
    asked = TopicCollection(list(names))
    futures = admin.describe_topics(asked, include_authorized_operations=rights, request_timeout=seconds)
    for name, future in futures.items():
        try:
            description = future.result()
        except KafkaException as error:
            yield name, error
            continue
        if _KEEPS_IDS and _references_to_id(description) == _references_to_id(_OWN_DESCRIPTION) + 1:
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(description.topic_id))
        yield name, description


def _references_to_id(description: TopicDescription) -> int:
    return sys.getrefcount(description.topic_id)


def learn_leaders(admin: AdminClient, topic: str) -> None:
    """Of partitions whose offsets were refused: by itself the client would ask in the same way for minutes.

    A leader that was killed and came back has a new epoch, and refuses whoever knows the old one only.
    """
    with suppress(KafkaException):  # whoever asks for offsets again is told
        admin.list_topics(topic, timeout=_ADMIN_SECONDS)


def place_of(message: Message) -> tuple[str, int]:
    """Topic and partition. An error that is about none is raised."""
    topic, partition = message.topic(), message.partition()
    if topic is None or partition is None:
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        raise ValueError("a message that was not received has no place")
    return topic, partition


def offset_of(message: Message) -> int:
    offset = message.offset()
    if offset is None:
        raise ValueError("a message that was not received has no offset")
    return offset


def leader_epoch_of(message: Message) -> int:
    """Which of its partition's leaders, by their order, took it; -1 if Kafka does not tell."""
    epoch = message.leader_epoch()
    return -1 if epoch is None else epoch


def headers_of(message: Message) -> list[tuple[str, bytes]]:
    """Those that have a value; a name may come twice."""
    found: Any = message.headers() or []
    return [(name, value) for name, value in found if value is not None]


def registry_client(settings: RegistrySettings) -> "SchemaRegistryClient":
    """The extra `registry` has what it needs; it is imported here because not everyone does."""
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return SchemaRegistryClient({"url": settings.url, **_REGISTRY, **settings.extra})


def registered_schema(client: "SchemaRegistryClient", schema_id: int) -> "Schema | None":
    """None if the registry says that it has none. What else goes wrong is raised."""
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    try:
        return client.get_schema(schema_id)
    except SchemaRegistryError as error:
        if error.error_code == _NO_SUCH_SCHEMA:
            return None
        raise


def _merged(settings: KafkaSettings, *layers: Properties) -> dict[str, PropertyValue]:
    """Later layers win, and what the user configured wins over all of them."""
    merged: dict[str, PropertyValue] = {"bootstrap.servers": settings.bootstrap_servers}
    for layer in (*layers, settings.extra):
        merged.update(layer)
    return merged
