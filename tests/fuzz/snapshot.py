"""Any file at all: it is refused, or holds expressions that are what the parser makes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import reference
from fuzzing import fuzz, instrumented
from snapshots import Parts, take_apart, write_anew, write_manifest

with instrumented():
    from tamis.indexes.columnar import parse_many
    from tamis.indexes.engines import create, load
    from tamis.indexes.errors import SnapshotError
    from tamis.indexes.expressions import UNBOUNDED, parse

FOLDER = Path(tempfile.mkdtemp(prefix="tamis-fuzz-"))
FILE = FOLDER / "snapshot"
SAVED = FOLDER / "saved"
TEXT_MAX = 200
WORDS, MANIFEST, RAW = range(3)
"""What the rest of an input is, by its first byte: the words of one expression and the manifest are put into a file
with right checksums, so that more than these is tried."""


def known() -> tuple[Parts, bytes]:
    """A snapshot of all short cases: its parts, and the bytes of its file."""
    texts = [case["text"] for case in reference.cases("parse") if len(case["text"]) <= TEXT_MAX]
    expressions, _ = parse_many(dict.fromkeys(texts))
    index = create()
    index.insert_many(np.arange(len(expressions)), expressions)
    index.save(SAVED, columns={"a": np.arange(3)}, metadata={"b": [1, "c"]})
    return take_apart(SAVED), SAVED.read_bytes()


KNOWN, KNOWN_FILE = known()
BODY = KNOWN_FILE[: int.from_bytes(KNOWN_FILE[16:24], "little")]


def check(data: bytes) -> None:
    kind, rest = data[:1], data[1:]
    if kind == bytes([WORDS]):
        words = np.frombuffer(rest[: len(rest) // 4 * 4], "<u4")
        starts = np.array([0, len(words)], np.uint64)
        ends: dict[str, NDArray[Any]] = {"ids": np.zeros(1, np.uint32), "starts": starts, "words": words}
        Parts({"engine": "scan", "expressions": 1, "metadata": {}}, KNOWN.sections | ends).write(FILE)
    elif kind == bytes([MANIFEST]):
        write_manifest(FILE, BODY, rest)
    else:
        write_anew(FILE, rest)
    try:
        index = load(FILE, "scan")
    except SnapshotError:
        return
    texts = {}
    for number in index.ids().tolist():
        expression = index[number]
        texts[number] = expression.text
        assert parse(expression.text, UNBOUNDED) == expression
    index.match({})
    index.match({"a": 1, "b": "x", "c": 2.5, "d": True})
    index.save(SAVED)
    again = load(SAVED)
    assert {number: again[number].text for number in again.ids().tolist()} == texts


def seeds() -> Iterator[bytes]:
    starts, words = KNOWN.sections["starts"], KNOWN.sections["words"]
    for start, end in zip(starts.tolist(), starts[1:].tolist(), strict=False):
        yield bytes([WORDS]) + words[start:end].tobytes()
    yield bytes([MANIFEST]) + KNOWN_FILE[len(BODY) :]
    index = create()
    index.insert(1, "a = 1 and b in ('x', 'y')")
    index.save(SAVED)
    yield bytes([RAW]) + SAVED.read_bytes()


def words() -> Iterator[bytes]:
    yield from (b'"name"', b'"type"', b'"count"', b'"offset"', b'"checksum"', b'"sections"', b'"<u8"', b'"|u1"')
    for word in (0, 1, 2, 0x22, 0x23, 0x24, 0x200, 0x8000, 0xFFFFFFFF):
        yield word.to_bytes(4, "little")


if __name__ == "__main__":
    fuzz(check, seeds=seeds(), words=words(), bytes_max=4096)
