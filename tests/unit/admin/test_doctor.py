"""What `tamis doctor` says of the parts of Spark."""

import pytest

from tamis.admin.commands import doctor
from tamis.broker.topic_checks import Status

RIGHT = {"pyspark": "4.0.0", "delta-spark": "4.0.1", "pyarrow": "20.0", "pandas": "2.3"}


@pytest.mark.parametrize(
    ("installed", "wanted_at", "status", "told"),
    [
        (RIGHT, "/archive", Status.OK, "pyspark 4.0.0, delta-spark 4.0.1"),
        ({**RIGHT, "delta-spark": "3.3.0"}, None, Status.WARN, "delta-spark 3.3.0"),
        ({"pyspark": "4.0.0", "pandas": "2.3"}, "/archive", Status.WARN, "delta-spark, pyarrow: not installed"),
        ({}, None, Status.OK, "pyspark, delta-spark, pyarrow, pandas: not installed"),
    ],
)
def test_parts_of_spark_are_there_and_fit(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], wanted_at: str | None, status: Status, told: str
) -> None:
    monkeypatch.setattr(doctor, "_version", installed.get)
    [symptom] = doctor._spark(is_wanted=wanted_at is not None)
    assert symptom.status is status
    assert told in symptom.found
    assert bool(symptom.fix) == (status is not Status.OK)
