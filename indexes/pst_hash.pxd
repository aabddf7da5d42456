from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.access_index cimport AccessIndex
from tamis.indexes.access_lists cimport ListTable
from tamis.indexes.probe cimport Probe


cdef class PstHash(AccessIndex):
    # Postings by two predicate spaces, the lesser number first.
    cdef ListTable* pairs
    cdef double pairs_from
    # What a choice of two instead of one spares an event, on average over the last choices; what its lookups cost it,
    # and how many choices later that is estimated again.
    cdef double spared
    cdef double lookups_cost
    cdef uint32_t until_estimate
    # Of the two predicates in hand; whether they are not counted yet as uses of their spaces.
    cdef vector[uint64_t] left
    cdef vector[uint64_t] right
    cdef bint uncounted

    cdef uint32_t best_pair(self, uint32_t single) except? 0xFFFFFFFE nogil
    cdef double lookups(self) noexcept nogil
    cdef double cost_of_finding(self, uint32_t single) noexcept nogil
    cdef uint32_t spaces_of(self, const uint32_t* node) except? 0xFFFFFFFF nogil
    cdef int read_both(self, uint32_t choice, bint make) except -1 nogil
    cdef int read_spaces(self, const uint32_t* node, vector[uint64_t]* spaces, bint make) except -1 nogil
    cdef void count_uses(self, const vector[uint64_t]& spaces, int change) noexcept nogil
