from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.vocabulary cimport Vocabulary


cdef class Expressions:
    cdef readonly Vocabulary vocabulary
    # All words end to end, and where each expression begins; the end of the last stands behind.
    cdef vector[uint32_t] words
    cdef vector[uint64_t] starts

    cdef int keep(self, const vector[bint]& unwanted) except -1
