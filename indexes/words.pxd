"""An expression as 32-bit words, each node before its children: what is stored, walked and compared.

    connective   kind | count << 4, size in words, children ...     (AND, OR)
    chain        kind | count << 4, size in words, a bit a connective (1: xnor) from the lowest, children ...
    negation     kind, child
    predicate    header, attribute, operands ..., weight if it is not 1

A predicate's header holds its kind, operator, the types of its operands and whether a weight follows. Strings are ids
of a vocabulary. A set's operands are a count and its members, ascending and distinct, all of one type; MIXED members
bring their own. Equal words under one vocabulary are equal canonical texts, and the reverse.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum Kind:
    PREDICATE
    NEGATION
    CONJUNCTION
    DISJUNCTION
    CHAIN

# An operator and its negation differ in the lowest bit.
cdef enum Operator:
    EQUAL
    NOT_EQUAL
    LESS
    GREATER_EQUAL
    LESS_EQUAL
    GREATER
    BETWEEN
    NOT_BETWEEN
    IN
    NOT_IN
    STARTS_WITH
    NOT_STARTS_WITH
    ENDS_WITH
    NOT_ENDS_WITH
    CONTAINS
    NOT_CONTAINS
    MATCHES
    NOT_MATCHES
    EXISTS
    MISSING

cdef enum Type:
    NOTHING
    SHORT    # a long that fits one word
    LONG
    DOUBLE
    STRING
    BOOLEAN
    MIXED    # of a set: longs and doubles, each behind its type

cdef enum:
    COUNT_SHIFT = 4
    OPERATOR_SHIFT = 4
    FIRST_SHIFT = 9
    SECOND_SHIFT = 12
    WEIGHTED = 1 << 15


cdef inline Kind kind_of(uint32_t word) noexcept nogil:
    return <Kind>(word & 15)


cdef inline uint32_t count_of(uint32_t word) noexcept nogil:
    return word >> COUNT_SHIFT


cdef inline Operator operator_of(uint32_t word) noexcept nogil:
    return <Operator>((word >> OPERATOR_SHIFT) & 31)


cdef inline Type first_type(uint32_t word) noexcept nogil:
    return <Type>((word >> FIRST_SHIFT) & 7)


cdef inline Type second_type(uint32_t word) noexcept nogil:
    return <Type>((word >> SECOND_SHIFT) & 7)


cdef inline uint32_t words_of(Type type) noexcept nogil:
    """How many words a value of this type takes; of MIXED, a set's member."""
    if type == LONG or type == DOUBLE:
        return 2
    if type == MIXED:
        return 3
    return 0 if type == NOTHING else 1


cdef inline uint32_t chain_bits(uint32_t count) noexcept nogil:
    """How many words hold the connectives of a chain."""
    return (count - 1 + 31) // 32


cdef inline uint32_t first_child(const uint32_t* node) noexcept nogil:
    """Where a connective's or a chain's first child begins."""
    return 2 + (chain_bits(count_of(node[0])) if kind_of(node[0]) == CHAIN else 0)


cdef inline uint32_t predicate_size(const uint32_t* node) noexcept nogil:
    cdef uint32_t size = 2 + (2 if node[0] & WEIGHTED else 0)
    cdef Operator relation = operator_of(node[0])
    if relation == IN or relation == NOT_IN:
        return size + 1 + node[2] * words_of(first_type(node[0]))
    return size + words_of(first_type(node[0])) + words_of(second_type(node[0]))


cdef inline uint32_t node_size(const uint32_t* node) noexcept nogil:
    cdef uint32_t negations = 0
    while kind_of(node[negations]) == NEGATION:
        negations += 1
    if kind_of(node[negations]) == PREDICATE:
        return negations + predicate_size(node + negations)
    return negations + node[negations + 1]


cdef inline int64_t long_at(const uint32_t* at, Type type) noexcept nogil:
    cdef int64_t value
    if type == SHORT:
        return <int32_t>at[0]
    memcpy(&value, at, sizeof(value))
    return value


cdef inline double double_at(const uint32_t* at) noexcept nogil:
    cdef double value
    memcpy(&value, at, sizeof(value))
    return value


# Where a walk over the strings of some words is: the node in hand, and which of its strings is next.
cdef struct Cursor:
    size_t node
    uint32_t string


cdef inline bint next_string(const uint32_t* words, size_t size, Cursor* cursor, size_t* place) noexcept nogil:
    """The place of the next word that is a string's id, an occurrence at a time; begin with a zero cursor."""
    cdef const uint32_t* node
    cdef uint32_t string
    while cursor.node < size:
        node = words + cursor.node
        if kind_of(node[0]) == NEGATION:
            cursor.node += 1
            continue
        if kind_of(node[0]) != PREDICATE:
            cursor.node += first_child(node)
            continue
        string = cursor.string
        cursor.string += 1
        if string == 0:
            place[0] = cursor.node + 1
            return True
        if first_type(node[0]) == STRING:
            if operator_of(node[0]) == IN or operator_of(node[0]) == NOT_IN:
                if string <= node[2]:
                    place[0] = cursor.node + 2 + string
                    return True
            elif string == 1 or string == 2 and second_type(node[0]) == STRING:
                place[0] = cursor.node + 1 + string
                return True
        cursor.node += predicate_size(node)
        cursor.string = 0
    return False
