from tamis.indexes.vocabulary cimport FrozenStrings as Strings


cdef class FrozenStrings:
    cdef Strings strings
