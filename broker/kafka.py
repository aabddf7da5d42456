"""Kafka's clients, as Tamis uses them: the one module that imports the client library.

The settings here are what exactly-once delivery rests on, so they are no caller's to forget and no user's to change
(`configuration.PROTECTED`); for the rest, `KafkaSettings.extra` wins over everything.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
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
    "TOO_LARGE",
    "TOO_OLD",
    "TOPIC_FORBIDDEN",
    "TRANSACTION_SECONDS",
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
    "TopicCollection",
    "TopicPartition",
    "UserScramCredentialUpsertion",
    "admin_client",
    "consumer",
    "end_offsets",
    "headers_of",
    "is_end",
    "is_end_of_partition",
    "is_fatal",
    "learn_leaders",
    "offset_of",
    "place_of",
    "producer",
    "registered_schema",
    "registry_client",
]

PropertyValue = str | int | float | bool
Properties = Mapping[str, PropertyValue]
"""librdkafka's properties, under its own names."""

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
}
TRANSACTION_SECONDS = 10.0
"""For longer than this no transaction stays open: Kafka ends it."""
_TRANSACTIONS: dict[str, PropertyValue] = {
    "transaction.timeout.ms": round(TRANSACTION_SECONDS * 1000),
    "message.timeout.ms": 9_000,
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

# The client's own errors have no other names.
_END_OF_PARTITION = KafkaError._PARTITION_EOF  # noqa: SLF001
LOG_WENT_BACK = frozenset(
    {KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE}  # noqa: SLF001
)
"""What a reader is told whose records are gone."""
FENCED = frozenset({KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FENCED})  # noqa: SLF001
"""What a producer is told whose transactional id has a newer owner, or whose transaction took too long."""
_FATAL = KafkaError._FATAL  # noqa: SLF001
TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE})
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


def admin_client(settings: KafkaSettings, properties: Properties = _NONE) -> AdminClient:
    return _AdminClient(_merged(settings, properties), logger=_LOG)


def producer(settings: KafkaSettings, transactional_id: str | None = None, properties: Properties = _NONE) -> Producer:
    """An idempotent producer, transactional if it is given an id."""
    transactions = {} if transactional_id is None else _TRANSACTIONS | {"transactional.id": transactional_id}
    return Producer(_merged(settings, _PRODUCER, transactions, properties), logger=_LOG)


def consumer(settings: KafkaSettings, group: str, properties: Properties = _NONE) -> Consumer:
    """A consumer that sees committed data only, and starts where its owner says."""
    return Consumer(_merged(settings, _CONSUMER, {"group.id": group}, properties), logger=_LOG)


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


def end_offsets(admin: AdminClient, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """The high watermarks: whatever was acknowledged before is below. KafkaException if one cannot be told."""
    latest = {TopicPartition(topic, partition): LATEST for partition in partitions}
    futures = admin.list_offsets(
        latest, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=_ADMIN_SECONDS
    )
    try:
        return {place.partition: future.result().offset for place, future in futures.items()}
    except KafkaException:
        learn_leaders(admin, topic)
        raise


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
