"""The user's cache folder: what is fetched or made once, and shared by every stack of this user."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tamis.admin.errors import StackError

Report = Callable[[str], None]
"""Takes one line of progress for a person."""


def no_report(line: str) -> None:
    """Progress that nobody wants to hear of."""


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/tamis`, by default `~/.cache/tamis`; made if missing."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG specification: a relative path is to be ignored
        base = Path("~/.cache").expanduser()
    folder = base / "tamis"
    with disk_errors_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file `path`; `waiting` is called once if another process has it.

    The lock is the kernel's (flock), so a holder that is killed gives it up.
    """
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def require_space(folder: Path, needed: int, purpose: str) -> None:
    """Refuse early what would fill the disk half-way."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StackError(
            f"{folder} has {free / 1e6:.0f} MB free, and {purpose} needs {needed / 1e6:.0f} MB. "
            "Free some space, or point TMPDIR (data) or XDG_CACHE_HOME (cache) to another disk."
        )


@contextlib.contextmanager
def disk_errors_explained(folder: Path) -> Iterator[None]:
    """Turn a full or read-only disk below `folder` into words."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StackError(
                f"The disk that holds {folder} is full. Free some space, or point TMPDIR (data) or "
                "XDG_CACHE_HOME (cache) to another disk."
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR):
            raise StackError(
                f"{error.filename or folder} cannot be written: {error.strerror}. Point TMPDIR (data) or "
                "XDG_CACHE_HOME (cache) to a folder of yours."
            ) from error
        raise
