"""Cutting a log file; what Kafka makes of one that was cut is shown in tests/fault."""

from pathlib import Path

import pytest

from tamis.admin.local import StackError
from tamis.admin.local.log_cut import _BATCH_HEADER, _LENGTH_COUNTS_FROM, cut_log, has_log

PAYLOAD = b"r" * 60


def batch(base: int, records: int) -> bytes:
    length = _BATCH_HEADER.size - _LENGTH_COUNTS_FROM + len(PAYLOAD)
    return _BATCH_HEADER.pack(base, length, 0, 2, 0, 0, records - 1) + PAYLOAD


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Segments 0-9 (batches of 1, 4 and 5) and 10-11 (one batch), with what Kafka derives from them."""
    folder = tmp_path / "events-3"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch(0, 1) + batch(1, 4) + batch(5, 5))
    (folder / f"{10:020}.log").write_bytes(batch(10, 2))
    for suffix in ("index", "timeindex", "txnindex", "snapshot"):
        (folder / f"{0:020}.{suffix}").write_bytes(b"derived")
    (folder / "partition.metadata").write_text("version: 0")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\nevents 3 12\nevents 30 7\n")
    (tmp_path / ".kafka_cleanshutdown").write_text("{}")
    return folder


def sizes(partition: Path) -> dict[int, int]:
    one = len(batch(0, 1))
    return {int(path.stem): path.stat().st_size // one for path in partition.glob("*.log")}


@pytest.mark.parametrize(
    ("offset", "batches_left"),
    [(0, {0: 0}), (1, {0: 1}), (5, {0: 2}), (10, {0: 3}), (12, {0: 3, 10: 1}), (99, {0: 3, 10: 1})],
)
def test_batches_from_the_offset_on_are_gone(partition: Path, offset: int, batches_left: dict[int, int]) -> None:
    cut_log(partition.parent, "events", 3, offset)
    assert sizes(partition) == batches_left


def test_what_kafka_derives_is_removed_and_the_rest_stays(partition: Path) -> None:
    cut_log(partition.parent, "events", 3, 5)
    assert {path.name for path in partition.iterdir()} == {f"{0:020}.log", "partition.metadata"}
    assert not (partition.parent / ".kafka_cleanshutdown").exists()
    assert (partition.parent / "replication-offset-checkpoint").read_text() == "0\n1\nevents 30 7\n"


@pytest.mark.parametrize("offset", [2, 4, 7, 11])
def test_an_offset_within_a_batch_is_refused_with_the_two_next_to_it(partition: Path, offset: int) -> None:
    before = sizes(partition)
    with pytest.raises(StackError, match=rf"Offset {offset} lies within a batch of events-3: cut at \d+ or at \d+"):
        cut_log(partition.parent, "events", 3, offset)
    assert sizes(partition)[0] == before[0] or offset > 10


def test_a_partition_is_told_from_one_that_is_not_there(partition: Path) -> None:
    assert has_log(partition.parent, "events", 3)
    assert not has_log(partition.parent, "events", 4)
