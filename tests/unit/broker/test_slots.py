import subprocess
import sys
from pathlib import Path

import pytest

from tamis.broker.errors import ConflictError, InvalidError
from tamis.broker.slots import state_folder, take_slot


def test_a_slot_that_is_taken_is_refused_until_it_is_free(tmp_path: Path) -> None:
    with take_slot("tamis.1.0", "a", tmp_path), pytest.raises(ConflictError, match=r"Slot a of group tamis\.1\.0"):
        take_slot("tamis.1.0", "a", tmp_path)
    take_slot("tamis.1.0", "a", tmp_path).close()


def test_another_group_has_slots_of_its_own(tmp_path: Path) -> None:
    with take_slot("tamis.1.0", "a", tmp_path), take_slot("tamis.1.1", "a", tmp_path) as other:
        assert other.name == "a"


def test_without_a_name_it_is_the_first_of_this_host_that_is_free(tmp_path: Path) -> None:
    with take_slot("tamis.1.0", folder=tmp_path) as first:
        with take_slot("tamis.1.0", folder=tmp_path) as second:
            assert first.name != second.name
        with take_slot("tamis.1.0", folder=tmp_path) as third:
            assert third.name == second.name


def test_a_process_that_is_killed_gives_its_slot_back(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, time\n"
        "from tamis.broker.slots import take_slot\n"
        "slot = take_slot('tamis.1.0', 'a', pathlib.Path(sys.argv[1]))\n"
        "print('taken', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"taken\n"
        with pytest.raises(ConflictError):
            take_slot("tamis.1.0", "a", tmp_path)
        process.kill()
        process.wait()
    take_slot("tamis.1.0", "a", tmp_path).close()


@pytest.mark.parametrize("name", ["", "a/b", "a b", "x" * 101])
def test_a_name_that_no_producer_should_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidError, match="a slot is 1 to 100 of"):
        take_slot("tamis.1.0", name, tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InvalidError, match="TAMIS_STATE_DIR"):
        take_slot("tamis.1.0", "a", file)


def test_the_state_folder_is_configurable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_STATE_DIR", "/somewhere")
    assert state_folder() == Path("/somewhere")
    monkeypatch.delenv("TAMIS_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert state_folder() == Path("/state/tamis")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "slots" / "tamis.1.0.a.lock").mkdir(parents=True)
    with pytest.raises(InvalidError, match=r"a\.lock cannot be written: .*TAMIS_STATE_DIR"):
        take_slot("tamis.1.0", "a", tmp_path)
