"""What becomes known of topics by what Kafka says to records for them."""

from collections.abc import Callable, Iterable, Mapping

import pytest

from tamis.broker import undelivered_targets
from tamis.broker.configuration import KafkaSettings, Settings
from tamis.broker.kafka import KafkaError
from tamis.broker.topic_facts import TopicFacts
from tamis.broker.undelivered_targets import Hindrance, Target, Targets
from tamis.codecs.undelivered import Obstacle

SETTINGS = Settings(kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"))
TOPIC = SETTINGS.names.notifications
TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT)
Make = Callable[[Mapping[str, Obstacle]], Targets]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    def facts(_admin: object, topics: Iterable[str]) -> dict[str, TopicFacts]:
        return {topic: TopicFacts(topic, "id", 1, 1, (), (), None) for topic in topics}

    def made(obstacles: Mapping[str, Obstacle]) -> Targets:
        def told(_admin: object, topics: Iterable[str]) -> dict[str, Obstacle]:
            return {topic: obstacles[topic] for topic in topics if topic in obstacles}

        monkeypatch.setattr(undelivered_targets, "obstacles", told)
        monkeypatch.setattr(undelivered_targets, "topic_facts", facts)
        targets = Targets(SETTINGS)
        targets.look_at(["ann", "bob"])
        return targets

    return made


def test_what_an_impaired_topic_did_not_take_in_time_waits_and_the_others_go_on(make: Make) -> None:
    targets = make({TOPIC("ann"): Obstacle.UNAVAILABLE})
    assert isinstance(targets.of("ann"), Target)  # it may take all the same
    assert targets.learn("ann", TIMED_OUT)
    found = targets.of("ann")
    assert isinstance(found, Hindrance)
    assert found.reason == Obstacle.UNAVAILABLE
    assert TOPIC("ann") in found.detail
    assert isinstance(targets.of("bob"), Target)
    assert targets.learn("ann", TIMED_OUT)
    targets.forget()
    targets.look_at(["ann", "bob"])
    assert isinstance(targets.of("ann"), Hindrance)
    assert isinstance(targets.of("bob"), Target)


def test_that_a_sound_topic_took_nothing_in_time_is_no_hindrance_until_it_is_seen_to_be_impaired(make: Make) -> None:
    obstacles: dict[str, Obstacle] = {}
    targets = make(obstacles)
    assert not targets.learn("ann", TIMED_OUT)
    obstacles[TOPIC("ann")] = Obstacle.UNAVAILABLE
    targets.look_at(["ann"])
    assert targets.learn("ann", TIMED_OUT)
