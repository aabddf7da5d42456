"""A process that starts a stack's servers, and ends them and their folder when the stack's owner is gone.

The owner talks to it in JSON lines, one answer a request; when the owner's end of the pipe closes, however the owner
died, the keeper kills the servers, removes the folder and ends. Should the keeper itself be killed, Linux kills its
servers (PR_SET_PDEATHSIG; it goes by the thread that forked, hence one process with one thread does all the starting).

Run as a script with the owner's process id, by the plain interpreter: it needs the standard library only, and is up in
20 ms.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_OWNER_CHECK_SECONDS = 0.5
_PR_SET_PDEATHSIG = 1
_PREFIX = "tamis-"
_LOCK = "keeper.lock"


class Keeper:
    """The servers of one stack, their folder, and what may be asked about them."""

    def __init__(self, owner: int) -> None:
        self._owner = owner
        self._process = os.getpid()
        sweep_abandoned()
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = (self._folder / "locking").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        Path(self._lock.name).rename(self._folder / _LOCK)  # only now, so that nobody meets it unlocked
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        self._unread = b""
        self._prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def serve(self) -> None:
        """Answer the owner until it asks for the end, or is gone."""
        keep_logs = False
        try:
            self._answer(folder=str(self._folder))
            while request := self._next_request():
                if request["do"] == "end":
                    keep_logs = request["keep_logs"]
                    break
                turn = request.pop("turn")
                try:
                    self._answer(turn=turn, **getattr(self, f"do_{request.pop('do')}")(**request))
                except OSError as error:
                    self._answer(turn=turn, error=str(error))
        except BrokenPipeError:
            pass  # the owner died between its question and our answer
        finally:
            self._clean_up(keep_logs=keep_logs)

    def do_start(self, name: str, command: list[str], log: str, environment: dict[str, str] | None) -> dict[str, Any]:
        with Path(log).open("ab") as file:
            self._servers[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=environment,
                preexec_fn=self._die_with_keeper,  # noqa: PLW1509  this process has one thread
            )
        return {"pid": self._servers[name].pid}

    def do_signal(self, name: str, number: int) -> dict[str, Any]:
        self._servers[name].send_signal(number)
        return {}

    def do_exit_code(self, name: str) -> dict[str, Any]:
        return {"exit_code": self._servers[name].poll()}

    def _next_request(self) -> dict[str, Any] | None:
        """The next request, or none once the owner is gone.

        The pipe alone cannot tell: a process that the owner forked holds it open too, so the parent is watched as well.
        """
        # A buffered reader would take in two requests at once, and `select` would then wait for a third.
        while b"\n" not in self._unread:
            if select.select([sys.stdin], [], [], _OWNER_CHECK_SECONDS)[0]:
                part = os.read(sys.stdin.fileno(), 65536)
                if not part:
                    return None
                self._unread += part
            elif os.getppid() != self._owner:
                return None
        line, _, self._unread = self._unread.partition(b"\n")
        request: dict[str, Any] = json.loads(line)
        return request

    def _answer(self, **fields: Any) -> None:
        print(json.dumps(fields), flush=True)

    def _die_with_keeper(self) -> None:
        if self._prctl is not None:
            self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != self._process:  # it died before it could be said
                os._exit(1)

    def _clean_up(self, *, keep_logs: bool) -> None:
        for server in self._servers.values():
            server.kill()
        for server in self._servers.values():
            server.wait()
        if keep_logs:
            for entry in self._folder.iterdir():
                if entry.is_dir() and entry.name != "logs":
                    shutil.rmtree(entry, ignore_errors=True)
            (self._folder / _LOCK).unlink()
        else:
            shutil.rmtree(self._folder, ignore_errors=True)


def sweep_abandoned() -> None:
    """Remove the folders of stacks that nobody could clear up: their keepers were killed too."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent)


def main() -> None:
    """Keep servers for the process whose id is the first argument."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit())
    try:
        keeper = Keeper(owner=int(sys.argv[1]))
    except OSError as error:
        print(json.dumps({"error": f"no temporary folder could be made: {error}"}), flush=True)
        sys.exit(1)
    keeper.serve()


if __name__ == "__main__":
    main()
