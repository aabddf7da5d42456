from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.matching cimport Matching
from tamis.indexes.vocabulary cimport StringId

cdef extern from "lanes.hpp" namespace "tamis" nogil:
    ctypedef uint64_t Lanes
    const uint32_t LANE_COUNT "tamis::lane_count"

    cdef cppclass Column:
        Lanes types[8]
        int32_t small[64]
        uint32_t entries[64]

    cdef struct Standing:
        Lanes not_below
        Lanes above

    Standing standing_of(const int32_t* values, Lanes lanes, int32_t low, int32_t high) noexcept

    int countr_zero "std::countr_zero"(Lanes lanes) noexcept


# A matching that asks up to 64 events at once.
cdef class Tile(Matching):
    # By the ids of the index's vocabulary: one above the place of its column, or 0.
    cdef vector[uint32_t] places
    cdef vector[Column] columns
    cdef vector[StringId] attributes
    # The events in hand: the first, counted from the matching's first one, and a bit for each.
    cdef uint32_t first_event
    cdef Lanes all

    cdef int enter_tile(self, uint32_t first_event, uint32_t count) except -1 nogil
    cdef void leave_tile(self) noexcept nogil
    # In which of these events the node is true; or false, if that is wanted.
    cdef int lanes(self, const uint32_t* node, Lanes among, bint wanted, Lanes* found) except -1 nogil
    cdef int chain_lanes(self, const uint32_t* node, Lanes among, bint wanted, Lanes* found) except -1 nogil
    cdef int predicate_lanes(self, const uint32_t* node, Lanes among, bint wanted, Lanes* found) except -1 nogil
    cdef int lanes_one_by_one(
        self, const uint32_t* node, const Column* column, Lanes among, bint wanted, Lanes* found
    ) except -1 nogil
