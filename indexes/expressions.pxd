from libc.stdint cimport uint32_t

from tamis.indexes.numbers cimport Number
from tamis.indexes.vocabulary cimport StringId, Vocabulary
from tamis.indexes.words cimport Type

# How tightly a node binds: one that binds less tightly than its place asks for goes into brackets.
cdef enum Binding:
    LOOSEST
    IN_CHAIN
    IN_CONJUNCTION
    TIGHTEST

cdef enum Truth:
    FALSE
    TRUE
    UNKNOWN

# An event's value: nothing if it is missing. A string's bytes belong to the str.
cdef struct Value:
    Type type
    Number number
    const char* data
    size_t size


cdef class Expression:
    cdef readonly Vocabulary vocabulary
    # Owned, with a reference to each string that they name.
    cdef uint32_t* words
    cdef uint32_t size
    # Attribute names by id, made when first asked for.
    cdef dict names

    cdef int adopt(self, Vocabulary vocabulary, const uint32_t* words, size_t size) except -1
    cdef str string(self, StringId id)
    cdef str attribute(self, StringId id)
    cdef object constant(self, const uint32_t* at, Type type)
    cdef object predicate(self, const uint32_t* node)
    cdef int print_node(self, const uint32_t* node, Binding place, list parts) except -1
    cdef Truth truth(self, const uint32_t* node, event) except *
    cdef Truth predicate_truth(self, const uint32_t* node, event) except *
    cdef int order(self, const Value& value, const uint32_t* at, Type type) noexcept
    cdef bint is_member(self, const Value& value, const uint32_t* node) noexcept


# An expression that stands alone, of words under another vocabulary.
cdef Expression translated(Vocabulary vocabulary, const uint32_t* words, size_t size)
