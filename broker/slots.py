"""Slots: names for the places that processes of a shard take, so that who comes back is known to Kafka.

A process that returns under its old name ends at once the transaction that its predecessor left open. So a name
outlives a process, and no two processes may have one at the same time: on one machine a file lock sees to that, beyond
it Kafka ends what the older one does.
"""

import errno
import fcntl
import os
import re
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from tamis.broker.errors import ConflictError, InvalidError

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}", re.ASCII)
_SLOTS_MAX = 1000


class Slot:
    """A name that is this process's own until it is closed, or the process ends."""

    def __init__(self, name: str, file: int) -> None:
        self.name = name
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def state_folder() -> Path:
    """Where processes of this machine keep what they must find again: `TAMIS_STATE_DIR`, else the user's own."""
    given = os.environ.get("TAMIS_STATE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "tamis"


def take_slot(group: str, name: str | None = None, folder: Path | None = None) -> Slot:
    """The slot of that name; without one, this host's first that is free."""
    place = (folder or state_folder()) / "slots"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidError(
            f"{place} cannot be made: {error.strerror}. Name a folder that can be written: TAMIS_STATE_DIR."
        ) from error
    if name is not None:
        if not _NAME.fullmatch(name):
            raise InvalidError(f"a slot is 1 to 100 of A-Z a-z 0-9 . - _, not {name!r}")
        slot = _locked(place, group, name)
        if slot is None:
            raise ConflictError(
                f"Slot {name} of group {group} is taken by another process of this machine. "
                "Give each process a slot of its own, or none."
            )
        return slot
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:90] or "host"
    for number in range(_SLOTS_MAX):
        slot = _locked(place, group, f"{host}-{number}")
        if slot is not None:
            return slot
    raise ConflictError(f"All {_SLOTS_MAX} slots of this machine are taken: see {place}.")


def _locked(folder: Path, group: str, name: str) -> Slot | None:
    path = folder / f"{group}.{name}.lock"
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InvalidError(
            f"{path} cannot be written: {error.strerror}. Whoever started Tamis here before may own it, or the disk is "
            "full. Mend that, or name another folder: TAMIS_STATE_DIR."
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return None
        raise
    return Slot(name, file)
