"""Kafka's jars: fetched once by their Maven coordinates, and checked against pinned digests at every start.

`kafka_jars.txt` names each jar with its SHA-256, so that a damaged, half-written or exchanged jar is noticed however it
came about, and replaced. Hashing all 46 MB takes 45 ms.
"""

import configparser
import contextlib
import hashlib
import importlib.resources
import queue
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tamis.admin.errors import StackError
from tamis.admin.local.cache import Report, disk_errors_explained, locked, require_space

_SPACE_NEEDED = 4_000_000  # for each jar: 1 MB on average, twice while they are fetched, and the class-data archive
_PARALLEL_DOWNLOADS = 8


@dataclass(frozen=True)
class Jar:
    """One pinned jar: Maven coordinates `group:artifact:version`, and the SHA-256 of its bytes."""

    coordinates: str
    sha256: str

    @property
    def file_name(self) -> str:
        _group, artifact, version = self.coordinates.split(":")
        return f"{artifact}-{version}.jar"

    def is_intact(self, path: Path) -> bool:
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256
        except FileNotFoundError:
            return False


@cache
def pinned_jars() -> tuple[Jar, ...]:
    """The jars of the Kafka that this release of Tamis runs, in class path order."""
    text = importlib.resources.files("tamis.admin.local").joinpath("kafka_jars.txt").read_text()
    return tuple(Jar(*line.split()) for line in text.splitlines() if line and not line.startswith("#"))


def kafka_version() -> str:
    return next(
        version
        for group, artifact, version in (jar.coordinates.split(":") for jar in pinned_jars())
        if (group, artifact) == ("org.apache.kafka", "kafka-clients")
    )


def ensure_jars(folder: Path, report: Report) -> list[Path]:
    """The pinned jars in `folder`, each of them intact; what is missing or damaged is fetched."""
    if _damaged(folder):
        with disk_errors_explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder / "lock", lambda: report("Waiting: another process is fetching Kafka ...")):
                _fetch(folder, _damaged(folder), report)
    return [folder / jar.file_name for jar in pinned_jars()]


def _damaged(folder: Path) -> list[Jar]:
    with ThreadPoolExecutor() as pool:
        intact = pool.map(lambda jar: jar.is_intact(folder / jar.file_name), pinned_jars())
        return [jar for jar, is_intact in zip(pinned_jars(), intact, strict=True) if not is_intact]


def _fetch(folder: Path, jars: list[Jar], report: Report) -> None:
    """Fetch into a folder of its own beside the jars, check there, then move each into place at once."""
    for abandoned in folder.glob("fetch-*"):  # under the lock, so its owner is dead
        shutil.rmtree(abandoned, ignore_errors=True)
    if not jars:
        return
    require_space(folder, _SPACE_NEEDED * len(jars), "Kafka")
    for jar in jars:
        if (folder / jar.file_name).exists():
            report(f"{jar.file_name} is damaged: fetching it again.")
    report(f"Fetching Kafka {kafka_version()} ({len(jars)} of {len(pinned_jars())} jars) ...")
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder, ignore_cleanup_errors=True) as arrivals:
        failures = _fetch_all(jars, Path(arrivals), folder, report)
    if failures:
        raise failures[0]


def _fetch_all(jars: list[Jar], arrivals: Path, folder: Path, report: Report) -> list[BaseException]:
    """Fetch in parallel, and return what went wrong once every jar was tried.

    The threads are daemons: whoever interrupts a download does not wait for a server that trickles.
    """
    context = _maven(arrivals)
    wanted: queue.SimpleQueue[Jar] = queue.SimpleQueue()
    outcomes: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    for jar in jars:
        wanted.put(jar)

    def work() -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                jar = wanted.get_nowait()
                try:
                    _download(jar, context).replace(folder / jar.file_name)
                    outcomes.put(None)
                except BaseException as error:  # noqa: BLE001  raised by the thread that waits for it
                    outcomes.put(error)

    for _ in range(_PARALLEL_DOWNLOADS):
        threading.Thread(target=work, daemon=True).start()
    failures: list[BaseException] = []
    for count in range(1, len(jars) + 1):
        outcome = outcomes.get()
        if outcome is not None:
            failures.append(outcome)
        if count % 10 == 0 or count == len(jars):
            report(f"  {count - len(failures)} of {len(jars)} jars")
    return failures


def _maven(arrivals: Path) -> Any:
    """Whence jars come: the repositories of jgo's configuration (closed networks have mirrors) or Maven Central."""
    try:
        from jgo.config import GlobalSettings
        from jgo.maven import MavenContext
    except ImportError as error:
        raise StackError('Fetching Kafka needs the extra "local". Install it: pip install "tamis[local]".') from error
    try:
        repositories = GlobalSettings.load().repositories or None
    except configparser.Error as error:
        raise StackError(f"jgo's configuration cannot be read: {error}. Correct ~/.config/jgo.conf.") from error
    return MavenContext(repo_cache=arrivals, remote_repos=repositories, timeout=30)


def _download(jar: Jar, context: Any) -> Path:
    import requests

    group, artifact, version = jar.coordinates.split(":")
    try:
        path: Path = context.project(group, artifact).at_version(version).artifact().resolve()
    except (requests.RequestException, RuntimeError) as error:
        raise StackError(
            f"{jar.coordinates} could not be downloaded: {error}. Check the network (HTTPS_PROXY is respected; a "
            "mirror goes into ~/.config/jgo.conf, section [repositories]), then try again: what has arrived is kept."
        ) from error
    if not jar.is_intact(path):
        raise StackError(
            f"{jar.coordinates} arrived with another SHA-256 than the pinned {jar.sha256}: a proxy or mirror may have "
            "answered with something else, or the connection broke. Try again, or use another network."
        )
    return path
