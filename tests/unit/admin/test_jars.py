"""Fetching and repairing Kafka's jars, from a Maven repository on loopback that serves what the cache holds."""

import functools
import hashlib
import http.server
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis.admin.local import StackError, no_report
from tamis.admin.local import jars as module
from tamis.admin.local.jars import Jar, ensure_jars, kafka_version, pinned_jars

# jgo leaves the connection of an answer open that is no jar.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_every_pinned_jar_has_whole_coordinates_and_a_digest() -> None:
    assert len(pinned_jars()) > 40
    for jar in pinned_jars():
        assert len(jar.coordinates.split(":")) == 3
        assert re.fullmatch("[0-9a-f]{64}", jar.sha256)
    assert re.fullmatch(r"4\.\d+\.\d+", kafka_version())
    assert len({jar.file_name for jar in pinned_jars()}) == len(pinned_jars())


class Repository(http.server.ThreadingHTTPServer):
    """A Maven repository: a folder over HTTP, which counts its answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.served: list[str] = []
        self.cut_short = False
        super().__init__(("127.0.0.1", 0), functools.partial(Answer, directory=str(folder)))

    def publish(self, coordinates: str, content: bytes) -> Jar:
        group, artifact, version = coordinates.split(":")
        path = self.folder.joinpath(*group.split("."), artifact, version, f"{artifact}-{version}.jar")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return Jar(coordinates, hashlib.sha256(content).hexdigest())


class Answer(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Repository)
        self.server.served.append(self.path.rsplit("/", 1)[1])
        if self.server.cut_short and self.path.endswith(".jar"):
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(b"half a jar")
            return
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    folder = tmp_path / "repository"
    folder.mkdir()
    with Repository(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        config = tmp_path / "jgo.conf"
        config.write_text(f"[repositories]\nmirror = http://127.0.0.1:{server.server_port}\n")
        monkeypatch.setenv("JGO_CONFIG_FILE", str(config))
        pins = (server.publish("org.a:one:1.0", b"one" * 100), server.publish("org.b.c:two:2.1", b"two" * 100))
        monkeypatch.setattr(module, "pinned_jars", lambda: pins)
        monkeypatch.setattr(module, "kafka_version", lambda: "0.0")
        yield server
        server.shutdown()
        thread.join()


def fetched(repository: Repository) -> list[str]:
    names = sorted(name for name in repository.served if name.endswith(".jar"))
    repository.served.clear()
    return names


def test_what_is_missing_is_fetched_once(repository: Repository, tmp_path: Path) -> None:
    said: list[str] = []
    paths = ensure_jars(tmp_path / "cache", said.append)
    assert [path.name for path in paths] == ["one-1.0.jar", "two-2.1.jar"]
    assert paths[0].read_bytes() == b"one" * 100
    assert fetched(repository) == ["one-1.0.jar", "two-2.1.jar"]
    assert any("Fetching" in line for line in said)
    ensure_jars(tmp_path / "cache", said.append)
    assert fetched(repository) == []


@pytest.mark.parametrize("damage", [b"", b"one" * 99, b"One" + b"one" * 99])
def test_a_damaged_jar_is_noticed_and_only_it_is_fetched_again(
    damage: bytes, repository: Repository, tmp_path: Path
) -> None:
    one, _two = ensure_jars(tmp_path / "cache", no_report)
    fetched(repository)
    one.write_bytes(damage)
    said: list[str] = []
    ensure_jars(tmp_path / "cache", said.append)
    assert fetched(repository) == ["one-1.0.jar"]
    assert one.read_bytes() == b"one" * 100
    assert "one-1.0.jar is damaged: fetching it again." in said


def test_a_jar_with_another_digest_never_reaches_its_place(repository: Repository, tmp_path: Path) -> None:
    repository.publish("org.a:one:1.0", b"something else")
    with pytest.raises(StackError, match=r"org\.a:one:1\.0 arrived with another SHA-256"):
        ensure_jars(tmp_path / "cache", no_report)
    assert not (tmp_path / "cache" / "one-1.0.jar").exists()


def test_a_connection_that_breaks_half_way_leaves_no_half_jar(repository: Repository, tmp_path: Path) -> None:
    repository.cut_short = True
    with pytest.raises(StackError, match=r"could not be downloaded|another SHA-256"):
        ensure_jars(tmp_path / "cache", no_report)
    assert list((tmp_path / "cache").glob("*.jar")) == []
    repository.cut_short = False
    ensure_jars(tmp_path / "cache", no_report)


@pytest.mark.usefixtures("repository")
def test_what_an_interrupted_fetch_left_is_cleared_away(tmp_path: Path) -> None:
    left = tmp_path / "cache" / "fetch-dead"
    left.mkdir(parents=True)
    (left / "half.jar").write_bytes(b"half")
    ensure_jars(tmp_path / "cache", no_report)
    assert not left.exists()


def test_two_first_starts_at_once_fetch_once(repository: Repository, tmp_path: Path) -> None:
    results: list[list[Path]] = []
    threads = [
        threading.Thread(target=lambda: results.append(ensure_jars(tmp_path / "cache", no_report))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert fetched(repository) == ["one-1.0.jar", "two-2.1.jar"]


def test_what_has_arrived_is_kept_when_something_is_missing(repository: Repository, tmp_path: Path) -> None:
    missing = repository.folder / "org" / "a" / "one" / "1.0" / "one-1.0.jar"
    content = missing.read_bytes()
    missing.unlink()
    with pytest.raises(StackError, match=r"org\.a:one:1\.0 could not be downloaded"):
        ensure_jars(tmp_path / "cache", no_report)
    assert [path.name for path in (tmp_path / "cache").glob("*.jar")] == ["two-2.1.jar"]
    missing.write_bytes(content)
    fetched(repository)
    ensure_jars(tmp_path / "cache", no_report)
    assert fetched(repository) == ["one-1.0.jar"]


@pytest.mark.usefixtures("repository")
def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "jgo.conf").write_text("no section here")
    with pytest.raises(StackError, match=r"jgo's configuration cannot be read"):
        ensure_jars(tmp_path / "cache", no_report)


def test_an_interrupted_download_does_not_wait_for_a_server_that_trickles(tmp_path: Path) -> None:
    script = (
        "import socket, sys, threading\n"
        "from pathlib import Path\n"
        "from tamis.admin.local.jars import ensure_jars\n"
        "print('ready', flush=True)\n"
        "ensure_jars(Path(sys.argv[1]), lambda line: None)\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = tmp_path / "jgo.conf"
        config.write_text(f"[repositories]\nmirror = http://127.0.0.1:{silent.getsockname()[1]}\n")
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "cache")],
            env={**os.environ, "JGO_CONFIG_FILE": str(config)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        connection, _address = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=10)
    assert process.returncode == -signal.SIGINT


def test_no_network_is_said_with_what_to_do(repository: Repository, tmp_path: Path) -> None:
    repository.shutdown()
    repository.server_close()
    with pytest.raises(StackError, match=r"could not be downloaded.*Check the network.*what has arrived is kept"):
        ensure_jars(tmp_path / "cache", no_report)


def test_a_full_disk_is_said_before_the_download(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SPACE_NEEDED", 10**18)
    with pytest.raises(StackError, match=r"MB free, and Kafka needs.*Free some space"):
        ensure_jars(tmp_path / "cache", no_report)
    assert fetched(repository) == []
