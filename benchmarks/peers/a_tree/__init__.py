"""The crate a-tree, behind a small program in Rust: built by cargo, fed by files, asked line by line."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads.workload import Event

_HERE = Path(__file__).parent
_TARGET = _HERE.parents[2] / "build" / "peers"
_BETWEEN = re.compile(r"(\w+) between (\S+) and (\S+)")


def build() -> Path | None:
    """The program, built by cargo; None where there is no cargo."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return None
    command = [cargo, "build", "--release", "--quiet"]
    subprocess.run([*command, f"--manifest-path={_HERE / 'Cargo.toml'}", f"--target-dir={_TARGET}"], check=True)
    return _TARGET / "release" / "a-tree-peer"


def translated(text: str) -> str:
    """A conjunction of comparisons of integers in the crate's language, which lacks `between`."""
    return _BETWEEN.sub(r"\1 >= \2 and \1 <= \3", text)


class ATree:
    """The crate's tree over a workload of integers, in a process of its own that lives until the end of `with`."""

    def __init__(self, program: Path, folder: Path, texts: Sequence[str], events: Sequence[Event]) -> None:
        names = {name for event in events for name in event}
        names |= {name for text in texts for name in re.findall(r"[a-z]\w*(?= [<>=b])", text)}
        _write(folder / "attributes.txt", sorted(names))
        _write(folder / "subscriptions.txt", map(translated, texts))
        pairs = (" ".join(f"{name}={value}" for name, value in event.items()) for event in events)
        _write(folder / "events.txt", pairs)
        self._folder = folder
        self._process = subprocess.Popen(
            [program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        told = self._told()
        self.build_seconds, self.memory_bytes = float(told["build_seconds"]), int(told["bytes"])
        self.us_an_event = float("inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def match(self, events: int) -> None:
        """Search for the first events; the shortest time counts."""
        self.us_an_event = min(self.us_an_event, float(self._asked(str(events))["us_an_event"]))

    def answers(self) -> list[NDArray[np.uint32]]:
        """The ids of every event, ascending."""
        self._asked("answers")
        lines = (self._folder / "answers.txt").read_text(encoding="utf-8").splitlines()
        return [np.array(line.split(), dtype=np.uint32) for line in lines]

    def _asked(self, request: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        return self._told()

    def _told(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the program for a-tree ended with {self._process.wait()}; its message is above")
        told: dict[str, Any] = json.loads(line)
        return told


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
