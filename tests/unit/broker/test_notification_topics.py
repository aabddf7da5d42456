"""What Kafka's answers say of topics that are to be made."""

from concurrent.futures import Future
from typing import cast

import pytest

from tamis.broker.configuration import KafkaSettings, Settings
from tamis.broker.kafka import AdminClient, KafkaError, KafkaException, NewTopic
from tamis.broker.notification_topics import create_notification_topics

SETTINGS = Settings(kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"))


class Answering:
    """Says the same of every topic, as an admin client does: without a word on whether it will be so again."""

    def __init__(self, code: int) -> None:
        self.error = KafkaError(code)

    def create_topics(self, topics: list[NewTopic], **_: float) -> dict[str, "Future[None]"]:
        answers: dict[str, Future[None]] = {topic.topic: Future() for topic in topics}
        for answer in answers.values():
            answer.set_exception(KafkaException(self.error))
        return answers


@pytest.mark.parametrize(
    "code",
    [
        *(KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN),
        *(KafkaError.REQUEST_TIMED_OUT, KafkaError.NOT_CONTROLLER, KafkaError.THROTTLING_QUOTA_EXCEEDED),
    ],
)
def test_an_answer_that_is_not_for_good_is_no_refusal(code: int) -> None:
    with pytest.raises(KafkaException):
        create_notification_topics(cast("AdminClient", Answering(code)), SETTINGS, ["ann"])


@pytest.mark.parametrize("code", [KafkaError.POLICY_VIOLATION, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_a_refusal_is_told_by_its_subscriber(code: int) -> None:
    answering = Answering(code)
    told = create_notification_topics(cast("AdminClient", answering), SETTINGS, ["ann", "bob"])
    assert told == {"ann": answering.error, "bob": answering.error}
