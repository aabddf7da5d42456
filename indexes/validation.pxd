from libc.stdint cimport uint32_t, uint64_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from tamis.indexes.words cimport Type


# Words from a file, and what is known of them so far.
cdef class Validation:
    cdef const uint32_t* words
    cdef const uint64_t* string_starts
    cdef const char* string_bytes
    cdef uint32_t strings
    # How often each string occurs, and which are regular expressions.
    cdef vector[uint32_t] references
    cdef vector[char] is_pattern
    cdef vector[uint32_t] patterns
    # Why it is not what an expression is.
    cdef const char* fault

    # Whether words[start:end] are one expression, as the parser would have made it.
    cdef bint expression(self, uint64_t start, uint64_t end) except -1 nogil
    # Where the node ends that begins at `at`; 0 with the fault told.
    cdef uint64_t node(self, uint64_t at, uint64_t end, int depth, int parent, bint first) except? 0 nogil
    cdef uint64_t predicate(self, uint64_t at, uint64_t end) except? 0 nogil
    cdef uint64_t refuse(self, const char* fault) noexcept nogil
    cdef bint members(self, uint64_t at, uint32_t count, Type type) noexcept nogil
    cdef bint constant(self, uint64_t at, Type type) noexcept nogil
    cdef bint refer(self, uint32_t string) noexcept nogil
    cdef string_view string(self, uint32_t id) noexcept nogil
    # Of two constants of one family: negative, zero or positive.
    cdef int order(self, uint64_t at, Type type, uint64_t other, Type other_type) noexcept nogil
