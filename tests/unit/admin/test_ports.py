import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis.admin.local import StackError
from tamis.admin.local.ports import Ports


@pytest.fixture
def ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ports]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ports = Ports()
    yield ports
    ports.release()


def test_ports_are_distinct_and_free(ports: Ports) -> None:
    claimed = [ports.claim() for _ in range(20)]
    assert len(set(claimed)) == 20
    for port in claimed:
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))


def test_a_claimed_port_is_nobody_elses_until_it_is_released(ports: Ports) -> None:
    port = ports.claim()
    other = Ports()
    with pytest.raises(StackError, match=str(port)):
        other.claim(port)
    ports.release()
    assert other.claim(port) == port
    other.release()


def test_release_leaves_nothing_behind(ports: Ports, tmp_path: Path) -> None:
    ports.claim()
    ports.release()
    (folder,) = tmp_path.iterdir()
    assert list(folder.iterdir()) == []


def test_a_wanted_port_that_is_listened_on_is_refused_with_its_number(ports: Ports) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StackError, match=f"Port {port} on 127.0.0.1 is in use"):
            ports.claim(port)


def test_ports_come_from_below_the_range_of_outgoing_connections(ports: Ports) -> None:
    """Else a broker that restarts could find its port taken by somebody's connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ephemeral = server.getsockname()[1]
    assert all(ports.claim() < min(ephemeral, 32_768) for _ in range(20))
