from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.lexer cimport Lexer, Literal
from tamis.indexes.vocabulary cimport StringId, Vocabulary
from tamis.indexes.words cimport Kind

cdef struct Bounds:
    uint32_t text_bytes
    uint32_t predicates
    uint32_t depth
    uint32_t set_members
    uint32_t pattern_characters

# A regular expression of the text, and where it stands there.
cdef struct Pattern:
    StringId id
    size_t start
    size_t end

# One group's operands so far: of `or`, of the chain in hand, of the `and` in hand, and the `not`s before the operand.
cdef struct Frame:
    uint32_t or_start
    uint32_t or_count
    uint32_t chain_start
    uint32_t chain_count
    size_t chain_first
    uint32_t and_start
    uint32_t and_count
    uint32_t operand_start
    uint32_t negations


cdef class Parser(Lexer):
    cdef readonly Vocabulary vocabulary
    cdef Bounds bounds
    # Of the last text: its words, the ids that they hold a reference to, one an occurrence, and its patterns.
    cdef vector[uint32_t] words
    cdef vector[StringId] taken
    cdef vector[Pattern] patterns
    # What could have stood where it failed, a bit a symbol.
    cdef uint64_t expected

    cdef vector[Literal] members
    cdef vector[Frame] frames
    cdef vector[uint8_t] connectives
    cdef uint32_t depth
    cdef uint32_t predicates
    cdef bint may_weigh

    # True, or False with the failure told. A text that failed has taken nothing.
    cdef bint parse(self, const char* text, size_t length) except -1 nogil
    # Give back what the last text took.
    cdef void forget(self) noexcept nogil

    cdef bint run(self) except -1 nogil
    cdef bint want(self, uint64_t expected) noexcept nogil

    cdef bint operand(self) except -1 nogil
    cdef bint deepen(self) noexcept nogil
    cdef bint predicate(self) except -1 nogil
    cdef bint attribute(self, uint64_t expected) except -1 nogil
    cdef bint comparison(self, int relation) except -1 nogil
    cdef bint range_(self, int relation) except -1 nogil
    cdef bint set_(self, int relation) except -1 nogil
    cdef bint string_test(self, int relation) except -1 nogil
    cdef bint weight(self, size_t header) except -1 nogil
    cdef bint value(self, uint64_t expected) except -1 nogil
    cdef int put(self, Literal* literal) except -1 nogil
    cdef int put_members(self) except -1 nogil
    cdef int put_wide(self, const void* value) except -1 nogil
    cdef uint32_t intern(self, const char* data, size_t size) except? 0 nogil

    cdef int open_frame(self) except -1 nogil
    cdef int operand_done(self) except -1 nogil
    cdef int and_follows(self) except -1 nogil
    cdef int chain_follows(self, bint xnor) except -1 nogil
    cdef int or_follows(self) except -1 nogil
    cdef int close_conjunction(self) except -1 nogil
    cdef int close_chain(self) except -1 nogil
    cdef int close_frame(self) except -1 nogil
    cdef uint32_t spliced(self, Kind kind, uint32_t start) except? 0 nogil
    cdef int wrap(self, Kind kind, uint32_t start, uint32_t count) except -1 nogil
