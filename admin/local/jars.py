"""Kafka's jars: fetched once by their Maven coordinates, and checked against pinned digests at every start.

`kafka_jars.txt` names each jar with its SHA-256, so that a damaged, half-written or exchanged jar is noticed however it
came about, and replaced. Hashing all 46 MB takes 45 ms.
"""

import hashlib
import importlib.resources
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tamis.admin.errors import StackError
from tamis.admin.local.cache import Report, disk_errors_explained, locked, require_space

_SPACE_NEEDED = 200_000_000  # jars 46 MB, twice while they are fetched, and the class-data archive 50 MB
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
    require_space(folder, _SPACE_NEEDED, "Kafka")
    for jar in jars:
        if (folder / jar.file_name).exists():
            report(f"{jar.file_name} is damaged: fetching it again.")
    report(f"Fetching Kafka {kafka_version()} ({len(jars)} of {len(pinned_jars())} jars) ...")
    with (
        tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as arrivals,
        ThreadPoolExecutor(_PARALLEL_DOWNLOADS) as pool,
    ):
        downloads = [pool.submit(_download, jar, Path(arrivals)) for jar in jars]
        try:
            for count, (jar, download) in enumerate(zip(jars, downloads, strict=True), start=1):
                download.result().replace(folder / jar.file_name)
                if count % 10 == 0 or count == len(jars):
                    report(f"  {count} of {len(jars)} jars")
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _download(jar: Jar, arrivals: Path) -> Path:
    try:
        from jgo.config import GlobalSettings
        from jgo.maven import MavenContext
        from requests import RequestException
    except ImportError as error:
        raise StackError('Fetching Kafka needs the extra "local". Install it: pip install "tamis[local]".') from error
    # Repositories of jgo's configuration take the place of Maven Central: closed networks have mirrors.
    context = MavenContext(repo_cache=arrivals, remote_repos=GlobalSettings.load().repositories or None, timeout=30)
    group, artifact, version = jar.coordinates.split(":")
    try:
        path = context.project(group, artifact).at_version(version).artifact().resolve()
    except (RequestException, RuntimeError) as error:
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
