"""The strings of a vocabulary as plain arrays, which snapshots hold, and back.

A string's bytes lie between its start and the next one. Whoever gives the ids says which strings, and in which order.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.string_view cimport string_view

import numpy as np

from tamis.indexes.errors import SnapshotError

from tamis.indexes.vocabulary cimport Vocabulary


@cython.final
cdef class FrozenStrings:
    """What a vocabulary held when it was frozen. It shares the memory, and any thread may read it."""

    def __init__(self):
        raise TypeError("FrozenStrings are made by frozen_strings()")

    @property
    def id_bound(self):
        """One above the greatest id."""
        return self.strings.id_bound()

    def columns(self, ids):
        """The starts of the strings with these ids, one more than there are, and their bytes; of a free id none."""
        cdef const uint32_t[::1] wanted = np.ascontiguousarray(ids, np.uint32)
        starts = np.empty(wanted.shape[0] + 1, np.uint64)
        cdef uint64_t[::1] starts_view = starts
        cdef uint64_t end = 0
        cdef Py_ssize_t place
        cdef string_view text
        with nogil:
            for place in range(wanted.shape[0]):
                starts_view[place] = end
                end += self.strings.view(wanted[place]).size()
            starts_view[wanted.shape[0]] = end
        data = np.empty(end, np.uint8)
        cdef unsigned char[::1] bytes_view = data
        with nogil:
            for place in range(wanted.shape[0]):
                text = self.strings.view(wanted[place])
                if text.size() > 0:
                    memcpy(&bytes_view[starts_view[place]], text.data(), text.size())
        return starts, data


def frozen_strings(Vocabulary vocabulary):
    """What it holds now; it takes microseconds, whatever there is."""
    cdef FrozenStrings frozen = FrozenStrings.__new__(FrozenStrings)
    frozen.strings = vocabulary.table.freeze()
    return frozen


def restored_strings(ids, starts, data, references):
    """A vocabulary that holds these strings under these ids, each with so many references, at least one.

    SnapshotError if starts and bytes do not belong together, or if a string or an id is there twice. Whether the bytes
    are UTF-8 is for the caller to see to.
    """
    cdef const uint32_t[::1] wanted = np.ascontiguousarray(ids, np.uint32)
    cdef const uint64_t[::1] starts_view = np.ascontiguousarray(starts, np.uint64)
    cdef const unsigned char[::1] bytes_view = np.ascontiguousarray(data, np.uint8)
    cdef const uint32_t[::1] counts = np.ascontiguousarray(references, np.uint32)
    cdef Vocabulary vocabulary = Vocabulary()
    cdef Py_ssize_t place, count = wanted.shape[0]
    cdef const char* base = start_of(bytes_view)
    cdef string_view text
    cdef bint good = True
    if starts_view.shape[0] != count + 1 or counts.shape[0] != count:
        raise SnapshotError(
            f"of {count} strings there are {starts_view.shape[0]} starts and {counts.shape[0]} reference counts"
        )
    if starts_view[0] != 0 or starts_view[count] != <uint64_t>bytes_view.shape[0]:
        raise SnapshotError("strings do not fill their bytes")
    with nogil:
        vocabulary.table.reserve(<uint32_t>count)
        for place in range(count):
            if starts_view[place] > starts_view[place + 1] or counts[place] == 0:
                good = False
                break
            text = string_view(base + starts_view[place], starts_view[place + 1] - starts_view[place])
            if vocabulary.table.holds(wanted[place]) or not vocabulary.table.restore(
                wanted[place], text, counts[place]
            ):
                good = False
                break
    if not good:
        raise SnapshotError(
            f"string {place} of {count} ends before it begins, is mentioned by nobody, or is there twice"
        )
    return vocabulary


cdef inline const char* start_of(const unsigned char[::1] data) noexcept:
    return <const char*>&data[0] if data.shape[0] > 0 else NULL
