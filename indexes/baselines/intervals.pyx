"""What structures for intervals have in common: closed intervals with ids in, ids of those around a value out."""

from libc.stdint cimport UINT32_MAX, uint32_t, uint64_t
from libcpp.vector cimport vector

import numpy as np

from tamis.indexes.asked_values cimport array_of
from tamis.indexes.matching cimport Hits


cdef class Intervals:
    """Which intervals hold a value."""

    name = "?"

    def build(self, lows, highs, ids=None):
        """Takes intervals from each low to its high, both inside, under ids, or their places. Forgets all others."""
        cdef const double[::1] first = np.ascontiguousarray(lows, np.float64)
        cdef const double[::1] last = np.ascontiguousarray(highs, np.float64)
        cdef const uint32_t[::1] names = np.ascontiguousarray(
            np.arange(first.shape[0]) if ids is None else ids, np.uint32
        )
        cdef vector[Interval] intervals
        cdef Py_ssize_t index
        if not first.shape[0] == last.shape[0] == names.shape[0]:
            raise ValueError(f"there are {first.shape[0]} lows, {last.shape[0]} highs and {names.shape[0]} ids")
        with nogil:
            intervals.reserve(first.shape[0])
            for index in range(first.shape[0]):
                if not first[index] <= last[index]:
                    with gil:
                        raise ValueError(f"the interval at {index} is empty: from {first[index]} to {last[index]}")
                intervals.push_back(Interval(first[index], last[index], names[index]))
            self.arrange(intervals)
        self.count_held = intervals.size()
        return self

    def locate(self, value):
        """The ids of the intervals around a value, ascending."""
        cdef vector[uint32_t] ids
        self.append(value, ids)
        found = array_of(ids)
        found.sort()
        return found

    def count(self, value):
        """How many intervals are around a value."""
        return self.count_of(value)

    def locate_many(self, values, order="ascending"):
        """For each value where its ids begin (and, last, the end), and the ids; `order="any"` spares the sort."""
        cdef const double[::1] asked = np.ascontiguousarray(values, np.float64)
        cdef bint ordered = order == "ascending"
        cdef vector[uint32_t] ids
        cdef Hits hits
        cdef Py_ssize_t index
        offsets = np.zeros(asked.shape[0] + 1, np.uint64)
        cdef uint64_t[::1] ends = offsets
        with nogil:
            for index in range(asked.shape[0]):
                if ordered:
                    hits.begin(1, UINT32_MAX)
                    self.append(asked[index], hits.list(0))
                    hits.sort()
                    ids.insert(ids.end(), hits.list(0).begin(), hits.list(0).end())
                else:
                    self.append(asked[index], ids)
                ends[index + 1] = ids.size()
        return offsets, array_of(ids)

    def count_many(self, values):
        """How many intervals are around each value."""
        cdef const double[::1] asked = np.ascontiguousarray(values, np.float64)
        cdef Py_ssize_t index
        counts = np.zeros(asked.shape[0], np.uint64)
        cdef uint64_t[::1] counted = counts
        with nogil:
            for index in range(asked.shape[0]):
                counted[index] = self.count_of(asked[index])
        return counts

    def memory_bytes(self):
        """All that is allocated."""
        return self.bytes_held()

    def __len__(self):
        return self.count_held

    cdef int arrange(self, const vector[Interval]& intervals) except -1 nogil:
        with gil:
            raise NotImplementedError  # abstract

    cdef int append(self, double value, vector[uint32_t]& ids) except -1 nogil:
        return 0

    cdef size_t count_of(self, double value) noexcept nogil:
        return 0

    cdef size_t bytes_held(self) noexcept:
        return 0
