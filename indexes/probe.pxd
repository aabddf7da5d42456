from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from tamis.indexes.access_lists cimport Candidates, ListKey
from tamis.indexes.matching cimport Matching


# A matching that collects candidates for the event in hand, and tries them.
cdef class Probe(Matching):
    cdef Candidates found
    # Of the event's values whose attributes have columns.
    cdef vector[ListKey] points

    # Whether the event in hand satisfies an expression.
    cdef bint holds(self, const uint32_t* node) except -1 nogil
    cdef bint predicate_holds(self, const uint32_t* node) except -1 nogil
