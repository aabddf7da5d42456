"""One event at a time, and the candidates that it finds."""

from libc.stdint cimport uint64_t

from tamis.indexes.access_lists cimport ListKey
from tamis.indexes.matching cimport Matching


cdef class Probe(Matching):
    cdef size_t memory_bytes(self) noexcept:
        return (
            Matching.memory_bytes(self) + self.found.memory_bytes() + self.points.capacity() * sizeof(ListKey)
            + self.spaces.capacity() * sizeof(uint64_t)
        )
