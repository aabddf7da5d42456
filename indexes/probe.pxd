from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from tamis.indexes.access_lists cimport Candidates, ListKey
from tamis.indexes.matching cimport Matching


# A matching that collects candidates for the event in hand, and tries them.
cdef class Probe(Matching):
    cdef Candidates found
    # Of the event's values whose attributes have columns.
    cdef vector[ListKey] points
    # Spaces of these that are parts of keys of several.
    cdef vector[uint64_t] spaces
