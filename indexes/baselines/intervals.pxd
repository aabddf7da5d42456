from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

# From the low to the high, both inside.
cdef struct Interval:
    double low
    double high
    uint32_t id


cdef class Intervals:
    cdef size_t count_held

    # What a structure adds. Intervals come in any order; what was built before is forgotten.
    cdef int arrange(self, const vector[Interval]& intervals) except -1 nogil
    cdef int append(self, double value, vector[uint32_t]& ids) except -1 nogil
    cdef size_t count_of(self, double value) noexcept nogil
    cdef size_t bytes_held(self) noexcept
