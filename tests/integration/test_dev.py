"""`tamis dev` is a whole Tamis: what other shells need is what it prints, and nothing else."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TAMIS = [sys.executable, "-m", "tamis.admin"]
SECONDS = 90


@dataclass
class Dev:
    """A running one."""

    process: subprocess.Popen[str]
    printed: Mapping[str, Any]
    exported: Mapping[str, str]

    def tamis(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """In another shell, after what it said to paste."""
        return subprocess.run(
            [*TAMIS, *arguments],
            env={**os.environ, **self.exported},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )


def started(folder: Path, *options: str, **environment: str) -> Dev:
    process = subprocess.Popen(
        [*TAMIS, "dev", "-o", "json", *options],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    said = ""
    while "Ctrl-C stops it" not in said:
        said += process.stderr.readline()
    exported = dict(re.findall(r"^  export (\w+)=(\S+)$", said, re.MULTILINE))
    return Dev(process, json.loads(line), exported)


def stopped(dev: Dev) -> None:
    dev.process.send_signal(signal.SIGINT)
    _, stderr = dev.process.communicate(timeout=SECONDS)
    assert (dev.process.returncode, stderr.splitlines()[-1]) == (0, "Stopped; all data is removed.")


@pytest.fixture(scope="module", params=[[], ["--secured"]], ids=["open", "secured"])
def dev(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """With an environment that names other servers, which are not to be asked."""
    folder = tmp_path_factory.mktemp("dev")
    dev = started(folder, *request.param, TAMIS_KAFKA__BOOTSTRAP_SERVERS="127.0.0.1:1")
    try:
        yield dev
        stopped(dev)
    finally:
        dev.process.kill()
        dev.process.communicate()
    assert list(folder.iterdir()) == []


def test_what_is_subscribed_to_arrives_and_the_rest_does_not(dev: Dev) -> None:
    assert dev.tamis("subscribe", "ann", 'price < 500 and region in ("eu", "uk")', "--name", "cheap").returncode == 0
    for price in (450, 501, 20):
        assert dev.tamis("publish", "--attr", f"price={price}", "--attr", "region=eu").returncode == 0
    tail = dev.tamis("tail", "ann", "--from", "start", "-n", "2", "--timeout", "60")
    got = [json.loads(line) for line in tail.stdout.splitlines()]
    assert sorted(one["event"]["price"] for one in got) == [20, 450]
    assert {name for one in got for name in one["matched"]} == {"cheap"}


def test_its_topics_are_as_they_should_be(dev: Dev) -> None:
    check = dev.tamis("topics", "check", "--problems", "-o", "name")
    assert (check.returncode, check.stdout) == (0, "")


def test_what_is_configured_counts_but_for_the_servers(tmp_path: Path) -> None:
    (tmp_path / "tamis.toml").write_text(
        'prefix = "mine"\n[kafka]\nbootstrap_servers = "127.0.0.1:1"\n[events.orders]\nid = "order"\n'
    )
    dev = started(tmp_path)
    try:
        topics = dev.tamis("--config", str(tmp_path / "tamis.toml"), "topics", "list", "-o", "name")
        stopped(dev)
    finally:
        dev.process.kill()
        dev.process.communicate()
    assert {"mine.layout", "orders"} <= set(topics.stdout.split())
    assert "mine.events" not in topics.stdout.split()


def test_without_a_broker_there_are_no_topics(tmp_path: Path) -> None:
    dev = started(tmp_path, "--no-broker")
    try:
        topics = dev.tamis(
            "--bootstrap-server", dev.printed["kafka"]["bootstrap_servers"], "topics", "list", "-o", "name"
        )
        stopped(dev)
    finally:
        dev.process.kill()
        dev.process.communicate()
    assert (topics.returncode, topics.stdout, dev.exported) == (0, "", {})
