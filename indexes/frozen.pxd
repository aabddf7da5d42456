from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.columnar cimport Expressions
from tamis.indexes.store cimport ExpressionStore, FrozenStore
from tamis.indexes.vocabulary cimport FrozenStrings, Vocabulary


cdef class FrozenIndex:
    cdef FrozenStore store
    cdef FrozenStrings strings
    # Holds the words that the store reads in place.
    cdef Expressions mapped
    cdef str engine
    # Slots in the order of their ids.
    cdef vector[uint32_t] slots

    @staticmethod
    cdef FrozenIndex of(const ExpressionStore* store, Vocabulary vocabulary, Expressions mapped, str engine)
    cdef int order(self, uint32_t[::1] ids) except -1 nogil
    cdef int measure(self, uint64_t[::1] starts) except -1 nogil
    cdef int measure_strings(self, uint64_t[::1] starts) except -1 nogil
