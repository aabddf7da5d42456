"""What `tamis doctor` says of the parts of Spark."""

import pytest

from tamis.admin.commands import doctor
from tamis.broker.topic_checks import Status

RIGHT = {"pyspark": "4.0.0", "delta-spark": "4.0.1", "pyarrow": "20.0", "pandas": "2.3"}


@pytest.mark.parametrize(
    ("installed", "is_wanted", "status", "told"),
    [
        (RIGHT, True, Status.OK, "pyspark 4.0.0, delta-spark 4.0.1"),
        ({**RIGHT, "delta-spark": "3.3.0"}, False, Status.WARN, "delta-spark 3.3.0"),
        ({"pyspark": "4.0.0", "pandas": "2.3"}, True, Status.WARN, "delta-spark, pyarrow: not installed"),
        ({}, False, Status.OK, "pyspark, delta-spark, pyarrow, pandas: not installed"),
    ],
)
def test_parts_of_spark_are_there_and_fit(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], status: Status, told: str, *, is_wanted: bool
) -> None:
    monkeypatch.setattr(doctor, "_version", installed.get)
    [symptom] = doctor._spark(is_wanted=is_wanted)
    assert symptom.status is status
    assert told in symptom.found
    assert bool(symptom.fix) == (status is not Status.OK)
