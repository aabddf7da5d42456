"""One Kafka broker of the local stack: its configuration, its Java process, its life and death."""

import json
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tamis.admin.errors import StackError
from tamis.admin.local.archive import archive_key, find_archive, keep_archive
from tamis.admin.local.cache import Report
from tamis.admin.local.jars import ensure_jars, kafka_version
from tamis.admin.local.java import find_java
from tamis.admin.local.servers import Server, Servers

_FLAGS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # compile once, cheaply: a short life, where warming up is most of it
    "-XX:-UsePerfData",  # leaves no file in /tmp
)
_DATA = "data"
_ARCHIVE = "classes.jsa"
_STOP_SECONDS = 15.0
_STOP_SECONDS_ARCHIVING = 60.0

# What a broker on a developer's machine needs beyond the defaults: no waiting for members that will not come, a short
# timeout so that a killed client is noticed at once, small files and buffers. Brokers keep their default of 9 s: with
# less, a disk that is slow for a moment takes them out of the cluster.
_PROPERTIES = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "transaction.state.log.segment.bytes": "16777216",
    "log.index.size.max.bytes": "1048576",  # else 20 MB of sparse index a partition
    "log.cleaner.dedupe.buffer.size": "16777216",
    "log.cleaner.backoff.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "broker.heartbeat.interval.ms": "300",
}


@dataclass(frozen=True)
class Node:
    """A broker's number and ports; with `internal_port` its clients must authenticate on the other one."""

    number: int
    client_port: int
    controller_port: int
    internal_port: int | None = None

    @property
    def name(self) -> str:
        return f"kafka-{self.number}"


def properties(node: Node, cluster: Sequence[Node], overrides: Mapping[str, str]) -> dict[str, str]:
    """What goes into a broker's `server.properties`."""
    replicas = str(min(3, len(cluster)))
    in_sync = str(min(2, len(cluster)))
    listeners = {"CLIENT": node.client_port, "CONTROLLER": node.controller_port}
    if node.internal_port is not None:
        listeners["INTERNAL"] = node.internal_port
    protocols = dict.fromkeys(listeners, "PLAINTEXT")
    result = _PROPERTIES | {
        "node.id": str(node.number),
        "controller.quorum.voters": ",".join(f"{n.number}@127.0.0.1:{n.controller_port}" for n in cluster),
        "inter.broker.listener.name": "CLIENT",
        "log.dirs": f"{node.name}/{_DATA}",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.replication.factor": replicas,
    }
    if node.internal_port is not None:
        protocols["CLIENT"] = "SASL_PLAINTEXT"
        result |= {
            "inter.broker.listener.name": "INTERNAL",
            "listener.name.client.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.client.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            # Servers talk among themselves without authentication. That keeps apart clients which use the address that
            # they are given; it is no protection from others on this machine.
            "super.users": "User:admin;User:ANONYMOUS",
        }
    result["listeners"] = ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())
    result["listener.security.protocol.map"] = ",".join(f"{name}:{p}" for name, p in protocols.items())
    return {**result, **overrides}


class Installation:
    """Kafka on this machine: a Java, the jars, and the class-data archive, or the wish to write one."""

    def __init__(self, cache: Path, report: Report) -> None:
        self._java = find_java()
        self._folder = cache / f"kafka-{kafka_version()}"
        self._jars = ensure_jars(self._folder, report)
        self._key = archive_key(self._java, _FLAGS, self._jars)
        self._archive = find_archive(self._folder, self._key)

    @property
    def has_archive(self) -> bool:
        return self._archive is not None

    def command(self, main: str, *arguments: str | Path, folder: str, archives: bool = False) -> list[str]:
        """One of Kafka's programs, in the stack's folder, where it writes to `folder` and `logs` only."""
        archive: list[str] = []
        if self._archive is not None:
            archive = [f"-XX:SharedArchiveFile={self._archive}"]
        elif archives:
            archive = [f"-XX:ArchiveClassesAtExit={folder}/{_ARCHIVE}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
        return [
            str(self._java.command),
            *_FLAGS,
            *archive,
            f"-Djava.io.tmpdir={folder}",
            "-XX:ErrorFile=logs/java-crash-%p.log",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-cp",
            ":".join(map(str, self._jars)),
            main,
            *map(str, arguments),
        ]

    def keep_archive(self, fresh: Path) -> None:
        keep_archive(self._folder, self._key, fresh)


class KafkaBroker:
    """A broker that can be started, stopped, killed, paused and started again, on its own ports and data."""

    def __init__(
        self,
        node: Node,
        installation: Installation,
        servers: Servers,
        settings: Mapping[str, str],
        *,
        archives: bool,
    ) -> None:
        self.node = node
        self._installation = installation
        self._servers = servers
        self._server: Server | None = None
        self.data = servers.folder / node.name / _DATA
        self.archives = archives
        """Whether it writes the class-data archive when it stops in order."""
        # Java starts in the stack's folder and is given paths from there: what that folder is called, and in which
        # encoding, is then not Java's affair.
        self._settings = Path(node.name, "server.properties")
        (servers.folder / node.name).mkdir()
        lines = [f"{key}={_escaped(value)}\n" for key, value in settings.items()]
        (servers.folder / self._settings).write_text("".join(lines), encoding="ascii")

    @property
    def is_running(self) -> bool:
        return self._server is not None and self._server.exit_code() is None

    @property
    def pid(self) -> int:
        return self._running().pid

    def format(self, cluster_id: str, users: Mapping[str, str]) -> Server:
        """Begin to prepare the empty data folder; `users` (name to password) can log in from the start."""
        scram = [f"SCRAM-SHA-512=[name={name},password={password}]" for name, password in users.items()]
        arguments = [part for credential in scram for part in ("--add-scram", credential)]
        return self._servers.start(
            f"{self.node.name}-format",
            self._installation.command(
                "kafka.tools.StorageTool",
                "format",
                "-t",
                cluster_id,
                "-c",
                self._settings,
                *arguments,
                folder=self.node.name,
            ),
        )

    def start(self) -> None:
        """Start it; it is not ready yet when this returns."""
        if self.is_running:
            raise StackError(f"{self.node.name} runs already.")
        self._server = self._servers.start(
            self.node.name,
            self._installation.command("kafka.Kafka", self._settings, folder=self.node.name, archives=self.archives),
        )

    def stop(self) -> None:
        """Let it shut down in order, as an operator would."""
        server = self._running()
        server.signal(signal.SIGCONT)  # a paused one cannot
        server.signal(signal.SIGTERM)
        server.wait(_STOP_SECONDS_ARCHIVING if self.archives else _STOP_SECONDS)
        fresh = self._servers.folder / self.node.name / _ARCHIVE
        if self.archives and fresh.exists():
            self._installation.keep_archive(fresh)
            self.archives = False

    def kill(self) -> None:
        """End it as a crash would (SIGKILL)."""
        server = self._running()
        server.signal(signal.SIGKILL)
        server.wait(_STOP_SECONDS)

    def pause(self) -> None:
        """Freeze it (SIGSTOP): connections stay open, and nobody answers."""
        self._running().signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._running().signal(signal.SIGCONT)

    def require_running(self) -> None:
        """Raise, with its last words, if it has ended by itself."""
        if self._server is not None:
            self._server.require_running()

    def _running(self) -> Server:
        if self._server is None or self._server.exit_code() is not None:
            raise StackError(f"{self.node.name} is not running.")
        return self._server


def _escaped(value: str) -> str:
    """As Java reads a property: ASCII, with the escapes of a JSON string."""
    return json.dumps(value)[1:-1]
