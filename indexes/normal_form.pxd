from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.expressions cimport Expression
from tamis.indexes.words cimport Kind

# A leaf or an inner node of the form; the highest bit tells which.
ctypedef uint32_t Part

cdef enum:
    INNER = 0x80000000

# Both polarities of a part of the expression; NONE for one that nobody asked for.
cdef struct Pair:
    Part positive
    Part negative

# Children are in `children`, from `first`; those of a node come before it.
cdef struct Inner:
    Kind kind
    uint32_t first
    uint32_t count


cdef class NormalForm:
    # The distinct predicates, as words without weights; where each begins, and the end behind the last.
    cdef vector[uint32_t] words
    cdef vector[uint32_t] starts
    cdef vector[Inner] inners
    cdef vector[Part] children
    cdef Part root_part
    # Of the last `split` or `find_cover`: leaves, ascending in each clause; where each clause begins.
    cdef vector[uint32_t] clause_leaves
    cdef vector[uint32_t] clause_starts
    cdef vector[uint32_t] cover_leaves
    cdef vector[uint64_t] cover_bits
    # Of a form that Python asked for: holds the strings.
    cdef Expression expression

    # Hash tables of leaves and nodes.
    cdef vector[uint32_t] buckets
    cdef vector[uint32_t] inner_buckets
    cdef vector[Part] pending
    cdef vector[uint64_t] counts
    cdef vector[double] costs
    # Of the last cover: whether a node is in it, and an `and`'s child that is.
    cdef vector[bint] covered
    cdef vector[Part] chosen
    cdef vector[uint64_t] required
    cdef vector[uint64_t] contexts
    cdef vector[uint64_t] leaf_contexts

    # Takes an expression's words; what was there before is gone.
    cdef int build(self, const uint32_t* node) except -1 nogil
    # Into clauses, if there are at most so many; else False.
    cdef bint split(self, uint32_t clauses_max) except -1 nogil
    # A cover whose leaves' costs add up to little; infinite if a part has none but leaves of infinite cost.
    cdef double find_cover(self, const double* leaf_costs) except -1 nogil

    # After `find_cover`: for each leaf of the cover, the bits of all leaves that are true wherever the expression is
    # true by way of this one; of each leaf's bits, which are given.
    cdef int mark_cover(self, const uint64_t* leaf_bits) except -1 nogil

    cdef uint32_t leaf_count(self) noexcept nogil
    cdef const uint32_t* leaf(self, uint32_t index) noexcept nogil
    cdef uint32_t leaf_size(self, uint32_t index) noexcept nogil

    cdef int make(self, const uint32_t* node, int wanted, Pair* made) except -1 nogil
    cdef int make_chain(self, const uint32_t* node, int wanted, Pair* made) except -1 nogil
    cdef Part either(self, Part a, Part b, Part c, Part d) except? 0 nogil
    cdef Part joined(self, Kind kind) except? 0 nogil
    cdef Part inner_part(self, Inner inner) except? 0 nogil
    cdef uint32_t inner_bucket(self, Inner inner) noexcept nogil
    cdef Part leaf_part(self, const uint32_t* node, bint inverted) except? 0 nogil
    cdef uint32_t bucket_of(self, uint32_t start, uint32_t size) noexcept nogil
    cdef uint32_t inverse(self, uint32_t leaf) except? 0 nogil
    cdef uint64_t clause_count(self, uint32_t clauses_max) except? 0 nogil
    cdef int expand(self, Part part, vector[vector[uint32_t]]* found) except -1 nogil
    cdef bint contradicts(self, vector[uint32_t]* clause) except -1 nogil
    cdef int absorb(self, vector[vector[uint32_t]]* found) except -1 nogil
    cdef double cost_of(self, Part part, const double* leaf_costs) noexcept nogil
    cdef int collect(self, const double* leaf_costs) except -1 nogil
    cdef void narrow(self, Part part, uint64_t bits) noexcept nogil
    cdef uint32_t number(self, Part part) noexcept
