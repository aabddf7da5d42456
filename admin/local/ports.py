"""Ports that stay ours: a broker that is killed and started again must find its own port free.

A port from the kernel's ephemeral range can be taken meanwhile as the source of somebody's outgoing connection, so
these come from below that range; a lock on a file named after the port keeps two stacks of one user apart.
"""

import contextlib
import errno
import fcntl
import os
import random
import socket
import tempfile
from io import TextIOWrapper
from pathlib import Path

from tamis.admin.errors import StackError
from tamis.admin.local.cache import disk_errors_explained

_LOWEST, _HIGHEST = 15_000, 32_000
_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class Ports:
    """Claims free loopback ports, and holds them until `release`."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / f"tamis-ports-{os.getuid()}"
        self._held: list[TextIOWrapper] = []

    def claim(self, wanted: int | None = None) -> int:
        """A port of the caller's own: `wanted` if given, else any free one."""
        with disk_errors_explained(self._folder):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if wanted is not None:
                if not self._take(wanted):
                    raise StackError(
                        f"Port {wanted} on 127.0.0.1 is in use. Stop what listens there, or name another port."
                    )
                return wanted
            for port in random.sample(_range_below_ephemeral(), k=1000):
                if self._take(port):
                    return port
        raise StackError("No free port was found in 1,000 tries: this machine listens on nearly all of them.")

    def release(self) -> None:
        for file in self._held:
            Path(file.name).unlink(missing_ok=True)
            file.close()
        self._held.clear()

    def _take(self, port: int) -> bool:
        path = self._folder / str(port)
        file = path.open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A holder unlinks its file when it lets go; a lock on a file that has no name any more keeps nobody out.
            is_ours = os.path.samestat(path.stat(), os.fstat(file.fileno())) and _is_free(port)
        except (BlockingIOError, FileNotFoundError):
            is_ours = False
        except BaseException:
            file.close()
            raise
        if is_ours:
            self._held.append(file)
        else:
            file.close()
        return is_ours


def _is_free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        # As the servers do: a connection of the last owner in TIME_WAIT is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            raise StackError(f"Port {port} needs a privilege. Name one above 1023.") from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


def _range_below_ephemeral() -> range:
    with contextlib.suppress(OSError):
        lowest_ephemeral = int(_EPHEMERAL_RANGE.read_text().split()[0])
        if lowest_ephemeral - 2_000 > _LOWEST:
            return range(_LOWEST, min(_HIGHEST, lowest_ephemeral))
    return range(_LOWEST, _HIGHEST)
