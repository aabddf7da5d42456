"""What `tamis doctor` makes of Kafka's settings."""

import pytest

from tamis.broker import doctor
from tamis.broker.topic_checks import Status


@pytest.mark.parametrize(
    ("config", "statuses"),
    [
        ({"group.consumer.session.timeout.ms": "45000"}, []),
        ({"group.consumer.assignment.interval.ms": "1000"}, [Status.WARN]),
    ],
)
def test_a_kafka_that_may_lose_what_was_committed_is_told(config: dict[str, str], statuses: list[Status]) -> None:
    found = list(doctor._version(config))
    assert [symptom.status for symptom in found] == statuses
    assert all("Kafka 4.2" in symptom.fix for symptom in found)
