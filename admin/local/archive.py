"""The class-data archive: Kafka's loaded classes, saved by one Java process and mapped by the next.

With it a broker is ready in a second instead of several. Java ignores an archive that does not fit, without a word, and
may crash on one that is damaged; so an archive's name carries a key of everything that it depends on, and the digest of
its own bytes. One rename puts it in place whole.
"""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from tamis.admin.local.cache import locked
from tamis.admin.local.java import Java

_KEPT = 4


def archive_key(java: Java, flags: Sequence[str], jars: Sequence[Path]) -> str:
    """A key that changes when an archive made before would no longer fit."""
    parts = [java.identity, str(java.command.resolve()), *flags]
    for jar in jars:
        status = jar.stat()
        parts.append(f"{jar} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]


def find_archive(folder: Path, key: str) -> Path | None:
    """The archive of this key, if there is an intact one; a damaged one is removed."""
    for path in folder.glob(f"classes-{key}-*.jsa"):
        try:
            if path.name == _name(key, path):
                return path
            path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue  # another stack found it damaged or stale, and was faster
    return None


def keep_archive(folder: Path, key: str, fresh: Path) -> None:
    """Move a freshly written archive into `folder`, and drop the oldest beyond a few: there may be several Javas."""
    with locked(folder / "lock", waiting=lambda: None):
        arriving = folder / "classes.arriving"
        try:
            shutil.move(fresh, arriving)  # the stack's folder may be on another disk, where a rename is no rename
            final = folder / _name(key, arriving)
            arriving.replace(final)
        finally:
            arriving.unlink(missing_ok=True)
        for same in folder.glob(f"classes-{key}-*.jsa"):
            if same != final:
                same.unlink(missing_ok=True)
        by_age = sorted(folder.glob("classes-*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
        for stale in by_age[_KEPT:]:
            stale.unlink(missing_ok=True)


def _name(key: str, path: Path) -> str:
    with path.open("rb") as file:
        return f"classes-{key}-{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}.jsa"
