"""Cut a partition's log back, as a broker that lost its last records would come back without them.

Works on the files of a stopped broker (Kafka's log format, record batches of magic 2). Everything that Kafka derives
from the log is removed, so that it rebuilds it from what is left.
"""

import struct
from pathlib import Path

from tamis.admin.errors import StackError

_BATCH_HEADER = struct.Struct(
    ">qiibiHi"
)  # base offset, length, leader epoch, magic, CRC, attributes, last offset delta
_LENGTH_COUNTS_FROM = 12  # a batch's length leaves out the base offset and itself
_DERIVED = (".index", ".timeindex", ".txnindex", ".snapshot")
_CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


def has_log(data: Path, topic: str, partition: int) -> bool:
    """Whether a broker with this data folder has a replica."""
    return (data / f"{topic}-{partition}").is_dir()


def cut_log(data: Path, topic: str, partition: int, offset: int) -> None:
    """Drop the records of `topic` from `offset` on, in a stopped broker's data folder."""
    folder = data / f"{topic}-{partition}"
    segments = sorted(folder.glob("*.log"))
    for segment in segments:
        _cut_segment(segment, offset)
    for later in segments[1:]:
        if int(later.stem) >= offset:
            later.unlink()
    for file in folder.iterdir():
        if file.suffix in _DERIVED:
            file.unlink()
    for name in _CHECKPOINTS:
        _forget(data / name, topic, partition)
    (data / ".kafka_cleanshutdown").unlink(missing_ok=True)  # so that Kafka looks at the files again


def _cut_segment(segment: Path, offset: int) -> None:
    with segment.open("r+b") as file:
        position = 0
        while len(header := file.read(_BATCH_HEADER.size)) == _BATCH_HEADER.size:
            base, length, _epoch, _magic, _crc, _attributes, last_delta = _BATCH_HEADER.unpack(header)
            if length == 0:
                break  # the preallocated rest of a segment
            if base >= offset:
                file.truncate(position)
                return
            if base + last_delta >= offset:
                raise StackError(
                    f"Offset {offset} lies within a batch of {segment.parent.name}: "
                    f"cut at {base} or at {base + last_delta + 1}."
                )
            position += _LENGTH_COUNTS_FROM + length
            file.seek(position)


def _forget(checkpoint: Path, topic: str, partition: int) -> None:
    """Remove one partition from a checkpoint file: version, number of lines, then `topic partition offset` each."""
    if not checkpoint.exists():
        return
    content = checkpoint.read_text()
    if not content:  # Kafka was killed before it wrote any
        return
    version, _count, *lines = content.splitlines()
    kept = [line for line in lines if line.split()[:2] != [topic, str(partition)]]
    checkpoint.write_text("\n".join([version, str(len(kept)), *kept]) + "\n")
