"""What may be wrong beside Kafka: Redis, the schema registry, and this machine."""

import os
import resource
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tamis.broker.configuration import Settings
from tamis.broker.doctor_findings import Symptom
from tamis.broker.errors import BrokerError, ConfigurationError
from tamis.broker.redis import Redis, RedisError, connect
from tamis.broker.schema_registry import ConfluentRegistry
from tamis.broker.settings_files import Loaded
from tamis.broker.settings_keys import masked, spelled
from tamis.broker.slots import state_folder
from tamis.broker.topic_checks import Status

_FILES_LEAST = 4096
_DISK_BYTES_LEAST = 1 << 30
"""A snapshot of four million subscriptions, and another one beside it."""
_SKEW_SECONDS_MAX = 2.0
_POLICY = "noeviction"
_HIDDEN = "***"


def configuration_symptoms(loaded: Loaded) -> Iterator[Symptom]:
    """What is no default, and who said so."""
    values = loaded.settings.model_dump(mode="json")
    if not loaded.origins:
        yield Symptom("configuration", "all", Status.OK, "defaults")
    for key, origin in sorted(loaded.origins.items()):
        value: Any = values
        for part in key:
            value = value[part]
        told = _HIDDEN if key in loaded.secrets else masked(key, value)
        yield Symptom("configuration", spelled(key), Status.OK, f"{told} ({origin})")


def redis_symptoms(settings: Settings) -> Iterator[Symptom]:
    """Without Redis a start takes longer, and nothing else changes; but what cannot be meant stops brokers."""
    address = str(masked(("redis", "url"), settings.redis.url))
    try:
        client = connect(settings.redis)
        with client:
            yield from _redis(client, address)
    except ConfigurationError as error:
        yield Symptom("redis", address, Status.FAIL, "not as redis-py takes it", "", str(error))
    except (RedisError, ValueError, TypeError) as error:
        yield Symptom(
            *("redis", address, Status.WARN, f"no answer: {error}", "an answer"),
            "Start it, or set redis.url. Without snapshots brokers read all subscriptions from Kafka when they start.",
        )


def _redis(client: Redis, address: str) -> Iterator[Symptom]:
    began = time.time()
    seconds, microseconds = client.time()
    ended = time.time()
    yield Symptom("redis", address, Status.OK, f"answers in {(ended - began) * 1000:.1f} ms")
    memory = client.info("memory")
    policy = memory.get("maxmemory_policy", "")
    is_right = policy == _POLICY
    yield Symptom(
        *("redis", "maxmemory-policy", Status.OK if is_right else Status.WARN, policy, _POLICY),
        "" if is_right else f"With it Redis drops snapshots when it is full: CONFIG SET maxmemory-policy {_POLICY}",
    )
    limit, used = int(memory.get("maxmemory", 0)), int(memory.get("used_memory", 0))
    yield Symptom(
        "redis", "memory", Status.OK, f"{used >> 20} MiB used, of {f'{limit >> 20} MiB' if limit else 'no limit'}"
    )
    server = seconds + microseconds / 1e6
    skew = max(began - server, server - ended, 0.0)
    is_off = skew > _SKEW_SECONDS_MAX
    yield Symptom(
        *("clocks", "redis", Status.WARN if is_off else Status.OK),
        f"its clock is {skew:.1f} s off ours" if skew > 0 else "its clock agrees with ours",
        fix="Let NTP set the clocks, here and there." if is_off else "",
    )


def registry_symptoms(settings: Settings) -> Iterator[Symptom]:
    if settings.schema_registry is None:
        yield Symptom("schema registry", "url", Status.OK, "none is configured")
        return
    address = str(masked(("schema_registry", "url"), settings.schema_registry.url))
    try:
        ConfluentRegistry(settings.schema_registry).schema(1)
    except (BrokerError, ImportError) as error:
        yield Symptom(
            *("schema registry", address, Status.FAIL, str(error), "an answer"),
            "Set schema_registry.url, and what it needs in schema_registry.extra: events that name their schemas "
            "cannot be read. pip install 'tamis[registry]' has its client.",
        )
    else:
        yield Symptom("schema registry", address, Status.OK, "answers")


def machine_symptoms() -> Iterator[Symptom]:
    folder = state_folder()
    yield _disk(folder)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    is_enough = limit in (resource.RLIM_INFINITY, -1) or limit >= _FILES_LEAST
    yield Symptom(
        *(
            "machine",
            "open files",
            Status.OK if is_enough else Status.WARN,
            f"limit {limit}",
            f"{_FILES_LEAST} or more",
        ),
        "" if is_enough else f"Raise it: ulimit -n {_FILES_LEAST}, or LimitNOFILE of the service.",
    )


def _disk(folder: Path) -> Symptom:
    """Where locks lie that keep two processes from having one name, and snapshots while they are in use."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        return Symptom(
            *("machine", "state folder", Status.FAIL, f"{folder} cannot be written", "a folder of this user"),
            "Name another one: TAMIS_STATE_DIR.",
        )
    free = shutil.disk_usage(there).free
    is_enough = free >= _DISK_BYTES_LEAST
    return Symptom(
        *("machine", "state folder", Status.OK if is_enough else Status.WARN, f"{folder}, {free >> 20} MiB free"),
        f"{_DISK_BYTES_LEAST >> 20} MiB or more",
        "" if is_enough else "Make room: snapshots are made and loaded here, some 130 bytes a subscription each.",
    )
