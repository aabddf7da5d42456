"""Where notifications are that a reader did not get: what there is to tell of a loss while its Kafka still runs."""

from collections import defaultdict
from collections.abc import Iterable

from broker_cluster import Cluster
from oracle import Delivery
from tamis.broker.kafka import TopicPartition, headers_of, offset_of, place_of
from tamis.broker.reading import BEGINNING, partitions_of, records
from tamis.codecs.headers import ID, VIEW
from tamis.codecs.notification import Notification

_ISOLATIONS = ("read_committed", "read_uncommitted")
_TOLD_MAX = 100


def whereabouts(cluster: Cluster, lost: Iterable[Delivery]) -> dict[str, list[dict[str, object]]]:
    """By subscriber: of each event that it has lost, at which offsets of its topic a new reader finds it.

    What only a reader of uncommitted data finds was aborted; what no reader finds was never written, or is gone; what
    all find was passed over by the one that was there all the time.
    """
    wanted: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for subscriber, partition, offset in lost:
        wanted[subscriber].append((partition, offset))
    return {subscriber: _found(cluster, subscriber, events[:_TOLD_MAX]) for subscriber, events in wanted.items()}


def _found(cluster: Cluster, subscriber: str, events: Iterable[tuple[int, int]]) -> list[dict[str, object]]:
    told: dict[tuple[int, int], dict[str, object]] = {event: {"event": event} for event in events}
    topic = cluster.names.notifications(subscriber)
    for isolation in _ISOLATIONS:
        extra = cluster.settings.kafka.extra | {"isolation.level": isolation}
        settings = cluster.settings.kafka.model_copy(update={"extra": extra})
        starts = [TopicPartition(topic, number, BEGINNING) for number in partitions_of(settings, topic)]
        for record in records(settings, starts):
            notification = Notification.decode(record.value() or b"")
            event = notification.partition, notification.offset
            if event in told:
                headers = dict(headers_of(record))
                places = told[event].setdefault(isolation, [])
                assert isinstance(places, list)
                places.append((place_of(record)[1], offset_of(record), headers[ID].decode(), headers[VIEW].decode()))
    return list(told.values())
