from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from tamis.indexes.baselines.intervals cimport Interval, Intervals


cdef class SegmentTree(Intervals):
    # The intervals' ends, ascending and distinct.
    cdef vector[double] ends
    # Of the tree's nodes, children 2n and 2n + 1: where their ids begin; the leaves are the last half.
    cdef vector[uint32_t] starts
    cdef vector[uint32_t] ids
    cdef size_t leaf_count

    cdef size_t leaf_of(self, double value) noexcept nogil
    cdef int place(self, const vector[Interval]& intervals, vector[uint32_t]& next, bint counted) except -1 nogil
