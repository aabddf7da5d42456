"""Toxiproxy between clients and servers: a network that is late, slow, silent, reset, or torn.

Unlike `kafka_proxy` it knows nothing of what passes, and so it does the same to everybody, and to Redis as well.
It is written in Go: where neither it nor Go is there, tests that need it are skipped.
"""

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from processes import soon
from tamis.admin.local.cache import cache_folder, locked
from tamis.admin.local.ports import Ports
from tamis.admin.local.servers import Servers

_VERSION = "v2.12.0"
_MODULE = f"github.com/Shopify/toxiproxy/v2/cmd/server@{_VERSION}"
_BUILD_SECONDS = 300.0
_SECONDS = 10.0
BOTH = ("upstream", "downstream")


def toxiproxy_program() -> Path:
    """The one on PATH, else one that Go builds for this user, once."""
    if installed := shutil.which("toxiproxy-server"):
        return Path(installed)
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no toxiproxy-server, and no Go to build one")
    folder = cache_folder() / f"toxiproxy-{_VERSION}"
    program = folder / "server"
    with locked(cache_folder() / "toxiproxy.lock", lambda: None):
        if not program.exists():
            _build(go, folder)
    return program


def _build(go: str, folder: Path) -> None:
    """Beside its place first: what is there is whole."""
    unfinished = folder.with_suffix(".unfinished")
    environment = os.environ | {"GOBIN": str(unfinished)}
    try:
        subprocess.run(
            [go, "install", _MODULE],
            check=True,
            capture_output=True,
            text=True,
            timeout=_BUILD_SECONDS,
            env=environment,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"Toxiproxy could not be built: {error} {error.stderr!r}")
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


class Toxiproxy:
    """Listens on a port of its own for each of these ports, from the beginning of a block to its end."""

    def __init__(self, upstreams: Mapping[str, int]) -> None:
        self._upstreams = dict(upstreams)
        self._ports = Ports()
        self._api = self._ports.claim()
        self.ports = {name: self._ports.claim() for name in upstreams}
        """By the names of what is behind them."""

    def __enter__(self) -> Self:
        program = toxiproxy_program()
        self._servers = Servers()
        try:
            self._servers.start("toxiproxy", [program, "-host", "127.0.0.1", "-port", str(self._api)])
            assert soon(self._is_ready), "Toxiproxy does not start"
            for name, port in self._upstreams.items():
                listen = f"127.0.0.1:{self.ports[name]}"
                self._ask("POST", "/proxies", name=name, listen=listen, upstream=f"127.0.0.1:{port}", enabled=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.end()
        self._ports.release()

    def cut(self, name: str) -> None:
        """Its connections end, and it refuses others."""
        self._ask("POST", f"/proxies/{name}", enabled=False)

    def poison(self, name: str, kind: str, *streams: str, **attributes: int) -> None:
        """One of the toxics that Toxiproxy's page lists, on what clients send (upstream), or receive."""
        for stream in streams:
            self._ask("POST", f"/proxies/{name}/toxics", type=kind, stream=stream, attributes=attributes)

    def heal(self) -> None:
        """All of them."""
        self._ask("POST", "/reset")

    def _is_ready(self) -> bool:
        try:
            self._ask("GET", "/version")
        except urllib.error.URLError:
            return False
        return True

    def _ask(self, method: str, path: str, **fields: Any) -> None:
        data = json.dumps(fields).encode() if fields else None
        request = urllib.request.Request(f"http://127.0.0.1:{self._api}{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=_SECONDS):
            pass
