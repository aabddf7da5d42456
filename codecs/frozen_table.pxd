from libcpp.vector cimport vector

from tamis.codecs.subscription_table cimport Row


cdef class FrozenTable:
    cdef readonly object format
    # Strings, by the ids that rows have.
    cdef readonly object texts
    cdef vector[Row] rows
