"""A snapshot taken apart, changed and put together again with right checksums: what only validation can refuse."""

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

_HEADER = struct.Struct("<8sI4xQQQ")
_MAGIC = b"\x89TAMIS\r\n"
_ALIGNMENT = 64


@dataclass
class Parts:
    """What a file says; all of it may be changed."""

    manifest: dict[str, Any]
    sections: dict[str, NDArray[Any]]
    magic: bytes = _MAGIC
    version: int = 1
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By section: what the manifest is to say of it instead."""

    def write(self, path: Path) -> Path:
        body, descriptions = bytearray(_ALIGNMENT), []
        for name, array in self.sections.items():
            offset = len(body)
            body += array.tobytes()
            truth = {
                "name": name,
                "type": array.dtype.str,
                "count": array.size,
                "offset": offset,
                "checksum": xxhash.xxh3_64_hexdigest(body[offset:]),
            }
            body += bytes(-len(body) % _ALIGNMENT)
            descriptions.append(truth | self.told.get(name, {}))
        manifest = json.dumps({**self.manifest, "sections": descriptions}).encode()
        return write_manifest(path, bytes(body), manifest, self.magic, self.version)


def write_manifest(path: Path, body: bytes, manifest: bytes, magic: bytes = _MAGIC, version: int = 1) -> Path:
    """The body begins with 64 bytes for the header."""
    start = len(body)
    checksum = xxhash.xxh3_64_intdigest(_HEADER.pack(magic, version, start, len(manifest), 0) + manifest)
    header = _HEADER.pack(magic, version, start, len(manifest), checksum).ljust(_ALIGNMENT, b"\0")
    return write_anew(path, header + body[_ALIGNMENT:] + manifest)


def write_anew(path: Path, content: bytes) -> Path:
    """As another file of the name: whoever mapped the one before keeps it; and ext4 makes overwriting slow."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return path


def take_apart(path: Path) -> Parts:
    content = path.read_bytes()
    magic, version, start, length, _ = _HEADER.unpack_from(content)
    manifest = json.loads(content[start : start + length])
    sections = {}
    for told in manifest.pop("sections"):
        dtype = np.dtype(told["type"])
        sections[told["name"]] = np.frombuffer(content, dtype, told["count"], told["offset"]).copy()
    return Parts(manifest, sections, magic, version)


def of_words(expressions: Iterable[Sequence[int]], strings: Sequence[bytes]) -> Parts:
    """A snapshot of these words, whatever they are, under the ids 0, 1, ..."""
    rows = [np.array(words, np.uint32) for words in expressions]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    string_starts = np.cumsum([0, *map(len, strings)]).astype(np.uint64)
    return Parts(
        {"engine": "scan", "expressions": len(rows), "metadata": {}},
        {
            "ids": np.arange(len(rows), dtype=np.uint32),
            "starts": starts,
            "words": np.concatenate([np.empty(0, np.uint32), *rows]),
            "string_starts": string_starts,
            "string_bytes": np.frombuffer(b"".join(strings), np.uint8),
        },
    )


# What words are made of; `indexes/words.pxd` tells of them.
PREDICATE, NEGATION, CONJUNCTION, DISJUNCTION, CHAIN = range(5)
NOTHING, SHORT, LONG, DOUBLE, STRING, BOOLEAN, MIXED = range(7)
EQUAL, LESS, BETWEEN, IN, STARTS_WITH, CONTAINS, MATCHES, EXISTS = 0, 2, 6, 8, 10, 14, 16, 18


def predicate(
    operator: int, first: int, *operands: int, second: int = NOTHING, attribute: int = 0, weight: float | None = None
) -> list[int]:
    header = PREDICATE | operator << 4 | first << 9 | second << 12 | (weight is not None) << 15
    return [header, attribute, *operands, *([] if weight is None else double(weight))]


def connective(kind: int, *children: Sequence[int], bits: Sequence[int] = ()) -> list[int]:
    words = [*bits, *(word for child in children for word in child)]
    return [kind | len(children) << 4, 2 + len(words), *words]


def long(value: int) -> list[int]:
    return list(struct.unpack("<II", struct.pack("<q", value)))


def double(value: float) -> list[int]:
    return list(struct.unpack("<II", struct.pack("<d", value)))
