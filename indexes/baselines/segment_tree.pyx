"""The segment tree (de Berg and others, Computational Geometry, section 10.3).

Intervals' ends cut the line into elementary intervals: an end alone, and what lies between two. They are the leaves of
a complete binary tree, and an interval's id is at the O(log n) highest nodes whose leaves it all covers. What is around
a value is at the nodes between its leaf and the root: O(log n + found).
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport lower_bound, sort, unique
from libcpp.vector cimport vector

import numpy as np

from tamis.indexes.baselines.intervals cimport Interval, Intervals


@cython.final
cdef class SegmentTree(Intervals):
    """Ids at the nodes that decompose their interval."""

    name = "segment-tree"

    def place_many(self, values):
        """In which elementary interval each value lies, in their order."""
        cdef const double[::1] asked = np.ascontiguousarray(values, np.float64)
        cdef Py_ssize_t index
        found = np.zeros(asked.shape[0], np.uint64)
        cdef uint64_t[::1] places = found
        with nogil:
            for index in range(asked.shape[0]):
                places[index] = self.leaf_of(asked[index])
        return found

    cdef int arrange(self, const vector[Interval]& intervals) except -1 nogil:
        cdef size_t index
        cdef uint32_t total = 0, count
        cdef vector[uint32_t] next
        self.ends.clear()
        for index in range(intervals.size()):
            self.ends.push_back(intervals[index].low)
            self.ends.push_back(intervals[index].high)
        sort(self.ends.begin(), self.ends.end())
        self.ends.erase(unique(self.ends.begin(), self.ends.end()), self.ends.end())
        self.ends.shrink_to_fit()
        self.leaf_count = 1
        while self.leaf_count < 2 * self.ends.size() + 1:
            self.leaf_count *= 2
        next.assign(2 * self.leaf_count, 0)
        self.place(intervals, next, True)
        self.starts.assign(2 * self.leaf_count + 1, 0)
        for index in range(next.size()):
            count = next[index]
            self.starts[index] = next[index] = total
            total += count
        self.starts[next.size()] = total
        self.ids.assign(total, 0)
        self.ids.shrink_to_fit()
        self.place(intervals, next, False)
        return 0

    cdef int place(self, const vector[Interval]& intervals, vector[uint32_t]& next, bint counted) except -1 nogil:
        """Counts the ids at each node, or puts them where the next one belongs."""
        cdef size_t index, low, high
        for index in range(intervals.size()):
            low = self.leaf_count + self.leaf_of(intervals[index].low)
            high = self.leaf_count + self.leaf_of(intervals[index].high) + 1
            while low < high:
                if low & 1:
                    if not counted:
                        self.ids[next[low]] = intervals[index].id
                    next[low] += 1
                    low += 1
                if high & 1:
                    high -= 1
                    if not counted:
                        self.ids[next[high]] = intervals[index].id
                    next[high] += 1
                low //= 2
                high //= 2
        return 0

    cdef size_t leaf_of(self, double value) noexcept nogil:
        """Odd for an end, even for what lies between two."""
        cdef size_t place = lower_bound(self.ends.begin(), self.ends.end(), value) - self.ends.begin()
        return 2 * place + (1 if place < self.ends.size() and self.ends[place] == value else 0)

    cdef int append(self, double value, vector[uint32_t]& ids) except -1 nogil:
        cdef size_t at = self.leaf_count + self.leaf_of(value)
        while at > 0 and not self.ids.empty():
            ids.insert(ids.end(), self.ids.begin() + self.starts[at], self.ids.begin() + self.starts[at + 1])
            at //= 2
        return 0

    cdef size_t count_of(self, double value) noexcept nogil:
        cdef size_t at = self.leaf_count + self.leaf_of(value)
        cdef size_t count = 0
        while at > 0 and not self.ids.empty():
            count += self.starts[at + 1] - self.starts[at]
            at //= 2
        return count

    cdef size_t bytes_held(self) noexcept:
        return self.ends.capacity() * sizeof(double) + (
            self.starts.capacity() + self.ids.capacity()
        ) * sizeof(uint32_t)
