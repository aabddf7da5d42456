"""The keeper: servers and their folder go when their owner is gone, however it went."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import is_alive, soon
from tamis.admin.local import StackError, keeper
from tamis.admin.local.servers import Servers

SLEEP = [sys.executable, "-c", "import time; time.sleep(300)"]
OWNER = f"""
import os, time
from tamis.admin.local.servers import Servers
servers = Servers()
server = servers.start("sleeper", {SLEEP!r})
fork = os.fork() if {{forks}} else None
if fork != 0:
    print(servers._keeper.pid, server.pid, fork, servers.folder, flush=True)
time.sleep(300)
"""


@pytest.fixture
def servers() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    servers.end()


class Owner:
    """Another process that owns a server, and may have forked a child."""

    def __init__(self, *, forks: bool = False) -> None:
        script = OWNER.format(forks=forks)
        self.process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        keeper, server, fork, folder = self.process.stdout.readline().split()
        self.keeper, self.server, self.folder = int(keeper), int(server), Path(folder)
        self.fork = int(fork) if forks else None

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_owner_that_dies_takes_its_servers_and_their_folder_along(number: signal.Signals) -> None:
    owner = Owner()
    assert is_alive(owner.server)
    assert owner.folder.is_dir()
    owner.end(number)
    assert soon(lambda: not is_alive(owner.server) and not is_alive(owner.keeper) and not owner.folder.exists())


def test_a_forked_child_that_outlives_the_owner_keeps_nothing_alive() -> None:
    """The fork holds the owner's end of the pipe open, so its closing cannot be what the keeper waits for."""
    owner = Owner(forks=True)
    assert owner.fork is not None
    owner.end()
    try:
        assert soon(lambda: not is_alive(owner.server) and not owner.folder.exists())
        assert is_alive(owner.fork)
    finally:
        os.kill(owner.fork, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="parent-death signals are Linux's")
def test_a_keeper_that_is_killed_takes_its_servers_along() -> None:
    owner = Owner()
    os.kill(owner.keeper, signal.SIGKILL)
    assert soon(lambda: not is_alive(owner.server))
    owner.end()
    shutil.rmtree(owner.folder)


def test_end_stops_everything_and_removes_the_folder() -> None:
    servers = Servers()
    server = servers.start("sleeper", SLEEP)
    servers.end()
    assert not is_alive(server.pid)
    assert not servers.folder.exists()


def test_logs_stay_if_they_are_wanted() -> None:
    servers = Servers()
    (servers.folder / "data").mkdir()
    server = servers.start("talker", [sys.executable, "-c", "print('last words')"])
    server.wait(10)
    servers.end(keep_logs=True)
    assert server.log.read_text() == "last words\n"
    assert [path.name for path in servers.folder.iterdir()] == ["logs"]
    shutil.rmtree(servers.folder)


def test_a_server_that_ends_by_itself_is_reported_with_its_last_words(servers: Servers) -> None:
    server = servers.start("failing", [sys.executable, "-c", "print('no such luck'); raise SystemExit(7)"])
    assert server.wait(10) == 7
    with pytest.raises(StackError, match=r"failing ended by itself with exit code 7(?s:.)*no such luck"):
        server.require_running()


def test_a_full_disk_in_a_servers_log_is_said_first(servers: Servers) -> None:
    server = servers.start("failing", [sys.executable, "-c", "print('java.io.IOException: No space left on device')"])
    server.wait(10)
    assert server.last_words().startswith("The disk is full")


def test_a_running_server_has_no_exit_code_and_a_killed_one_the_signals(servers: Servers) -> None:
    server = servers.start("sleeper", SLEEP)
    assert server.exit_code() is None
    server.require_running()
    server.signal(signal.SIGKILL)
    assert server.wait(10) == -signal.SIGKILL


def test_an_interrupt_between_question_and_answer_does_no_harm(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = servers.start("sleeper", SLEEP)

    def interrupted() -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(servers, "_read_answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            server.signal(signal.SIGCONT)
    assert server.exit_code() is None
    server.signal(signal.SIGKILL)
    assert server.wait(10) == -signal.SIGKILL


def test_folders_that_nobody_could_clear_up_go_at_the_next_start() -> None:
    owner = Owner()
    os.kill(owner.keeper, signal.SIGSTOP)  # so that it cannot, before it is killed itself
    owner.process.kill()
    os.kill(owner.keeper, signal.SIGKILL)
    owner.end()
    assert soon(lambda: not is_alive(owner.server))
    assert owner.folder.exists()
    other = Servers()
    assert soon(lambda: not owner.folder.exists())
    assert other.folder.exists()
    other.end()


def test_a_server_that_does_not_end_is_not_waited_for_without_end(servers: Servers) -> None:
    server = servers.start("sleeper", SLEEP)
    with pytest.raises(StackError, match=r"sleeper \(process \d+\) has not ended within 0\.05 s"):
        server.wait(0.05)


def test_a_program_that_does_not_exist_is_named(servers: Servers) -> None:
    with pytest.raises(StackError, match=r"nowhere could not be handled.*/no/such/program"):
        servers.start("nowhere", ["/no/such/program"])


def test_no_room_for_a_temporary_folder_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "keeper.py"
    fails = "import tempfile, errno\ndef fail(prefix): raise OSError(errno.ENOSPC, 'No space left on device')\n"
    script.write_text(fails + "tempfile.mkdtemp = fail\n" + Path(keeper.__file__).read_text())
    monkeypatch.setattr(keeper, "__file__", str(script))
    with pytest.raises(StackError, match=r"no temporary folder .* No space left on device\. Point TMPDIR"):
        Servers()


def test_a_keeper_that_is_gone_is_said(servers: Servers) -> None:
    servers._keeper.kill()
    servers._keeper.wait()
    with pytest.raises(StackError, match="is gone, and they with it"):
        servers.start("sleeper", SLEEP)
    servers.end()
    assert not servers.folder.exists()


def test_servers_hear_no_ctrl_c_of_the_terminal(servers: Servers) -> None:
    server = servers.start("sleeper", SLEEP)
    assert os.getpgid(server.pid) != os.getpgid(os.getpid())
    assert os.getsid(server.pid) != os.getsid(os.getpid())
