"""The topics of a local stack's Tamis, and its layout."""

from tamis.broker.configuration import Settings
from tamis.broker.kafka import NewTopic, admin_client, producer, topic_ids
from tamis.codecs.layout import KEY, Layout, Start
from tamis.indexes.limits import Limits


def make_topics(settings: Settings) -> Layout:
    names = settings.names
    events = tuple(settings.events) or (names.events,)
    admin = admin_client(settings.kafka)
    compacted = {"cleanup.policy": "compact", "min.compaction.lag.ms": "604800000"}
    topics = [
        NewTopic(names.layout, 1, config=compacted),
        NewTopic(names.subscriptions, 16, config=compacted),
        *(NewTopic(topic, 4) for topic in events),
        *(NewTopic(name, 1) for name in (names.views, names.rejected, names.undelivered)),
    ]
    for future in admin.create_topics(topics).values():
        future.result()
    ids = topic_ids(admin, [names.subscriptions, *events])
    layout = Layout(1, 1, 16, ids, Limits(), [Start(topic, number, 0) for topic in events for number in range(4)])
    client = producer(settings.kafka)
    client.produce(names.layout, layout.encode(), KEY)
    client.flush()
    return layout
