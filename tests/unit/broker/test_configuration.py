import pytest
from pydantic import ValidationError

from tamis.broker.configuration import KafkaSettings, Settings


def test_the_defaults_are_a_kafka_and_a_redis_on_this_machine() -> None:
    settings = Settings()
    assert settings.kafka.bootstrap_servers == "localhost:9092"
    assert settings.redis.url == "redis://localhost:6379/0"


def test_an_unknown_key_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match=r"kafka\.bootstrap_server\b"):
        Settings.model_validate({"kafka": {"bootstrap_server": "x:1"}})


@pytest.mark.parametrize("key", ["isolation.level", "enable.auto.commit", "transactional.id", "auto.offset.reset"])
def test_what_delivery_rests_on_cannot_be_configured(key: str) -> None:
    with pytest.raises(ValidationError, match=f"{key} is not configurable"):
        KafkaSettings(extra={key: "x"})


def test_what_was_read_does_not_change() -> None:
    settings = KafkaSettings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.bootstrap_servers = "other:1"


def test_a_password_among_the_clients_properties_is_not_printed() -> None:
    assert "secret" not in repr(KafkaSettings(extra={"sasl.password": "secret"}))
