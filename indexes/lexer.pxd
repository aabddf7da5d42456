from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from tamis.indexes.numbers cimport Number
from tamis.indexes.words cimport Type

# What a token can be, and what can be expected; SYMBOLS says it in the same order.
cdef enum Symbol:
    AND
    OR
    NOT
    XOR
    XNOR
    BETWEEN_WORD
    IN_WORD
    STARTS
    ENDS
    WITH
    CONTAINS_WORD
    MATCHES_WORD
    EXISTS_WORD
    MISSING_WORD
    WEIGHT
    TRUE_WORD
    FALSE_WORD
    RESERVED
    EQUALS
    NOT_EQUALS
    LESS_SIGN
    LESS_EQUALS
    GREATER_SIGN
    GREATER_EQUALS
    OPEN
    CLOSE
    COMMA
    ATTRIBUTE
    A_NUMBER
    A_STRING
    THE_END

# What a failed parse broke: SYNTAX is the grammar, the others are rules.
cdef enum Failure:
    SYNTAX
    UNKNOWN_CHARACTER
    OPEN_STRING
    OPEN_NAME
    BAD_ESCAPE
    LONE_SURROGATE
    EMPTY_NAME
    RESERVED_NAME
    BAD_NUMBER
    LONG_OVERFLOW
    DOUBLE_OVERFLOW
    MIXED_FAMILIES
    EMPTY_RANGE
    BAD_WEIGHT
    TOO_LONG
    TOO_MANY_PREDICATES
    TOO_DEEP
    TOO_MANY_MEMBERS
    PATTERN_TOO_LONG

# A constant of the text. A string lies in the parser's pool, and `data` points there once the pool grows no more.
cdef struct Literal:
    Type type
    Number number
    size_t start
    size_t size
    const char* data


cdef class Lexer:
    cdef const char* text
    cdef size_t length
    cdef size_t at
    # The token in hand: what it is, where it starts (it ends at `at`), and what it says.
    cdef int symbol
    cdef size_t start
    cdef const char* name
    cdef size_t name_size
    cdef Literal literal
    # The strings of the predicate in hand, without their escapes.
    cdef vector[char] pool
    # Where it failed, and why.
    cdef Failure failure
    cdef size_t failed_start
    cdef size_t failed_end

    cdef int begin(self, const char* text, size_t length) except -1 nogil
    # False, with the failure told: at the token in hand, or at a place.
    cdef bint fail(self, Failure failure) noexcept nogil
    cdef bint fail_at(self, Failure failure, size_t start, size_t end) noexcept nogil

    cdef bint next(self) except -1 nogil
    cdef bint lex_name(self) noexcept nogil
    cdef bint lex_quoted_name(self) except -1 nogil
    cdef bint lex_string(self, char quote) except -1 nogil
    cdef bint lex_escape(self) except -1 nogil
    cdef bint lex_number(self) except -1 nogil
    cdef void skip_digits(self) noexcept nogil
    cdef bint lex_punctuation(self) noexcept nogil
