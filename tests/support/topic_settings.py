"""Topics with other settings than they were made with."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from processes import soon
from tamis.broker.kafka import AdminClient
from tamis.broker.topic_facts import topic_facts

COMPACTED_AT_ONCE = {
    "min.compaction.lag.ms": "0",
    "delete.retention.ms": "0",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "100",
}


def alter(admin: AdminClient, topic: str, values: Mapping[str, str], seconds: float = 10.0) -> None:
    """Brokers hear of it a moment later."""
    entries = [ConfigEntry(*value, incremental_operation=AlterConfigOpType.SET) for value in values.items()]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin.incremental_alter_configs([resource], request_timeout=seconds)[resource].result()


@contextmanager
def altered(admin: AdminClient, topic: str, values: Mapping[str, str]) -> Iterator[None]:
    """In force while this lasts; afterwards they are what they were."""

    def known() -> dict[str, str]:
        config = topic_facts(admin, [topic])[topic].config or {}
        return {name: config[name] for name in values}

    def change(values: Mapping[str, str]) -> None:
        alter(admin, topic, values)
        assert soon(lambda: known() == values)

    before = known()
    change(values)
    try:
        yield
    finally:
        change(before)
