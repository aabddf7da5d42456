"""A log of subscriptions as it may be met: compacted, with tombstones, markers, an aborted and an open transaction.

A broker that starts on it has to come to what is in force, and not before the open transaction is decided.
"""

import time
from collections.abc import Sequence

from broker_cluster import Cluster
from processes import soon
from tamis.broker.kafka import Producer, admin_client, producer
from tamis.broker.partitions import partition_of
from tamis.codecs.subscription import Subscription
from topic_settings import COMPACTED_AT_ONCE, altered

_SEGMENT_SECONDS = 0.2
_SECONDS = 60.0
_ROUNDS = 3
_EVERYTHING = "exists price"
"""What must not be in force: whatever comes back of it is noticed."""


def write_log(cluster: Cluster, subscribers: Sequence[str], standing: Sequence[Subscription]) -> Producer:
    """Leaves a transaction open, and returns its producer: `abort_transaction` is the caller's to call."""
    old = [Subscription(name, f"old-{number}", _EVERYTHING) for name in subscribers for number in range(5)]
    # Afterwards it is protected again, as Tamis wants it: what is compacted later would be missed by the oracle.
    with altered(admin_client(cluster.settings.kafka), cluster.names.subscriptions, COMPACTED_AT_ONCE):
        written = 0
        for _ in range(_ROUNDS):
            cluster.subscribe(*old, *(Subscription(each.subscriber, each.name, _EVERYTHING) for each in standing))
            written += len(old) + len(standing)
            time.sleep(_SEGMENT_SECONDS)  # the next record begins a new segment, and this one can be compacted
        _write(cluster, old, tombstones=True)
        cluster.subscribe(*standing)
        time.sleep(_SEGMENT_SECONDS)
        cluster.subscribe(*standing)
        assert soon(lambda: sum(1 for _ in cluster.content(cluster.names.subscriptions)) < written, _SECONDS), (
            "Kafka does not compact the log of subscriptions"
        )
    stranger = producer(cluster.settings.kafka, "stranger")
    stranger.init_transactions(_SECONDS)
    for name, ends in (("committed", stranger.commit_transaction), ("aborted", stranger.abort_transaction)):
        expression = "price = 1" if name == "committed" else _EVERYTHING
        stranger.begin_transaction()
        _send(cluster, stranger, [Subscription(subscriber, name, expression) for subscriber in subscribers])
        ends(_SECONDS)
    _write(cluster, old, tombstones=True)
    stranger.begin_transaction()
    _send(cluster, stranger, [Subscription(subscriber, "open", _EVERYTHING) for subscriber in subscribers])
    return stranger


def _write(cluster: Cluster, subscriptions: Sequence[Subscription], *, tombstones: bool) -> None:
    for each in subscriptions:
        home = partition_of(each.subscriber, cluster.layout.partitions)
        cluster.send(cluster.names.subscriptions, None if tombstones else each.encode(), each.key, home)
    cluster.flush()


def _send(cluster: Cluster, client: Producer, subscriptions: Sequence[Subscription]) -> None:
    for each in subscriptions:
        home = partition_of(each.subscriber, cluster.layout.partitions)
        client.produce(cluster.names.subscriptions, each.encode(), each.key, home)
    assert client.flush(_SECONDS) == 0
