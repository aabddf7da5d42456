"""Where an archive lies, and who may write to it on this machine."""

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tamis.broker.errors import ConflictError, InvalidError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/", re.ASCII)
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, on this machine or in a store that Spark can write."""

    url: str

    @classmethod
    def at(cls, given: str) -> Self:
        """A path is one of this machine, wherever Spark's own default may be."""
        if not given.strip():
            raise InvalidError("The archive's path is empty. Name a folder, or the URL of one: s3a://bucket/tamis.")
        if _URL.match(given) and not given.startswith("file:"):
            return cls(given.rstrip("/"))
        path = Path(re.sub(r"^file:/*", "/", given)).expanduser().resolve()
        return cls(f"file:{path}")

    @property
    def folder(self) -> Path | None:
        """None if it is not on this machine."""
        return Path(self.url.removeprefix("file:")) if self.url.startswith("file:") else None

    @property
    def records(self) -> str:
        """The table of all records."""
        return f"{self.url}/records"

    @property
    def beginnings(self) -> str:
        """The table that says from where on the records are whole."""
        return f"{self.url}/beginnings"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else on this machine archives to it meanwhile. ConflictError if somebody does.

        The kernel's lock: one who is killed gives it up. Where the archive is in a store, and from machine to machine,
        the table itself sees to it that of two archivers the newer one goes on.
        """
        if self.folder is None:
            yield
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InvalidError(
                f"{self.folder} cannot be written: {error.strerror}. Name another folder: --path, or archive.path."
            ) from error
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
                raise ConflictError(
                    f"Another process of this machine archives to {self.folder}. One is enough: it reads all topics."
                ) from error
            yield
        finally:
            os.close(file)
