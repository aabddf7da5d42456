"""The command line, as tests run it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from clusters import Cluster
from tamis.admin.cli import run

TAMIS = [sys.executable, "-m", "tamis.admin"]


class Command:
    """`tamis`, on a cluster of its own; in this process, which spares half a second each."""

    def __init__(self, cluster: Cluster, capture: pytest.CaptureFixture[str]) -> None:
        self.cluster = cluster
        self.environment = {
            "TAMIS_KAFKA__BOOTSTRAP_SERVERS": cluster.settings.kafka.bootstrap_servers,
            "TAMIS_PREFIX": cluster.settings.prefix,
        }
        self._capture = capture
        self.said = ""

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What it prints; what it says is in `said`."""
        self._capture.readouterr()
        returned = run(arguments)
        printed, self.said = self._capture.readouterr()
        assert returned == code, (printed, self.said)
        assert "Traceback" not in self.said
        return printed

    def rows(self, *arguments: str, code: int = 0) -> list[Any]:
        return [json.loads(line) for line in self(*arguments, "-o", "ndjson", code=code).splitlines()]

    @contextmanager
    def process(self, printed: Path | None, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """One of its own; what it prints goes into a file, or can be read."""
        with ExitStack() as stack:
            stdout = subprocess.PIPE if printed is None else stack.enter_context(printed.open("w"))
            environment = {**os.environ, **self.environment}
            yield stack.enter_context(
                subprocess.Popen(
                    [*TAMIS, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment
                )
            )
