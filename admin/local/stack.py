"""The local stack: a real Kafka and a real Redis on this machine, without Docker, for as long as they are wanted."""

import base64
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tamis.admin.errors import StackError
from tamis.admin.local.cache import Report, cache_folder, disk_errors_explained, no_report, require_space
from tamis.admin.local.jars import kafka_version
from tamis.admin.local.kafka import Installation, KafkaBroker, Node, properties
from tamis.admin.local.log_cut import cut_log, has_log
from tamis.admin.local.ports import Ports
from tamis.admin.local.readiness import wait_for_kafka, wait_for_redis
from tamis.admin.local.redis import start_redis
from tamis.admin.local.servers import Server, Servers
from tamis.broker.configuration import KafkaSettings, RedisSettings, Settings
from tamis.broker.kafka import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion, admin_client

_READY_SECONDS = 60.0
_SPACE_NEEDED = 300_000_000
_SCRAM_ITERATIONS = 4096


@dataclass(frozen=True)
class StackOptions:
    """What a local stack is made of."""

    brokers: int = 1
    """1, or 3 for replication; each is broker and controller."""
    secured: bool = False
    """Clients log in (SCRAM-SHA-512) and may do only what ACLs allow."""
    redis: bool = True
    """Whether there is one."""
    kafka_port: int | None = None
    """The first broker's, instead of a free one."""
    redis_port: int | None = None
    """Redis's, instead of a free one."""
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kafka's broker properties, over the stack's own."""
    client: Mapping[str, str] = field(default_factory=dict[str, str])
    """librdkafka's properties of clients, over the stack's own."""

    def __post_init__(self) -> None:
        if self.brokers not in (1, 3):
            raise StackError(f"A stack has 1 broker, or 3 with replication; {self.brokers} were asked for.")


class LocalStack:
    """Real servers on loopback ports, with a folder of their own; a context manager.

    Everything goes when the block ends, when the process ends, and when it is killed. If the block ends with an
    exception, the servers' logs stay, and the exception says where. `settings` is how to reach it (on a secured stack:
    as its administrator).
    """

    def __init__(self, options: StackOptions | None = None, report: Report = no_report) -> None:
        self._options = options or StackOptions()
        self._report = report
        self._cache = cache_folder()
        self._ports = Ports()
        self._was_ready = False
        self._servers: Servers | None = None
        self._redis: Server | None = None
        self.brokers: list[KafkaBroker] = []
        self.settings = Settings()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failed = error is not None and not isinstance(error, KeyboardInterrupt | SystemExit)
        logs = self.stop(keep_logs=failed)
        if error is not None and logs is not None:
            error.add_note(f"The logs of the local stack are kept in {logs}.")

    def start(self) -> None:
        """Start everything, and return when it is ready."""
        try:
            installation = Installation(self._cache, self._report)
            self._report(f"Starting Kafka {kafka_version()}{' and Redis' if self._options.redis else ''} ...")
            redis_port = self._ports.claim(self._options.redis_port) if self._options.redis else None
            nodes = self._claim_nodes()
            self._servers = Servers()
            with disk_errors_explained(self._servers.folder):
                require_space(self._servers.folder, _SPACE_NEEDED, "a stack's data")
                self._start_servers(self._servers, installation, nodes, redis_port)
            self.wait_until_ready()
            self._was_ready = True
        except BaseException as error:
            logs = self.stop(keep_logs=isinstance(error, StackError))
            if logs is not None:
                error.add_note(f"The logs are kept in {logs}.")
            raise

    def stop(self, *, keep_logs: bool = False) -> Path | None:
        """Stop and remove everything; the folder of the logs is returned if it is kept."""
        servers, self._servers = self._servers, None
        if servers is None:
            self._ports.release()
            return None
        try:
            if self._was_ready and not keep_logs:
                self._save_archive()
        finally:
            servers.end(keep_logs=keep_logs)
            self._ports.release()
            self.brokers.clear()
            self._redis = None
            self._was_ready = False
        return servers.logs if keep_logs else None

    def wait_until_ready(self) -> None:
        """Return once every broker is in the cluster and a transaction went through; also after a restart."""
        deadline = time.monotonic() + _READY_SECONDS
        if self._options.redis:
            wait_for_redis(self.settings.redis, deadline, self.require_running)
        numbers = [broker.node.number for broker in self.brokers]
        wait_for_kafka(self.settings.kafka, numbers, deadline, self.require_running)

    def require_running(self) -> None:
        """Raise, with its last words, if a server has ended that nobody stopped."""
        for broker in self.brokers:
            broker.require_running()
        if self._redis is not None:
            self._redis.require_running()

    @property
    def folder(self) -> Path:
        """Where all of its data is; whatever is written there goes with it."""
        return self._running().folder

    def run(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> Server:
        """Start one process more, which ends with the stack."""
        return self._running().start(name, command, environment)

    def add_user(self, name: str) -> KafkaSettings:
        """A new user of a secured stack, who may do nothing yet; how it logs in."""
        if not self._options.secured:
            raise StackError("Users exist on a secured stack only: StackOptions(secured=True).")
        password = secrets.token_urlsafe(16)
        credential = UserScramCredentialUpsertion(
            name, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _SCRAM_ITERATIONS), password.encode()
        )
        admin = admin_client(self.settings.kafka)
        for future in admin.alter_user_scram_credentials([credential]).values():
            future.result()
        return self._login(name, password)

    def cut_back(self, topic: str, partition: int, offset: int) -> None:
        """Lose a partition's records from `offset` on: all brokers crash, and come back without them."""
        replicas = [broker for broker in self.brokers if has_log(broker.data, topic, partition)]
        if not replicas:
            raise StackError(f"No broker has a log of {topic} [{partition}]: is that a topic of this stack?")
        for broker in self.brokers:
            if broker.is_running:
                broker.kill()
        try:
            for broker in replicas:
                cut_log(broker.data, topic, partition, offset)
        finally:
            for broker in self.brokers:
                broker.start()
            self.wait_until_ready()

    def _running(self) -> Servers:
        if self._servers is None:
            raise StackError("The stack is not running.")
        return self._servers

    def _claim_nodes(self) -> list[Node]:
        return [
            Node(
                number,
                client_port=self._ports.claim(self._options.kafka_port if number == 1 else None),
                controller_port=self._ports.claim(),
                internal_port=self._ports.claim() if self._options.secured else None,
            )
            for number in range(1, self._options.brokers + 1)
        ]

    def _start_servers(
        self, servers: Servers, installation: Installation, nodes: list[Node], redis_port: int | None
    ) -> None:
        if redis_port is not None:
            self._redis = start_redis(servers, redis_port)
        users = {"admin": secrets.token_urlsafe(16)} if self._options.secured else {}
        self.settings = Settings(
            kafka=KafkaSettings(
                bootstrap_servers=",".join(f"127.0.0.1:{node.client_port}" for node in nodes),
                extra=dict(self._options.client),
            ),
            redis=RedisSettings(url=f"redis://127.0.0.1:{redis_port}/0") if redis_port else RedisSettings(),
        )
        if self._options.secured:
            self.settings = self.settings.model_copy(update={"kafka": self._login("admin", users["admin"])})
        self.brokers = [
            KafkaBroker(
                node,
                installation,
                servers,
                properties(node, nodes, self._options.properties),
                archives=node.number == 1 and not installation.has_archive,
            )
            for node in nodes
        ]
        cluster_id = _new_cluster_id()
        formats = [broker.format(cluster_id, users) for broker in self.brokers]
        for process in formats:
            if process.wait(_READY_SECONDS) != 0:
                raise StackError(f"Kafka's data folder could not be prepared. {process.last_words()}")
        for broker in self.brokers:
            broker.start()

    def _login(self, name: str, password: str) -> KafkaSettings:
        return KafkaSettings(
            bootstrap_servers=self.settings.kafka.bootstrap_servers,
            extra={
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": name,
                "sasl.password": password,
                **self._options.client,
            },
        )

    def _save_archive(self) -> None:
        for broker in self.brokers:
            if broker.archives and broker.is_running:
                self._report("Saving Kafka's loaded classes, so that the next start is fast ...")
                try:
                    broker.stop()
                except (StackError, OSError) as error:  # a convenience, and this is the way out
                    self._report(f"It could not be saved: {error}")


def _new_cluster_id() -> str:
    """22 characters of base64url; Kafka's tools take one that begins with a hyphen for an option."""
    return "T" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:21]
