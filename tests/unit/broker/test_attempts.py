"""What a successor makes of what a process was at when it died."""

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tamis.broker.attempts import Attempts
from tamis.broker.errors import InvalidError
from tamis.broker.message_batch import MessageBatch

TOPICS = {"events": "a", "others": "b"}


@dataclass(frozen=True)
class Sent:
    """As much of a message as is asked for."""

    at: int
    place: int = 0

    def topic(self) -> str:
        return "events"

    def partition(self) -> int:
        return self.place

    def offset(self) -> int:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return 0, 0

    def key(self) -> None:
        return None

    def value(self) -> None:
        return None


def messages(count: int, first: int = 0, place: int = 0) -> list[Any]:
    return [Sent(first + number, place) for number in range(count)]


def attempts(folder: Path) -> Attempts:
    return Attempts("slot", TOPICS, folder)


def begin(process: Attempts, some: list[Any]) -> None:
    process.begin(MessageBatch.of(some, {}).extents(), is_alone=len(some) == 1)


def test_who_ended_with_nothing_in_hand_leaves_no_suspicion(tmp_path: Path) -> None:
    one = attempts(tmp_path)
    begin(one, messages(10))
    one.end()
    other = attempts(tmp_path)
    assert not other.is_suspicious
    assert other.harmless(messages(10)) == 10


def test_an_end_in_the_midst_of_something_else_is_not_their_doing(tmp_path: Path) -> None:
    one = attempts(tmp_path)
    begin(one, messages(10))
    with one.aside():
        assert not attempts(tmp_path).is_suspicious
    assert attempts(tmp_path).is_suspicious
    begin(one, messages(10))
    with pytest.raises(TimeoutError), one.aside():
        raise TimeoutError
    assert not attempts(tmp_path).is_suspicious


def test_neither_is_it_for_one_that_is_careful_already(tmp_path: Path) -> None:
    begin(attempts(tmp_path), messages(1))
    one = attempts(tmp_path)
    begin(one, messages(1))
    with one.aside():
        assert not attempts(tmp_path).is_condemned(messages(1)[0])
    assert attempts(tmp_path).is_condemned(messages(1)[0]), "it is in hand again"


def test_messages_of_a_topic_that_was_made_anew_are_others(tmp_path: Path) -> None:
    for _ in range(2):
        begin(attempts(tmp_path), messages(1))
    begin(attempts(tmp_path), messages(10, first=100))
    one = attempts(tmp_path)
    one.know({**TOPICS, "new": "c"})
    assert one.is_condemned(messages(1)[0])
    one.know({**TOPICS, "events": "d"})
    assert not one.is_suspicious
    for _ in range(2):
        begin(attempts(tmp_path), messages(1))
    assert not Attempts("slot", {**TOPICS, "events": "e"}, tmp_path).is_suspicious
    for topic, is_condemned in (("others", True), ("events", False)):
        for _ in range(2):
            begin(attempts(tmp_path), messages(1))
        attempts(tmp_path).forget(topic)
        assert attempts(tmp_path).is_condemned(messages(1)[0]) == is_condemned


def test_what_is_told_to_all_counts_for_a_day_and_what_is_gone_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for offset in range(3):
        for _ in range(2):
            begin(attempts(tmp_path), messages(1, first=offset))
    attempts(tmp_path).settle("events", {(0, 0), (0, 1)}, are_all=False)
    one = attempts(tmp_path)
    assert one.condemned("events") == 3
    one.pardon("events")
    assert one.condemned("events") == 2, "nobody else knew of the third"
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    one = attempts(tmp_path)
    assert one.condemned("events") == 0
    assert one.is_condemned(messages(1)[0]), "all the same it is never tried again"
    one.settle("events", {(0, 1)}, are_all=True)
    assert [attempts(tmp_path).is_condemned(message) for message in messages(2)] == [False, True]


def test_more_than_can_be_written_down_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one = attempts(tmp_path)
    for _ in range(2):
        one.begin({("events" * 10, partition): (0, 10**9) for partition in range(20_000)}, is_alone=False)
    assert caplog.text.count("too many partitions") == 1
    assert not attempts(tmp_path).is_suspicious
    one.begin({("events", partition): (0, 10**9) for partition in range(2_000)}, is_alone=False)
    assert attempts(tmp_path).is_suspicious


def test_a_folder_that_takes_no_file_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "attempts").write_bytes(b"no folder")
    with pytest.raises(InvalidError, match=r"cannot be kept: .* TAMIS_STATE_DIR"):
        attempts(tmp_path)


def test_a_file_has_all_of_its_blocks(tmp_path: Path) -> None:
    """To write where a full disk has none would be the process's end."""
    attempts(tmp_path)
    status = (tmp_path / "attempts" / "slot").stat()
    assert status.st_blocks * 512 >= status.st_size


def test_a_batch_is_tried_in_parts_of_a_hundredth_and_what_comes_before_it_as_a_whole(tmp_path: Path) -> None:
    begin(attempts(tmp_path), messages(1000, first=50))
    successor = attempts(tmp_path)
    assert successor.harmless(messages(2000)) == 50
    assert successor.harmless(messages(1000, first=50)) == 10
    assert successor.harmless(messages(10, first=5000)) == 10
    assert successor.harmless(messages(10, first=60, place=1)) == 10, "another partition"
    successor.passed(messages(1000, first=50))
    assert not successor.is_suspicious


@pytest.mark.parametrize("seed", range(20))
def test_whatever_kills_is_found_and_nothing_else(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(1, 3000)
    deadly = set(chance.sample(range(count), chance.randrange(0, min(4, count) + 1)))
    log: list[Any] = [Sent(number // 2, number % 2) for number in range(count)]
    done, rejected, deaths = 0, set[int](), 0
    while done < count:
        process = attempts(tmp_path / "state")
        while done < count:
            batch = log[done : done + chance.randrange(1, 1000)]
            batch = batch[: process.harmless(batch)]
            if len(batch) == 1 and process.is_condemned(batch[0]):
                rejected.add(done)
            else:
                begin(process, batch)
                if deadly & set(range(done, done + len(batch))):
                    deaths += 1
                    break
                process.end()
            process.passed(batch)
            done += len(batch)
    assert rejected == deadly
    assert deaths <= 6 * len(deadly)


@pytest.mark.parametrize(
    "content", [b"rubbish\0", b"[]\0", b'{"now": 3}\0', b"\xff" * 100 + b"\0", b'{"now": [], "a": 1}\0']
)
def test_a_file_that_says_nothing_is_no_suspicion(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts" / "slot").write_bytes(content)
    assert not attempts(tmp_path).is_suspicious


def test_what_is_condemned_stays_so_until_it_is_passed(tmp_path: Path) -> None:
    for _ in range(2):
        begin(attempts(tmp_path), messages(1, first=7))
    [it] = messages(1, first=7)
    for _ in range(2):
        successor = attempts(tmp_path)
        assert successor.is_condemned(it)
        assert (successor.condemned("events"), successor.condemned("others")) == (1, 0)
        successor.passed(messages(1, first=8))
    attempts(tmp_path).passed([it])
    assert not attempts(tmp_path).is_suspicious
