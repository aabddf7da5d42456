"""The line that `--print-submit` prints, run by a real `spark-submit` on executors that are processes of their own."""

import json
import os
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from broker_cluster import Cluster
from spark_sessions import SMALL
from tamis.admin.cli import run as tamis
from tamis.codecs.event import Event
from tamis.spark_sink.submitting import ENVIRONMENT

MakeCluster = Callable[..., Cluster]
pytestmark = pytest.mark.timeout(600)
HOME = Path(pyspark.__file__).parent
CLUSTER = "local-cluster[2,1,1024]"
"""Two executors of a core each, which Spark starts as a cluster's workers would."""


def packed_environment(path: Path) -> None:
    """In which the Python of this test is, by a link: what executors find there they have from the archive alone."""
    with tarfile.open(path, "w:gz") as archive:
        script = path.with_suffix(".python")
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        script.chmod(0o755)
        archive.add(script, "bin/python")


def test_the_printed_line_replays_on_a_cluster(
    make_brokered: MakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_brokered()
    for number in range(40):
        cluster.send(cluster.names.events, Event(f"e{number}", 0, {"n": number}).encode(), None, number % 4)
    cluster.flush()
    monkeypatch.setenv("TAMIS_KAFKA__BOOTSTRAP_SERVERS", cluster.settings.kafka.bootstrap_servers)
    monkeypatch.setenv("TAMIS_PREFIX", cluster.settings.prefix)
    proposed = tmp_path / "proposed.ndjson"
    proposed.write_text('{"subscriber": "ann", "name": "few", "expression": "n < 10"}\n')
    packed_environment(tmp_path / ENVIRONMENT)
    conf = [f"--conf={key}={value}" for key, value in SMALL.items()]
    options = ["--kafka", "-f", str(proposed), "--master", CLUSTER, *conf, "-o", "json"]
    assert tamis(["replay", *options, "--print-submit"]) == 0
    program, *arguments = shlex.split(json.loads(capsys.readouterr().out)["command"])
    assert program == "spark-submit"
    done = subprocess.run(
        [str(HOME / "bin" / program), *arguments],
        cwd=tmp_path,
        env={**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["events"], told["subscriptions"]) == (40, {"ann/few": 10})
