from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.vocabulary cimport Vocabulary


cdef class Expressions:
    cdef readonly Vocabulary vocabulary
    # All words end to end, and where each expression begins; the end of the last stands behind.
    cdef const uint32_t* words
    cdef const uint64_t* starts
    cdef size_t count
    # What the pointers point into: vectors of its own, or arrays of a file that is mapped.
    cdef vector[uint32_t] own_words
    cdef vector[uint64_t] own_starts
    cdef object mapped
    # Whether they are an index's own, with its vocabulary: what they refer to changes with every write of that.
    cdef bint adopted

    cdef int own(self) except -1
    cdef int keep(self, const vector[bint]& unwanted) except -1
