"""A Tamis of its own on a shared Kafka: topics and a layout under a prefix that nothing else has."""

from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.kafka import AdminClient, NewTopic, producer
from tamis.codecs.layout import KEY, Layout
from tamis.indexes.limits import Limits

PARTITIONS = 4
_SECONDS = 15.0


@dataclass(frozen=True)
class Cluster:
    settings: Settings
    layout: Layout

    def write(self, topic: str, value: bytes | None, key: bytes | None = None, partition: int = -1) -> None:
        """One record, acknowledged."""
        client = producer(self.settings.kafka)
        client.produce(topic, value, key, partition)
        assert client.flush(_SECONDS) == 0


def made_cluster(settings: Settings, admin: AdminClient, prefix: str, limits: Limits) -> Cluster:
    """The topics that subscribers and publishers need, with one event topic of one partition."""
    settings = settings.model_copy(update={"prefix": prefix})
    names = settings.names
    compacted = {"cleanup.policy": "compact"}
    topics = [
        NewTopic(names.layout, 1, config=compacted),
        NewTopic(names.subscriptions, PARTITIONS, config=compacted),
        NewTopic(names.rejected, 1),
        NewTopic(names.undelivered, 1),
        NewTopic(names.events, 1),
    ]
    for future in admin.create_topics(topics).values():
        future.result()
    layout = Layout(1, 1, PARTITIONS, {names.subscriptions: "x", names.events: "y"}, limits)
    cluster = Cluster(settings, layout)
    cluster.write(names.layout, layout.encode(), KEY)
    return cluster


def remove_cluster(admin: AdminClient, prefix: str) -> None:
    """All that begins with the prefix."""
    topics = [topic for topic in admin.list_topics(timeout=_SECONDS).topics if topic.startswith(f"{prefix}.")]
    for future in admin.delete_topics(topics).values() if topics else ():
        future.result()
