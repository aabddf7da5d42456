from libc.stdint cimport uint32_t, uint64_t
from libcpp.deque cimport deque
from libcpp.vector cimport vector

from tamis.indexes.access_keys cimport NumberRange
from tamis.indexes.access_lists cimport AccessLists, AttributeColumn, ListKey, Signature
from tamis.indexes.index cimport Index
from tamis.indexes.normal_form cimport NormalForm
from tamis.indexes.probe cimport Probe
from tamis.indexes.vocabulary cimport StringId
from tamis.indexes.words cimport Type


# What a slot's choice says other than a leaf: where its leaves are among covers; a choice of the engine's own; none.
cdef enum:
    COVER = 0x80000000
    OWN = 0x40000000
    NEVER = 0xFFFFFFFF


# Finds expressions by access predicates.
cdef class AccessIndex(Index):
    # Owned.
    cdef AccessLists* lists
    # By slots: the leaf that a slot is found by; or where its leaves are, in `covers`; or NEVER, if by none.
    cdef vector[uint32_t] choices
    cdef deque[vector[uint32_t]] covers
    cdef vector[uint32_t] free_covers
    # The next slot to be looked at again, since the last learning; how many were moved.
    cdef uint32_t reviewed
    cdef uint64_t moved

    # The expression in hand: its distinct predicates, and what finding it by each would cost.
    cdef NormalForm form
    cdef bint is_plain
    cdef vector[const uint32_t*] leaves
    cdef vector[double] costs
    cdef vector[uint64_t] first_bits
    cdef vector[uint64_t] second_bits
    # The points of those that are added next.
    cdef vector[ListKey] coming

    cdef int read(self, uint32_t slot) except -1 nogil
    cdef bint read_plain(self, const uint32_t* node) except -1 nogil
    cdef int use_columns(self) except -1 nogil
    cdef int span_columns(self) except -1 nogil
    cdef void leave_columns(self, size_t count) noexcept nogil
    cdef int choose(self, uint32_t slot) except -1 nogil
    cdef int estimate(self) except -1 nogil
    cdef uint32_t choose_plain(self) except? 0xFFFFFFFE nogil
    cdef int place_chosen(self, uint32_t slot, uint32_t choice) except -1 nogil
    cdef int erase_chosen(self, uint32_t slot, uint32_t choice) except -1 nogil
    cdef int take_back(self, uint32_t slot, uint32_t choice) except -1 nogil
    cdef Signature signature_of_all(self) noexcept nogil
    cdef Signature bits_of(self, const uint32_t* node) noexcept nogil

    # What an engine may add: a choice of its own for a conjunction, and what an event finds by it.
    cdef int find_more(self, Probe probe) except -1 nogil

    cdef int find(self, Probe probe, uint32_t event) except -1 nogil

    cdef int learn_value(self, Probe probe, AttributeColumn* column, size_t entry) except -1 nogil
    cdef bint review(self, uint32_t steps) except -1 nogil
    cdef bint is_worse(self, uint32_t slot) except -1 nogil
    cdef double cost_of_choice(self, uint32_t choice) noexcept nogil
