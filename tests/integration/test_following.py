"""Reading on and on, on a real Kafka."""

from collections.abc import Callable
from contextlib import closing
from functools import partial

import pytest

from broker_cluster import Cluster
from processes import soon
from serving import SECONDS
from tamis.broker.following import Follower
from tamis.broker.reading import BEGINNING
from tamis.broker.stall_watch import StallWatch


def test_another_client_goes_on_where_one_has_stopped(
    make_brokered: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its place: nothing comes twice, of what was read and of what was not."""
    monkeypatch.setattr("tamis.broker.following.StallWatch", partial(StallWatch, seconds=0.5))
    cluster = make_brokered()
    topic = cluster.names.events
    told: list[tuple[int, bytes | None]] = []

    def has(count: int) -> bool:
        told.extend((message.partition() or 0, message.value()) for message in follower.poll(0.1, 100))
        return len(told) >= count

    def send(value: bytes, *partitions: int) -> None:
        for partition in partitions:
            cluster.send(topic, value, None, partition)
        cluster.flush()

    send(b"before", 0, 1)
    starts = {(topic, 0): BEGINNING, (topic, 1): 1, (topic, 2): BEGINNING}
    with closing(Follower(cluster.settings.kafka, starts)) as follower:
        assert soon(lambda: has(1), SECONDS)
        stopped = follower._client
        stopped.pause(stopped.assignment())
        send(b"after", 0, 1, 2)
        assert soon(lambda: has(4), SECONDS)
        assert follower._client is not stopped
        send(b"later", 2)
        assert soon(lambda: has(5), SECONDS)
        assert not has(6)
        assert follower.nexts == {(topic, 0): 2, (topic, 1): 2, (topic, 2): 2}
    assert sorted(told) == [(0, b"after"), (0, b"before"), (1, b"after"), (2, b"after"), (2, b"later")]
