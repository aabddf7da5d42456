from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from tamis.indexes.baselines.intervals cimport Interval, Intervals

# The intervals around its centre are `count` from `first` on, in both lists.
cdef struct Node:
    double centre
    uint32_t lower
    uint32_t upper
    uint32_t first
    uint32_t count

cdef struct End:
    double value
    uint32_t id


cdef class IntervalTree(Intervals):
    cdef vector[Node] nodes
    # Node by node: lows ascending, highs descending.
    cdef vector[End] lows
    cdef vector[End] highs

    cdef uint32_t divide(self, vector[Interval]& intervals, size_t begin, size_t end) except? 0 nogil
