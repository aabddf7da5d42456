from libc.stdint cimport uint32_t, uint64_t

from tamis.indexes.columnar cimport Expressions
from tamis.indexes.store cimport ExpressionStore, FrozenStore
from tamis.indexes.vocabulary cimport FrozenStrings, Vocabulary


cdef class FrozenIndex:
    cdef FrozenStore store
    cdef FrozenStrings strings
    # Holds the words that the store reads in place.
    cdef Expressions mapped
    cdef str engine

    @staticmethod
    cdef FrozenIndex of(const ExpressionStore* store, Vocabulary vocabulary, Expressions mapped, str engine)
    cdef int order(self, uint32_t[::1] ids, uint32_t[::1] slots) except -1 nogil
    cdef int measure(self, const uint32_t[::1] slots, uint64_t[::1] starts) except -1 nogil
    cdef int measure_strings(self, uint64_t[::1] starts) except -1 nogil
