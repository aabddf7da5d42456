"""How Tamis reaches the servers it works with.

One model for every process of Tamis: what is wrong in it is refused where it enters, with the key and the value.
"""

from pydantic import BaseModel, ConfigDict, Field, field_validator

PROTECTED = frozenset(
    {
        *("acks", "auto.offset.reset", "bootstrap.servers", "enable.auto.commit", "enable.auto.offset.store"),
        *("enable.idempotence", "group.id", "group.protocol", "isolation.level", "transactional.id"),
    }
)


class Section(BaseModel):
    """A part of the configuration: read once, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class KafkaSettings(Section):
    """`extra` holds librdkafka's own properties (security, timeouts) and goes to every client unchanged."""

    bootstrap_servers: str = "localhost:9092"
    extra: dict[str, str] = Field(default_factory=dict, repr=False)  # may hold a password

    @field_validator("extra")
    @classmethod
    def _leave_what_is_ours(cls, extra: dict[str, str]) -> dict[str, str]:
        for key in extra:
            if key in PROTECTED:
                raise ValueError(f"{key} is not configurable: exactly-once delivery rests on Tamis's value")
        return extra


class RedisSettings(Section):
    """Where snapshots are kept."""

    url: str = "redis://localhost:6379/0"


class RegistrySettings(Section):
    """Where schemas are that messages name by id; `extra` goes to the registry's client unchanged."""

    url: str
    extra: dict[str, str | int | float] = Field(default_factory=dict, repr=False)  # may hold a password


class Settings(Section):
    """The whole configuration of a process."""

    kafka: KafkaSettings = KafkaSettings()
    redis: RedisSettings = RedisSettings()
    schema_registry: RegistrySettings | None = None
