"""The centred interval tree (de Berg and others, Computational Geometry, section 10.1).

A node holds the intervals around its centre twice, by their lows and by their highs, so what is around a value is read
off one end of a list, and nothing else is looked at: O(log n + found). The centre is the median of the intervals' ends.
"""

cimport cython
from libc.stdint cimport UINT32_MAX, uint32_t
from libcpp.algorithm cimport nth_element, sort
from libcpp.vector cimport vector

from tamis.indexes.baselines.intervals cimport Interval, Intervals

cdef uint32_t NONE = UINT32_MAX


@cython.final
cdef class IntervalTree(Intervals):
    """Sorted ends at centres."""

    name = "interval-tree"

    cdef int arrange(self, const vector[Interval]& intervals) except -1 nogil:
        cdef vector[Interval] own = intervals
        self.nodes.clear()
        self.lows.clear()
        self.highs.clear()
        self.lows.reserve(own.size())
        self.highs.reserve(own.size())
        self.divide(own, 0, own.size())
        self.nodes.shrink_to_fit()
        return 0

    cdef uint32_t divide(self, vector[Interval]& intervals, size_t begin, size_t end) except? 0 nogil:
        """The node of so many intervals. Each side has at most half of the ends, so the tree is balanced."""
        cdef vector[double] ends
        cdef size_t index, below = begin, above = end
        cdef uint32_t at = <uint32_t>self.nodes.size()
        cdef Interval moved
        cdef Node node
        cdef uint32_t child
        if begin == end:
            return NONE
        for index in range(begin, end):
            ends.push_back(intervals[index].low)
            ends.push_back(intervals[index].high)
        nth_element(ends.begin(), ends.begin() + (end - begin), ends.end())
        node.centre = ends[end - begin]
        node.first = <uint32_t>self.lows.size()
        index = begin
        while index < above:  # below the centre, around it, above it
            moved = intervals[index]
            if moved.high < node.centre:
                intervals[index] = intervals[below]
                intervals[below] = moved
                below += 1
                index += 1
            elif moved.low > node.centre:
                above -= 1
                intervals[index] = intervals[above]
                intervals[above] = moved
            else:
                self.lows.push_back(End(moved.low, moved.id))
                self.highs.push_back(End(moved.high, moved.id))
                index += 1
        node.count = <uint32_t>self.lows.size() - node.first
        sort(self.lows.begin() + node.first, self.lows.end(), &ascends)
        sort(self.highs.begin() + node.first, self.highs.end(), &descends)
        self.nodes.push_back(node)
        child = self.divide(intervals, begin, below)
        self.nodes[at].lower = child
        child = self.divide(intervals, above, end)
        self.nodes[at].upper = child
        return at

    cdef int append(self, double value, vector[uint32_t]& ids) except -1 nogil:
        cdef uint32_t at = NONE if self.nodes.empty() else 0
        cdef const Node* node
        cdef const End* end
        cdef const End* last
        while at != NONE:
            node = &self.nodes[at]
            end = (self.lows.data() if value <= node.centre else self.highs.data()) + node.first
            last = end + node.count
            if value < node.centre:
                while end < last and end.value <= value:
                    ids.push_back(end.id)
                    end += 1
                at = node.lower
            elif value > node.centre:
                while end < last and end.value >= value:
                    ids.push_back(end.id)
                    end += 1
                at = node.upper
            else:
                while end < last:
                    ids.push_back(end.id)
                    end += 1
                return 0
        return 0

    cdef size_t count_of(self, double value) noexcept nogil:
        """By bisection of each list: O(log^2 n)."""
        cdef uint32_t at = NONE if self.nodes.empty() else 0
        cdef const Node* node
        cdef size_t count = 0
        while at != NONE:
            node = &self.nodes[at]
            if value < node.centre:
                count += reached(self.lows.data() + node.first, node.count, value, 1)
                at = node.lower
            elif value > node.centre:
                count += reached(self.highs.data() + node.first, node.count, -value, -1)
                at = node.upper
            else:
                return count + node.count
        return count

    cdef size_t bytes_held(self) noexcept:
        return self.nodes.capacity() * sizeof(Node) + (self.lows.capacity() + self.highs.capacity()) * sizeof(End)


cdef inline size_t reached(const End* ends, size_t count, double value, double sign) noexcept nogil:
    """How many ends, times the sign, are not above the value; they ascend."""
    cdef size_t low = 0, high = count, middle
    while low < high:
        middle = (low + high) // 2
        if sign * ends[middle].value <= value:
            low = middle + 1
        else:
            high = middle
    return low


cdef bint ascends(const End& a, const End& b) noexcept nogil:
    return a.value < b.value


cdef bint descends(const End& a, const End& b) noexcept nogil:
    return a.value > b.value
