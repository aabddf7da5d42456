from libc.stdint cimport uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from tamis.indexes.batch cimport EventBatch
from tamis.indexes.small cimport Cell
from tamis.indexes.truth cimport Value
from tamis.indexes.vocabulary cimport StringId, StringTable, Vocabulary

cdef extern from "hits.hpp" namespace "tamis" nogil:
    cdef cppclass Hits:
        void begin(uint32_t events, uint64_t ids_max) except +
        uint32_t events() noexcept
        uint64_t total() noexcept
        void add(uint32_t event, uint32_t id) except +
        vector[uint32_t]& list(uint32_t event) noexcept
        void sort() except +
        void end() noexcept
        size_t memory_bytes() noexcept

# What one thread needs to match one batch, and keeps for the next.
cdef class Matching:
    cdef EventBatch batch
    cdef Vocabulary vocabulary
    cdef const StringTable* strings
    # By the ids of the index's vocabulary; all NOTHING between events.
    cdef vector[Cell] cells
    cdef vector[double] attribute_weights
    # From the batch's ids to the index's, if they are not the same.
    cdef bint translates
    cdef vector[StringId] translation
    cdef unordered_map[uint64_t, bint] patterns
    cdef Hits hits
    cdef uint32_t first
    # What was done: expressions looked at, predicates tried.
    cdef uint64_t expressions
    cdef uint64_t predicates

    # Before the GIL is released; `end` after it was taken again.
    cdef int begin(self, EventBatch batch, Vocabulary vocabulary, uint32_t first, uint64_t ids_max) except -1
    cdef int end(self) except -1
    # The event in hand, counted from `first`.
    cdef void enter(self, uint32_t event) noexcept nogil
    cdef void leave(self, uint32_t event) noexcept nogil
    # Whether the event in hand satisfies an expression.
    cdef bint holds(self, const uint32_t* node) except -1 nogil
    # Of the event in hand: a `Truth`.
    cdef int truth(self, const uint32_t* node) except -1 nogil
    cdef int predicate(self, const uint32_t* node) except -1 nogil
    cdef double score(self, const uint32_t* node) except? -1 nogil
    cdef size_t memory_bytes(self) noexcept
    cdef int pattern(self, StringId pattern, uint32_t entry, const Value* value) except -1 nogil
    cdef int add_score(self, const uint32_t* node, bint inverted, double* total) except -1 nogil
    cdef StringId translated(self, StringId id) noexcept nogil
