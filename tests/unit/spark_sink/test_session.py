import importlib.metadata

import pytest

from tamis.spark_sink.session import EMBEDDED, SparkOptions, packages, settings


def test_packages_are_those_of_the_installed_versions() -> None:
    connector, delta = packages()
    assert connector.endswith(f":{importlib.metadata.version('pyspark')}")
    assert delta.endswith(f":{importlib.metadata.version('delta-spark')}")


def test_it_is_embedded_on_loopback_unless_a_master_is_named() -> None:
    told = settings(SparkOptions())
    assert told["spark.master"] == EMBEDDED
    assert told["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in settings(SparkOptions("spark://somewhere:7077"))


@pytest.mark.parametrize("key", ["spark.jars.packages", "spark.sql.extensions"])
def test_what_a_user_adds_takes_nothing_away(key: str) -> None:
    own = settings(SparkOptions())[key]
    assert settings(SparkOptions(conf={key: "a:b:1"}))[key] == f"{own},a:b:1"


def test_else_what_a_user_says_wins() -> None:
    assert settings(SparkOptions(conf={"spark.log.level": "INFO"}))["spark.log.level"] == "INFO"


def test_a_stores_key_is_not_printed() -> None:
    assert "hidden" not in repr(SparkOptions(conf={"spark.hadoop.fs.s3a.secret.key": "hidden"}))
