"""How Tamis reaches the servers it works with.

One model for every process of Tamis: what is wrong in it is refused where it enters, with the key and the value.
"""

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A part of the configuration: never changed once read, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class KafkaSettings(Section):
    """`extra` holds librdkafka's own properties (security, timeouts) and goes to every client unchanged."""

    bootstrap_servers: str = "localhost:9092"
    extra: dict[str, str] = Field(default_factory=dict, repr=False)  # may hold a password


class RedisSettings(Section):
    """Where snapshots are kept."""

    url: str = "redis://localhost:6379/0"


class Settings(Section):
    """The whole configuration of a process."""

    kafka: KafkaSettings = KafkaSettings()
    redis: RedisSettings = RedisSettings()
