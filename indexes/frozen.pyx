"""An index as it was at one moment, to be written to a file while the index goes on."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from pathlib import Path
from types import MappingProxyType

import numpy as np

from tamis.indexes.snapshot_file import Section, write_file

from tamis.indexes.columnar cimport Expressions
from tamis.indexes.store cimport ExpressionStore, Words
from tamis.indexes.vocabulary cimport Vocabulary

cdef object EMPTY = MappingProxyType({})
# How many words or bytes are gathered before they are written: they stay in the cache.
cdef uint64_t PART_WORDS = 1 << 18


@cython.final
cdef class FrozenIndex:
    """What an index held when it was frozen. It shares the memory, and changes no more."""

    def __init__(self):
        raise TypeError("a FrozenIndex is made by an index's freeze()")

    @staticmethod
    cdef FrozenIndex of(const ExpressionStore* store, Vocabulary vocabulary, Expressions mapped, str engine):
        cdef FrozenIndex frozen = FrozenIndex.__new__(FrozenIndex)
        frozen.store = store.freeze()
        frozen.strings = vocabulary.table.freeze()
        frozen.mapped = mapped
        frozen.engine = engine
        return frozen

    def __len__(self):
        return self.store.size()

    def save(self, path, columns=EMPTY, metadata=EMPTY):
        """Write a file that any engine loads, or nothing.

        `columns` are arrays of one dimension, and `metadata` what JSON can say; `load` gives them back. Expressions are
        written in the order of their ids.
        """
        cdef uint32_t count = self.store.size()
        ids, slots = np.empty(count, np.uint32), np.empty(count, np.uint32)
        starts = np.empty(count + 1, np.uint64)
        string_count = self.strings.id_bound()
        string_starts = np.empty(string_count + 1, np.uint64)
        cdef uint32_t[::1] ids_view = ids, slots_view = slots
        cdef uint64_t[::1] starts_view = starts, string_starts_view = string_starts
        with nogil:
            self.order(ids_view, slots_view)
            self.measure(slots_view, starts_view)
            self.measure_strings(string_starts_view)
        sections = [
            Section.of("ids", ids),
            Section.of("starts", starts),
            Section("words", "<u4", int(starts[count]), self.words(slots)),
            Section.of("string_starts", string_starts),
            Section("string_bytes", "|u1", int(string_starts[string_count]), self.string_bytes()),
        ]
        for name, column in columns.items():
            sections.append(Section.of(f"column.{name}", np.asarray(column)))
        manifest = {"engine": self.engine, "expressions": count, "metadata": dict(metadata)}
        write_file(Path(path), manifest, sections)

    cdef int order(self, uint32_t[::1] ids, uint32_t[::1] slots) except -1 nogil:
        """Slots in the order of their ids."""
        cdef uint32_t slot
        cdef size_t index
        cdef vector[uint64_t] keys
        cdef bint ascending = True
        keys.reserve(self.store.size())
        for slot in range(self.store.slot_bound()):
            if self.store.holds(slot):
                keys.push_back(<uint64_t>self.store.id(slot) << 32 | slot)
                ascending = ascending and (keys.size() < 2 or keys[keys.size() - 2] < keys.back())
        if not ascending:
            sort(keys.begin(), keys.end())
        for index in range(keys.size()):
            ids[index] = keys[index] >> 32
            slots[index] = <uint32_t>keys[index]
        return 0

    cdef int measure(self, const uint32_t[::1] slots, uint64_t[::1] starts) except -1 nogil:
        cdef Py_ssize_t index
        cdef uint64_t end = 0
        for index in range(slots.shape[0]):
            starts[index] = end
            end += self.store.words(slots[index]).size
        starts[slots.shape[0]] = end
        return 0

    cdef int measure_strings(self, uint64_t[::1] starts) except -1 nogil:
        """A string that is no more has no bytes: its id stays free."""
        cdef uint32_t id
        cdef uint64_t end = 0
        for id in range(self.strings.id_bound()):
            starts[id] = end
            end += self.strings.view(id).size()
        starts[self.strings.id_bound()] = end
        return 0

    def words(self, const uint32_t[::1] slots):
        """All words, in parts."""
        part = np.empty(PART_WORDS, np.uint32)
        cdef uint32_t[::1] view = part
        cdef uint64_t used = 0
        cdef Py_ssize_t index = 0, count = slots.shape[0]
        cdef Words words
        while index < count:
            with nogil:
                while index < count:
                    words = self.store.words(slots[index])
                    if used + words.size > PART_WORDS:
                        break
                    memcpy(&view[used], words.data, words.size * sizeof(uint32_t))
                    used += words.size
                    index += 1
            if used > 0:
                yield part[:used]
                used = 0
            elif index < count:  # one that is larger than a part
                words = self.store.words(slots[index])
                yield <const uint32_t[:words.size]>words.data
                index += 1

    def string_bytes(self):
        """The bytes of all strings, in parts."""
        part = bytearray()
        cdef uint32_t id
        cdef string_view text
        for id in range(self.strings.id_bound()):
            text = self.strings.view(id)
            part += text.data()[:text.size()]
            if len(part) > PART_WORDS:
                yield part
                part = bytearray()
        yield part
