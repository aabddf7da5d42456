"""The file that a snapshot is: sections of plain arrays, then a manifest in JSON; `docs/snapshots.md` tells each byte.

Little-endian. A header of 64 bytes: magic, format version, where the manifest begins, how long it is, and a checksum
of both. The manifest names the sections, each beginning at a multiple of 64 with a checksum of its own. So a file that
was cut short or changed is told from a good one before anything in it is believed.
"""

import contextlib
import json
import mmap
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import xxhash
from numpy.typing import NDArray

from tamis.indexes.errors import SnapshotError

FORMAT = 1
MAGIC = b"\x89TAMIS\r\n"  # a transfer as text, or as seven bits, breaks it
_HEADER = struct.Struct("<8sI4xQQQ")
_ALIGNMENT = 64
_MANIFEST_BYTES_MAX = 1 << 28
_TYPES = frozenset({"|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8", "|b1"})

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Section:
    """An array that is written in parts."""

    name: str
    dtype: str
    count: int
    parts: Iterable[Any]
    """Of C-contiguous memory, together `count` items."""

    @classmethod
    def of(cls, name: str, array: Array) -> "Section":
        """Refuse what a file does not hold: objects, text, more than one dimension."""
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        if array.ndim != 1 or little.dtype.str not in _TYPES:
            raise ValueError(
                f"column {name!r} is of {array.ndim} dimensions and {array.dtype}: a snapshot holds one dimension of "
                "integers, floats or booleans; of strings keep the bytes in one column and their starts in another"
            )
        return cls(name, little.dtype.str, little.size, [little])


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A checked file, mapped: its arrays are read-only and live as long as they are used."""

    manifest: Mapping[str, Any]
    sections: Mapping[str, Array]


def write_file(path: Path, manifest: Mapping[str, Any], sections: Iterable[Section]) -> None:
    """Write all of it or nothing: under another name, to the disk, then renamed."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        with partial.open("xb") as file:
            _write(file, manifest, sections)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()
        raise
    with _folder(path.parent) as folder:
        os.fsync(folder)


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write(file: BinaryIO, manifest: Mapping[str, Any], sections: Iterable[Section]) -> None:
    file.write(bytes(_ALIGNMENT))
    told = []
    for section in sections:
        offset = file.tell()
        checksum = xxhash.xxh3_64()
        for part in section.parts:
            checksum.update(part)
            file.write(part)
        size = file.tell() - offset
        assert size == section.count * np.dtype(section.dtype).itemsize, section.name
        file.write(bytes(-size % _ALIGNMENT))
        told.append(
            {
                "name": section.name,
                "type": section.dtype,
                "count": section.count,
                "offset": offset,
                "checksum": checksum.hexdigest(),
            }
        )
    body = json.dumps({**manifest, "sections": told}, ensure_ascii=False, allow_nan=False).encode()
    if len(body) > _MANIFEST_BYTES_MAX:
        raise ValueError(f"the metadata take {len(body)} bytes, more than {_MANIFEST_BYTES_MAX}")
    start = file.tell()
    file.write(body)
    file.seek(0)
    file.write(_header(start, body))


def _header(start: int, manifest: bytes) -> bytes:
    return _HEADER.pack(MAGIC, FORMAT, start, len(manifest), _checksum(start, manifest))


def _checksum(start: int, manifest: bytes) -> int:
    return xxhash.xxh3_64_intdigest(_HEADER.pack(MAGIC, FORMAT, start, len(manifest), 0) + manifest)


def read_file(path: Path) -> SnapshotFile:
    """Map a file and check all of it."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _ALIGNMENT:
            raise SnapshotError(f"{path} is no snapshot: it has only {size} bytes")
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    magic, version, start, length, checksum = _HEADER.unpack_from(mapped)
    if magic != MAGIC:
        raise SnapshotError(f"{path} is no snapshot: it begins with {magic!r}, not {MAGIC!r}")
    if version != FORMAT:
        raise SnapshotError(f"{path} is a snapshot of format {version}; this version of Tamis reads format {FORMAT}")
    if length > _MANIFEST_BYTES_MAX or start + length != size:
        raise SnapshotError(f"{path} is damaged: it has {size} bytes, but its header says {start + length}")
    body = bytes(mapped[start:])
    if any(mapped[_HEADER.size : _ALIGNMENT]) or _checksum(start, body) != checksum:
        raise SnapshotError(f"{path} is damaged: its manifest has another checksum than its header says")
    try:
        manifest = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{path} has a manifest that is no JSON: {error}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sections"), list):
        raise SnapshotError(f"{path} has a manifest without sections")
    sections: dict[str, Array] = {}
    for told in manifest.pop("sections"):
        name, array = _section(path, mapped[:start], told)
        if name in sections:
            raise SnapshotError(f"{path} has two sections of the name {name!r}")
        sections[name] = array
    return SnapshotFile(manifest, sections)


def _section(path: Path, mapped: memoryview, told: Any) -> tuple[str, Array]:
    match told:
        case {"name": str(name), "type": str(dtype), "count": int(count), "offset": int(offset), "checksum": str(sum_)}:
            pass
        case _:
            raise SnapshotError(f"{path} has a section that is not described as one: {told!r}")
    if dtype not in _TYPES:
        raise SnapshotError(f"{path}: section {name!r} is of type {dtype!r}, which no snapshot has")
    size = count * np.dtype(dtype).itemsize
    if not 0 <= count <= len(mapped) or offset % _ALIGNMENT or not _ALIGNMENT <= offset <= len(mapped) - size:
        raise SnapshotError(f"{path}: section {name!r} does not lie within the file")
    part = mapped[offset : offset + size]
    if xxhash.xxh3_64_hexdigest(part) != sum_:
        raise SnapshotError(f"{path} is damaged: section {name!r} has another checksum than the manifest says")
    return name, np.frombuffer(part, dtype=dtype) if count > 0 else np.empty(0, dtype)
