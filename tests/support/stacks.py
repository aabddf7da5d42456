"""The Kafka and Redis that tests talk to: given ones, Docker's, or the local stack's."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from enum import StrEnum

from tamis.admin.local import LocalStack
from tamis.admin.local.jars import kafka_version
from tamis.admin.local.ports import Ports
from tamis.admin.local.readiness import wait_for_kafka, wait_for_redis
from tamis.broker.configuration import KafkaSettings, RedisSettings, Settings

KILLED_KAFKAS = {"broker.session.timeout.ms": "3000"}
"""For stacks whose Kafkas are killed: the cluster takes one back only when the session of its former life has ended."""

_DOCKER_READY_SECONDS = 120.0


class StackKind(StrEnum):
    GIVEN = "given"
    DOCKER = "docker"
    LOCAL = "local"


def chosen_kind() -> StackKind:
    """`TAMIS_TEST_STACK` if set, so that what is missing fails; else what there is."""
    forced = os.environ.get("TAMIS_TEST_STACK")
    if forced:
        return StackKind(forced)
    given = [name for name in ("TAMIS_TEST_KAFKA", "TAMIS_TEST_REDIS") if os.environ.get(name)]
    if len(given) == 1:
        raise ValueError(f"{given[0]} is set alone: set TAMIS_TEST_KAFKA and TAMIS_TEST_REDIS, or neither.")
    if given:
        return StackKind.GIVEN
    return StackKind.DOCKER if _docker_answers() else StackKind.LOCAL


@contextlib.contextmanager
def running_stack(kind: StackKind, keep_logs: Callable[[], bool]) -> Iterator[Settings]:
    """How to reach the stack, for as long as the block lasts; `keep_logs` is asked at its end."""
    match kind:
        case StackKind.GIVEN:
            settings = Settings(
                kafka=KafkaSettings(bootstrap_servers=os.environ["TAMIS_TEST_KAFKA"]),
                redis=RedisSettings(url=os.environ["TAMIS_TEST_REDIS"]),
            )
            _wait_until_ready(settings)
            yield settings
        case StackKind.DOCKER:
            with _docker_stack() as settings:
                yield settings
        case StackKind.LOCAL:
            stack = LocalStack()
            stack.start()
            try:
                yield stack.settings
            finally:
                logs = stack.stop(keep_logs=keep_logs())
                if logs is not None:
                    print(f"\nThe logs of the local stack are kept in {logs}.")


def _docker_answers() -> bool:
    """Whether an engine does: a client may be installed without one."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False).returncode == 0


@contextlib.contextmanager
def _docker_stack() -> Iterator[Settings]:
    from testcontainers.core.container import DockerContainer

    ports = Ports()
    kafka_port, redis_port = ports.claim(), ports.claim()
    # Clients are sent to the advertised address, so the port on the host must be known before the broker starts.
    kafka = (
        DockerContainer(f"apache/kafka:{kafka_version()}")
        .with_bind_ports(9092, kafka_port)
        .with_env("CLUSTER_ID", "TamisTestsOnDocker0000")
        .with_env("KAFKA_NODE_ID", "1")
        .with_env("KAFKA_PROCESS_ROLES", "broker,controller")
        .with_env("KAFKA_CONTROLLER_QUORUM_VOTERS", "1@localhost:9093")
        .with_env("KAFKA_LISTENERS", "CLIENT://:9092,CONTROLLER://:9093")
        .with_env("KAFKA_ADVERTISED_LISTENERS", f"CLIENT://127.0.0.1:{kafka_port}")
        .with_env("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT")
        .with_env("KAFKA_CONTROLLER_LISTENER_NAMES", "CONTROLLER")
        .with_env("KAFKA_INTER_BROKER_LISTENER_NAME", "CLIENT")
        .with_env("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false")
        .with_env("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0")
        .with_env("KAFKA_LOG_CLEANER_BACKOFF_MS", "1000")
        .with_env("KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR", "1")
        .with_env("KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR", "1")
        .with_env("KAFKA_TRANSACTION_STATE_LOG_MIN_ISR", "1")
        .with_env("KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR", "1")
        .with_env("KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR", "1")
    )
    redis = DockerContainer("redis:8-alpine").with_bind_ports(6379, redis_port)
    settings = Settings(
        kafka=KafkaSettings(bootstrap_servers=f"127.0.0.1:{kafka_port}"),
        redis=RedisSettings(url=f"redis://127.0.0.1:{redis_port}/0"),
    )
    try:
        with kafka, redis:
            _wait_until_ready(settings)
            yield settings
    finally:
        ports.release()


def _wait_until_ready(settings: Settings) -> None:
    deadline = time.monotonic() + _DOCKER_READY_SECONDS
    wait_for_redis(settings.redis, deadline, still_alive=lambda: None)
    wait_for_kafka(settings.kafka, [], deadline, still_alive=lambda: None)
