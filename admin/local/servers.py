"""Servers as child processes of a keeper: started, signalled and watched through it, gone when we are gone."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tamis.admin.errors import StackError
from tamis.admin.local import keeper

_POLL_SECONDS = 0.01
_LOG_TAIL_LINES = 15


class Servers:
    """A folder and the servers that live in it, held by a keeper process (`keeper.py`)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn = 0
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in a terminal is for us alone: we decide when the servers stop
        )
        greeting = self._read_answer()
        if "error" in greeting:
            self._keeper.communicate()
            raise StackError(f"A stack cannot start: {greeting['error']}. Point TMPDIR to a folder that has room.")
        self.folder = Path(greeting["folder"])
        self.logs = self.folder / "logs"
        self.logs.mkdir()

    def start(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> "Server":
        """In the folder, with this environment or with ours; a name may be used again once its server has ended."""
        log = self.logs / f"{name}.log"
        answer = self.ask(
            do="start",
            name=name,
            command=[str(part) for part in command],
            log=str(log),
            environment=None if environment is None else dict(environment),
        )
        return Server(self, name, answer["pid"], log)

    def end(self, *, keep_logs: bool = False) -> None:
        """Kill all servers and remove the folder, all but its logs if these are wanted; once is enough."""
        assert self._keeper.stdin is not None
        if self._keeper.stdin.closed:
            return
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._write(do="end", keep_logs=keep_logs)
        self._keeper.communicate()
        if self._keeper.returncode != 0:  # it was killed, and could not clear up
            shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, **request: Any) -> Any:
        """The keeper's answer to one request (`Keeper.do_...`)."""
        with self._lock:
            self._turn += 1
            try:
                self._write(turn=self._turn, **request)
                # An interrupt may have left the answers to earlier requests unread.
                while (answer := self._read_answer())["turn"] != self._turn:
                    continue
            except (BrokenPipeError, ValueError) as error:
                raise StackError(
                    "The process that keeps the stack's servers is gone, and they with it. Start the stack again."
                ) from error
        if "error" in answer:
            raise StackError(f"{request['name']} could not be handled: {answer['error']}.")
        return answer

    def _write(self, **request: Any) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(json.dumps(request).encode() + b"\n")
        self._keeper.stdin.flush()

    def _read_answer(self) -> Any:
        assert self._keeper.stdout is not None
        return json.loads(self._keeper.stdout.readline())


class Server:
    """One server process; its output goes to `log`."""

    def __init__(self, servers: Servers, name: str, pid: int, log: Path) -> None:
        self._servers = servers
        self.name = name
        self.pid = pid
        self.log = log

    def exit_code(self) -> int | None:
        """None while it runs; negative if a signal ended it."""
        code: int | None = self._servers.ask(do="exit_code", name=self.name)["exit_code"]
        return code

    def signal(self, number: signal.Signals) -> None:
        self._servers.ask(do="signal", name=self.name, number=number)

    def wait(self, seconds: float) -> int:
        """Its exit code, once it has ended; a server that has not after `seconds` is a `StackError`."""
        deadline = time.monotonic() + seconds
        while (code := self.exit_code()) is None:
            if time.monotonic() > deadline:
                raise StackError(f"{self.name} (process {self.pid}) has not ended within {seconds:g} s.")
            time.sleep(_POLL_SECONDS)
        return code

    def require_running(self) -> None:
        """Raise with the end of its log if it has ended by itself."""
        code = self.exit_code()
        if code is not None:
            raise StackError(f"{self.name} ended by itself with exit code {code}. {self.last_words()}")

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
        full = any("No space left on device" in line for line in lines)
        hint = "The disk is full: free some space or point TMPDIR to another disk. " if full else ""
        return hint + (f"The end of {self.log}:\n" + "\n".join(lines) if lines else f"{self.log} is empty.")
