"""How Tamis reaches the servers it works with.

One model for every process of Tamis: what is wrong in it is refused where it enters, with the key and the value.
"""

import json
import re
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from tamis.broker.errors import ConfigurationError, InvalidError
from tamis.broker.names import Names
from tamis.broker.settings_keys import Location
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.messages import EventFormat, Framing, TimeUnit

PROTECTED = frozenset(
    {
        *("acks", "auto.offset.reset", "bootstrap.servers", "enable.auto.commit", "enable.auto.offset.store"),
        *("enable.idempotence", "enable.partition.eof", "group.id", "group.instance.id", "group.protocol"),
        *("isolation.level", "message.timeout.ms", "transaction.timeout.ms", "transactional.id"),
    }
)

_ADDRESS = re.compile(
    r"(?:\[[0-9A-Fa-f:.]+\]|[^:\[\]\s]+):(?:6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]?\d{1,4})", re.ASCII
)
STALL_SECONDS = 300.0
"""As long as a group waits for a member that does not poll; what a turn waits for itself is far shorter."""
_NO_ADDRESS = "an address is HOST:PORT, as in 127.0.0.1:9464, [::1]:9464 or 0.0.0.0:0"
_POINTS: dict[str, JsonValue] = {"points": True}
"""Of tables whose keys have points, for which variables of the environment have no room."""


class Section(BaseModel):
    """A part of the configuration: read once, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class KafkaSettings(Section):
    """`extra` holds librdkafka's own properties (security, timeouts) and goes to every client unchanged."""

    bootstrap_servers: str = "localhost:9092"
    extra: dict[str, str] = Field(default_factory=dict, repr=False, json_schema_extra=_POINTS)  # may hold a password

    @field_validator("extra", mode="before")
    @classmethod
    def _spell_as_librdkafka(cls, extra: Any) -> Any:
        """Numbers and truth values of TOML are the same properties."""
        if not isinstance(extra, dict):
            return extra
        return {
            key: json.dumps(value) if isinstance(value, bool | int | float) else value for key, value in extra.items()
        }

    @field_validator("extra")
    @classmethod
    def _leave_what_is_ours(cls, extra: dict[str, str]) -> dict[str, str]:
        for key in extra:
            if key in PROTECTED:
                raise ValueError(f"{key} is not configurable: exactly-once delivery rests on Tamis's value")
        return extra


class RedisSettings(Section):
    """Where snapshots are kept; `extra` holds redis-py's own options and goes to its client unchanged."""

    url: str = "redis://localhost:6379/0"
    extra: dict[str, str | int | float | bool] = Field(default_factory=dict, repr=False)  # may hold a password


class RegistrySettings(Section):
    """Where schemas are that messages name by id; `extra` goes to the registry's client unchanged."""

    url: str
    extra: dict[str, str | int | float] = Field(default_factory=dict, repr=False, json_schema_extra=_POINTS)
    """May hold a password."""


class EventTopicSettings(Section):
    """How an event topic's messages are read; a topic that is not configured is read by its messages' first bytes."""

    framing: Framing = Framing.DETECT
    schema_file: Path | None = None
    """The Avro schema of raw messages."""
    id: str | None = None
    """The attribute that is an event's id."""
    time: str | None = None
    """The attribute that is an event's time."""
    time_unit: TimeUnit = TimeUnit.MICROSECONDS

    @model_validator(mode="after")
    def _check_schema(self) -> Self:
        if (self.framing is Framing.RAW) != (self.schema_file is not None):
            raise ValueError("schema_file is given for the framing 'raw', and for no other")
        return self

    def format(self) -> EventFormat:
        """InvalidError if its schema's file cannot be read."""
        try:
            schema = None if self.schema_file is None else self.schema_file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidError(f"The schema in {self.schema_file} cannot be read: {error}.") from error
        return EventFormat(self.framing, schema, self.id, self.time, self.time_unit)


class NotificationSettings(Section):
    """What notifications are, and the topics that are made for them."""

    format: NotificationFormat = NotificationFormat.AVRO
    partitions: int = Field(default=1, ge=1, le=1000)
    retention_days: float = Field(default=7.0, gt=0)


class BrokerSettings(Section):
    """How a broker process works; none of it changes what is matched."""

    engine: str = "pst-hash"
    batch_events: int = Field(default=10_000, ge=1, le=1_000_000)
    """In one transaction, at most."""
    batch_bytes: int = Field(default=16 << 20, ge=1)
    """Of events in one transaction, at most, but for one that is larger."""
    batch_notifications: int = Field(default=100_000, ge=1)
    """In one transaction, at most, but for an event that has more."""
    batch_topics: int = Field(default=500, ge=1)
    """How many notification topics a transaction touches, at most, but for an event that has more."""
    batch_output_bytes: int = Field(default=64 << 20, ge=1)
    """Of events in the notifications of one transaction, at most, but for an event that has more."""
    memory_bytes: int | None = Field(default=None, ge=1)
    """A process that uses more stops, and says so; none: nine tenths of what its container may have, if that is so."""
    rejected_share: float = Field(default=0.5, gt=0, le=1)
    """If more than this share of the last 1,000 events is rejected, that is a wrong schema: the broker stops."""
    stall_seconds: float = Field(default=STALL_SECONDS, ge=1)
    """A process whose loop has not turned for so long hangs, and ends itself."""


class SnapshotSettings(Section):
    """When what is in force is kept in Redis, so that starts are fast; it changes nothing else."""

    enabled: bool = True
    every_seconds: float = Field(default=300.0, ge=1)
    """If anything changed."""
    after_changes: int = Field(default=100_000, ge=1)
    """Earlier, once so many records of subscriptions were applied."""


class SubscriptionSettings(Section):
    """What subscribers may have."""

    per_subscriber: int | None = Field(default=None, ge=1)
    """How many each, at most, as far as `tamis subscribe` is concerned; none: any number."""


class MetricsSettings(Section):
    """What a broker process tells of itself by HTTP: `/metrics`, `/livez`, `/readyz`."""

    listen: str = ""
    """HOST:PORT, port 0 for any that is free; empty: nothing is served."""

    @field_validator("listen")
    @classmethod
    def _check_listen(cls, listen: str) -> str:
        if listen and not _ADDRESS.fullmatch(listen):
            raise ValueError(_NO_ADDRESS)
        return listen

    @classmethod
    def at(cls, listen: str, origin: str) -> Self:
        """ConfigurationError, which names who said it, if it is no address."""
        if not _ADDRESS.fullmatch(listen):
            raise ConfigurationError(f"metrics.listen = {listen!r} ({origin}): {_NO_ADDRESS}.")
        return cls(listen=listen)

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port, None if there is nothing to listen at."""
        host, _, port = self.listen.rpartition(":")
        return (host.strip("[]"), int(port)) if port else None


class ArchiveSettings(Section):
    """Where all events are kept, if they are."""

    path: Location | None = None
    """A folder, or the URL of one that Spark can write: s3a://bucket/tamis."""


class Settings(Section):
    """The whole configuration of a process."""

    prefix: str = "tamis"
    """What all topics, groups and transactional ids begin with."""
    kafka: KafkaSettings = KafkaSettings()
    redis: RedisSettings = RedisSettings()
    schema_registry: RegistrySettings | None = None
    notifications: NotificationSettings = NotificationSettings()
    subscriptions: SubscriptionSettings = SubscriptionSettings()
    broker: BrokerSettings = BrokerSettings()
    metrics: MetricsSettings = MetricsSettings()
    snapshots: SnapshotSettings = SnapshotSettings()
    archive: ArchiveSettings = ArchiveSettings()
    events: dict[str, EventTopicSettings] = Field(default_factory=dict)
    """By topic."""

    @field_validator("prefix")
    @classmethod
    def _check_prefix(cls, prefix: str) -> str:
        return Names(prefix).prefix

    @property
    def names(self) -> Names:
        return Names(self.prefix)
