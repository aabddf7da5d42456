"""What `tamis doctor` makes of settings, and of the machine."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tamis.broker import doctor
from tamis.broker.configuration import RedisSettings, Settings
from tamis.broker.doctor_machine import machine_symptoms, redis_symptoms
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


@pytest.mark.parametrize(
    ("redis", "fix"),
    [
        (RedisSettings(url="localhost:6379"), "redis.url"),
        (
            RedisSettings(url="redis://localhost?password=hush", extra={"sokcet_timeout": 5}),
            "there is no sokcet_timeout",
        ),
    ],
)
def test_a_redis_that_cannot_be_meant_is_told_and_the_doctor_goes_on(redis: RedisSettings, fix: str) -> None:
    [symptom] = redis_symptoms(Settings(redis=redis))
    assert (symptom.area, symptom.status) == ("redis", Status.FAIL)
    assert fix in symptom.fix
    assert "hush" not in f"{symptom}"


@pytest.mark.parametrize(("free", "status"), [(1 << 30, Status.OK), ((1 << 30) - 1, Status.WARN)])
def test_there_has_to_be_room_for_snapshots(
    free: int, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    symptom = next(symptom for symptom in machine_symptoms() if symptom.about == "state folder")
    assert symptom.status is status
    assert ("snapshots" in symptom.fix) == (status is Status.WARN)
