"""Engines without memory: no request for it that is refused ends the process, or leaves a wrong answer."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from preloading import compiled

SUPPORT = Path(__file__).parents[1] / "support"

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only there libraries can stand before glibc's"),
    pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer has a malloc of its own"),
    pytest.mark.skipif(shutil.which("c++") is None, reason="the library that refuses memory has to be compiled"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("failing_memory", tmp_path_factory.mktemp("memory"))


def test_a_write_without_memory_is_taken_back_or_told(library: Path, engine: str) -> None:
    """Each request of each write is refused once; what must not be is for `memory_faults.py` to say."""
    command = [sys.executable, str(SUPPORT / "memory_faults.py"), engine]
    preloaded = os.environ | {"LD_PRELOAD": str(library)}
    run = subprocess.run(command, env=preloaded, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["as it was"] > 0
    assert told["not read"] > 0
    assert told["broken"] > 0
