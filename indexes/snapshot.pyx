"""Reading a snapshot: its expressions stay in the file and are read in place, once all of it has been checked."""

from libc.stdint cimport uint32_t, uint64_t

import codecs
from collections import namedtuple
from pathlib import Path
from types import MappingProxyType

import numpy as np

from tamis.indexes.errors import SnapshotError
from tamis.indexes.patterns import PatternError, check_pattern
from tamis.indexes.expressions import UNBOUNDED
from tamis.indexes.snapshot_file import read_file

from tamis.indexes.columnar cimport Expressions
from tamis.indexes.validation cimport Validation

Snapshot = namedtuple("Snapshot", ["expressions", "ids", "columns", "metadata", "engine"])

cdef dict SECTIONS = {
    "ids": "<u4", "starts": "<u8", "words": "<u4", "string_starts": "<u8", "string_bytes": "|u1",
}
cdef str COLUMN = "column."
cdef Py_ssize_t DECODED_BYTES = 1 << 20


def read_snapshot(path):
    """What a file holds; `SnapshotError` if it is not whole, or not what its checksums and this format say."""
    path = Path(path)
    file = read_file(path)
    count, engine, metadata = (file.manifest.get(key) for key in ("expressions", "engine", "metadata"))
    if not isinstance(count, int) or not isinstance(engine, str) or not isinstance(metadata, dict):
        raise SnapshotError(f"{path} has a manifest that does not tell expressions, engine and metadata")
    columns = {}
    for name, array in file.sections.items():
        if name.startswith(COLUMN):
            columns[name[len(COLUMN):]] = array
        elif SECTIONS.get(name) != array.dtype.str:
            raise SnapshotError(f"{path} has a section {name!r} of {array.dtype.str}, which this format does not know")
    for name in SECTIONS:
        if name not in file.sections:
            raise SnapshotError(f"{path} has no section {name!r}")
    ids, starts, words, string_starts, string_bytes = (file.sections[name] for name in SECTIONS)
    if len(ids) != count or len(starts) != count + 1:
        raise SnapshotError(f"{path} tells {count} expressions, but has {len(ids)} ids and {len(starts)} starts")
    if np.any(ids[1:] <= ids[:len(ids) - 1]):
        raise SnapshotError(f"{path} has ids that do not ascend")
    if len(string_starts) == 0:
        raise SnapshotError(f"{path} has no end of its strings")
    check_starts(path, "expressions", starts, len(words))
    check_starts(path, "strings", string_starts, len(string_bytes))
    check_utf8(path, string_starts, string_bytes)
    expressions = mapped_expressions(path, starts, words, string_starts, string_bytes)
    return Snapshot(expressions, ids, MappingProxyType(columns), MappingProxyType(metadata), engine)


cdef int check_starts(path, str what, starts, Py_ssize_t end) except -1:
    if starts[0] != 0 or starts[len(starts) - 1] != end or np.any(starts[1:] < starts[:len(starts) - 1]):
        raise SnapshotError(f"{path} tells places of its {what} that are not in order")
    return 0


cdef int check_utf8(path, string_starts, string_bytes) except -1:
    """All of it, and that no string begins within a character."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(string_bytes), DECODED_BYTES):
            decoder.decode(string_bytes[at:at + DECODED_BYTES].tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise SnapshotError(f"{path} has a string that is no UTF-8: {error}") from None
    inner = string_starts[string_starts < len(string_bytes)]
    if np.any((string_bytes[inner] & 0xC0) == 0x80):
        raise SnapshotError(f"{path} has a string that begins within a character")
    return 0


cdef Expressions mapped_expressions(path, starts, words, string_starts, string_bytes):
    cdef Expressions expressions = Expressions()
    cdef Validation validation = Validation.__new__(Validation)
    cdef const uint64_t[::1] starts_view = starts
    cdef Py_ssize_t index = 0, count = len(starts) - 1
    cdef uint32_t id
    cdef bint good = True
    validation.words = <const uint32_t*><size_t>words.ctypes.data
    validation.string_starts = <const uint64_t*><size_t>string_starts.ctypes.data
    validation.string_bytes = <const char*><size_t>string_bytes.ctypes.data
    validation.strings = <uint32_t>(len(string_starts) - 1)
    validation.references.clear()
    validation.references.resize(validation.strings, 0)
    validation.is_pattern.clear()
    validation.is_pattern.resize(validation.strings, False)
    with nogil:
        while index < count and good:
            good = validation.expression(starts_view[index], starts_view[index + 1])
            index += 1
    if not good:
        raise SnapshotError(f"{path}: expression {index - 1} is none: {validation.fault.decode()}")
    with nogil:
        expressions.vocabulary.table.reserve(validation.strings)
        for id in range(validation.strings):
            if validation.references[id] > 0 and not expressions.vocabulary.table.restore(
                id, validation.string(id), validation.references[id]
            ):
                good = False
                break
    if not good:
        raise SnapshotError(f"{path} has the string {id} twice")
    for id in validation.patterns:
        pattern = expressions.vocabulary.text(id)
        try:
            check_pattern(pattern, UNBOUNDED)
        except PatternError as error:
            raise SnapshotError(f"{path}: {pattern!r} is no regular expression: {error}") from None
    expressions.words = validation.words
    expressions.starts = &starts_view[0]
    expressions.count = count
    expressions.mapped = (words, starts)
    return expressions
