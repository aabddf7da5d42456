"""Which topics are to blame for a transaction that failed, and for how long: what a real Kafka does too seldom."""

import time
from collections.abc import Callable, Iterable

import pytest

from tamis.broker import outlets
from tamis.broker.configuration import KafkaSettings, Settings
from tamis.broker.errors import MissingError
from tamis.broker.kafka import KafkaError, KafkaException
from tamis.broker.outlets import Outlet, Outlets
from tamis.broker.transactions import RebuildError
from tamis.codecs.undelivered import Obstacle

SETTINGS = Settings(kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"))
TOPIC = SETTINGS.names.notifications
Make = Callable[[], tuple[Outlets, list[Outlet]]]
TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT)


class Cluster:
    """What Kafka says of topics."""

    def __init__(self) -> None:
        self.topics = dict.fromkeys(map(TOPIC, ("ann", "bob")), 1)
        self.obstacles: dict[str, Obstacle] = {}
        self.is_silent = False
        self.bytes_max: int | None = None
        self.questions = 0
        """How often that was asked for."""
        self.refusals: dict[str, KafkaError] = {}
        """To make topics, by subscriber."""
        self.made_by_others: dict[str, int] = {}
        """As soon as somebody else is to make any."""
        self.asked_for: list[str] = []
        """Whose topics were to be made."""
        self.now = time.monotonic()

    def found(self, _admin: object, topics: Iterable[str]) -> dict[str, Obstacle]:
        if self.is_silent:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return {topic: self.obstacles[topic] for topic in topics if topic in self.obstacles}

    def bounds(self, _admin: object, topics: Iterable[str]) -> dict[str, int]:
        self.questions += 1
        return {} if self.bytes_max is None else dict.fromkeys(topics, self.bytes_max)

    def create(
        self, _admin: object, _settings: object, subscribers: list[str], _seconds: float = 0.0
    ) -> dict[str, KafkaError | None]:
        self.asked_for += subscribers
        self.topics |= self.made_by_others
        return {name: self.refusals.get(name) for name in subscribers}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster()
    monkeypatch.setattr(outlets, "obstacles", cluster.found)
    monkeypatch.setattr(outlets, "bytes_max", cluster.bounds)
    monkeypatch.setattr(outlets, "create_notification_topics", cluster.create)
    monkeypatch.setattr(time, "monotonic", lambda: cluster.now)
    prefix = TOPIC("")
    monkeypatch.setattr(
        Outlets, "_partitions", lambda _: {topic.removeprefix(prefix): count for topic, count in cluster.topics.items()}
    )
    return cluster


@pytest.fixture
def make(cluster: Cluster) -> Make:  # noqa: ARG001 - it is to be there first
    def made() -> tuple[Outlets, list[Outlet]]:
        found = Outlets(SETTINGS, tuple)
        return found, found.prepare(["ann", "bob"])

    return made


@pytest.mark.parametrize("obstacle", [Obstacle.MISSING, Obstacle.FORBIDDEN])
def test_a_topic_that_cannot_be_written_to_is_suspended_and_looked_at_ever_later(
    cluster: Cluster, make: Make, obstacle: Obstacle
) -> None:
    mine, (ann, bob) = make()
    cluster.obstacles[ann.topic] = obstacle
    assert mine.blame([ann, bob], {})
    assert ann.suspension is not None
    assert ann.suspension.obstacle is obstacle
    assert bob.suspension is None
    assert list(mine.suspended) == ["ann"]
    assert not mine.blame([ann, bob], {})  # it is known
    looked: list[float] = []
    began = cluster.now
    for _ in range(200):
        before = ann.suspension.look_at
        mine.look()
        if ann.suspension.look_at != before:
            looked.append(round(cluster.now - began))
        cluster.now += 1
    assert looked == [2, 6, 14, 30, 62, 122, 182]


def test_what_can_be_written_to_again_is_resumed_as_the_topic_is_now(cluster: Cluster, make: Make) -> None:
    mine, (ann, _) = make()
    cluster.obstacles[ann.topic] = Obstacle.MISSING
    mine.blame([ann], {})
    cluster.now += 3
    cluster.is_silent = True
    mine.look()
    assert ann.suspension is not None
    cluster.is_silent = False
    cluster.obstacles.clear()
    cluster.topics[ann.topic] = 5
    cluster.now += 10
    mine.look()
    assert not mine.suspended
    assert ann.partitions == 5


def test_one_that_fails_again_at_once_is_looked_at_later_than_before(cluster: Cluster, make: Make) -> None:
    mine, (ann, _) = make()
    pauses = []
    for took in (False, False, True, False):
        if took:
            mine.took([ann])
        mine.blame([ann], {ann.topic: KafkaError(KafkaError.INVALID_RECORD)})
        assert ann.suspension is not None
        assert ann.suspension.obstacle is Obstacle.REFUSED
        pauses.append(ann.suspension.pause)
        cluster.now += 100
        mine.look()
        assert ann.suspension is None
    assert pauses == [2, 4, 2, 4]


def test_a_slow_kafka_is_no_topics_fault(cluster: Cluster, make: Make) -> None:
    mine, (ann, bob) = make()
    failures = {ann.topic: TIMED_OUT, bob.topic: KafkaError(KafkaError._PURGE_QUEUE)}
    assert not any(mine.blame([ann, bob], failures) for _ in range(5))
    cluster.obstacles[ann.topic] = Obstacle.UNAVAILABLE
    assert not mine.blame([ann, bob], {})
    assert not mine.blame([ann, bob], failures)  # its leader may be about to be elected
    mine.took([ann])
    assert not mine.blame([ann, bob], failures)
    assert mine.blame([ann, bob], failures)
    assert list(mine.suspended) == ["ann"]


def test_a_topic_that_takes_less_is_known_by_how_much(cluster: Cluster, make: Make) -> None:
    mine, (ann, bob) = make()
    too_large = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    cluster.bytes_max = 5000
    assert mine.blame([ann], {ann.topic: too_large})
    assert (ann.bytes_max, ann.suspension) == (5000, None)
    assert mine.blame([ann], {ann.topic: too_large})  # what was counted falls short of what Kafka counts
    assert ann.bytes_max == 2500
    assert mine.blame([ann], {ann.topic: too_large})
    assert ann.bytes_max == 1250
    cluster.bytes_max = None
    assert mine.blame([bob], {bob.topic: too_large})
    assert bob.bytes_max == 1 << 20


def test_a_topic_that_is_to_take_more_does_within_a_minute(cluster: Cluster, make: Make) -> None:
    mine, (ann, _) = make()
    too_large = {ann.topic: KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)}
    cluster.bytes_max = 5000
    mine.blame([ann], too_large)
    mine.blame([ann], too_large)
    began, cluster.questions = cluster.now, 0
    while cluster.now < began + 150:
        mine.look()
        cluster.now += 1
    assert (ann.bytes_max, cluster.questions) == (2500, 2)
    cluster.bytes_max = 9000
    cluster.now += 60
    mine.look()
    assert ann.bytes_max == 9000


def test_where_nobody_tells_how_much_a_topic_takes_more_is_tried_until_all_is(cluster: Cluster, make: Make) -> None:
    mine, (ann, _) = make()
    mine.blame([ann], {ann.topic: KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)})
    bounds = []
    for _ in range(8):
        bounds.append(ann.bytes_max)
        cluster.now += 60
        mine.look()
    assert bounds == [1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20, None]


def test_a_topic_that_was_made_anew_with_fewer_partitions_is_used_as_it_is(cluster: Cluster, make: Make) -> None:
    cluster.topics = dict.fromkeys(cluster.topics, 4)
    mine, (ann, bob) = make()
    unknown = {ann.topic: KafkaError(KafkaError._UNKNOWN_PARTITION)}
    cluster.topics[ann.topic] = 2
    assert mine.blame([ann, bob], unknown)
    assert (ann.partitions, bob.partitions, ann.suspension) == (2, 4, None)
    assert mine.blame([ann, bob], unknown)  # the next client will know
    del cluster.topics[ann.topic]
    assert not mine.blame([ann, bob], unknown)
    cluster.topics[ann.topic] = 3
    assert not mine.blame([ann, bob], {})
    cluster.topics[ann.topic] = 1
    assert mine.blame([ann, bob], {})  # what waits in vain fails others, too, and later
    assert (ann.partitions, bob.partitions) == (1, 4)


def test_a_topic_that_others_made_meanwhile_is_used_as_they_made_it(cluster: Cluster) -> None:
    exists = KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)
    cluster.refusals["new"] = exists
    mine = Outlets(SETTINGS, tuple)
    with pytest.raises(RebuildError, match=TOPIC("new")):
        mine.prepare(["new"])
    cluster.made_by_others[TOPIC("new")] = 7
    [new] = mine.prepare(["new"])
    assert (new.partitions, new.suspension) == (7, None)


def test_a_topic_that_others_made_and_hide_hinders_nobody_else(cluster: Cluster) -> None:
    """Who may not describe it is told neither that it is there, before, nor how many partitions it has, then."""
    cluster.refusals["new"] = KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)
    cluster.obstacles[TOPIC("new")] = Obstacle.FORBIDDEN
    ann, new = Outlets(SETTINGS, tuple).prepare(["ann", "new"])
    assert ann.suspension is None
    assert new.suspension is not None
    assert new.suspension.obstacle is Obstacle.FORBIDDEN


def test_that_tamis_own_topics_cannot_be_written_to_ends_the_process(cluster: Cluster, make: Make) -> None:
    mine, (ann, _) = make()
    cluster.obstacles[SETTINGS.names.undelivered] = Obstacle.MISSING
    with pytest.raises(MissingError, match=r"tamis\.undelivered cannot be written to"):
        mine.blame([ann], {})


def test_while_kafka_does_not_tell_nobody_is_blamed(cluster: Cluster, make: Make) -> None:
    mine, (ann, _) = make()
    cluster.is_silent = True
    assert not mine.blame([ann], {ann.topic: KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)})


def test_a_topic_that_was_deleted_before_is_not_made_again(cluster: Cluster) -> None:
    mine = Outlets(SETTINGS, lambda: {"gone"})
    found = {outlet.subscriber: outlet for outlet in mine.prepare(["ann", "gone", "new"])}
    assert cluster.asked_for == ["new"]
    assert set(mine.suspended) == {"gone"}
    assert found["new"].suspension is None
    cluster.obstacles[found["gone"].topic] = Obstacle.MISSING
    cluster.now += 3
    mine.look()
    assert cluster.asked_for == ["new"]


@pytest.mark.parametrize(
    ("code", "obstacle"),
    [
        (KafkaError.POLICY_VIOLATION, Obstacle.NOT_MADE),
        (KafkaError.INVALID_REPLICATION_FACTOR, Obstacle.NOT_MADE),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Obstacle.FORBIDDEN),
    ],
)
def test_a_topic_that_kafka_did_not_make_is_made_as_soon_as_it_does(
    cluster: Cluster, code: int, obstacle: Obstacle
) -> None:
    """Until then nobody is told that it was deleted."""
    cluster.refusals["new"] = KafkaError(code)
    mine = Outlets(SETTINGS, tuple)
    [new] = mine.prepare(["new"])
    assert new.suspension is not None
    cluster.obstacles[new.topic] = Obstacle.MISSING
    for _ in range(2):
        assert new.suspension.obstacle is obstacle
        cluster.now += 10
        mine.look()
    assert new.suspension.obstacle is obstacle
    cluster.refusals.clear()
    cluster.now += 60
    mine.look()
    assert cluster.asked_for == ["new"] * 4
    assert new.suspension is None
    assert not mine.suspended


def test_one_that_others_made_may_be_deleted_like_any_other(cluster: Cluster) -> None:
    cluster.refusals["new"] = KafkaError(KafkaError.POLICY_VIOLATION)
    mine = Outlets(SETTINGS, tuple)
    [new] = mine.prepare(["new"])
    for obstacle in (Obstacle.FORBIDDEN, Obstacle.MISSING):
        cluster.obstacles[new.topic] = obstacle
        cluster.now += 10
        mine.look()
        assert new.suspension is not None
        assert new.suspension.obstacle is obstacle
    assert cluster.asked_for == ["new"]
