"""From predicates and values to the keys of access lists."""

from libc.math cimport fabs
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from tamis.indexes.access_lists cimport NUMBERS_END, ListKey, key_of_double
from tamis.indexes.numbers cimport Number
from tamis.indexes.truth cimport number_at
from tamis.indexes.words cimport (
    BOOLEAN, DOUBLE, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, LONG, MIXED, STRING, Type, first_type, operator_of,
    second_type, words_of,
)

# Keys of numbers, from the first up to the end.
cdef struct NumberRange:
    uint64_t first
    uint64_t end


cdef inline double double_of(Number number) noexcept nogil:
    """The nearest one: it ascends with the number."""
    return number.real if number.is_double else <double>number.whole


cdef inline ListKey number_point(uint32_t attribute, Number number) noexcept nogil:
    cdef ListKey key
    key.high = <uint64_t>attribute << 8 | (DOUBLE if number.is_double else LONG)
    if number.is_double:
        memcpy(&key.low, &number.real, sizeof(key.low))
    else:
        key.low = <uint64_t>number.whole
    return key


cdef inline ListKey small_point(uint32_t attribute, Type type, uint32_t small) noexcept nogil:
    """Of a string's id, or a boolean."""
    cdef ListKey key
    key.high = <uint64_t>attribute << 8 | type
    key.low = small
    return key


cdef inline ListKey operand_point(uint32_t attribute, const uint32_t* at, Type type) noexcept nogil:
    """Of an operand of `=`, or a set's member, which brings its own type where they are mixed."""
    if type == MIXED:
        return number_point(attribute, number_at(at + 1, <Type>at[0]))
    if type == STRING or type == BOOLEAN:
        return small_point(attribute, type, at[0])
    return number_point(attribute, number_at(at, type))


cdef inline uint64_t key_before(Number number) noexcept nogil:
    return key_of_double(double_of(number))


cdef inline uint64_t key_behind(Number number) noexcept nogil:
    return key_of_double(double_of(number)) + 1


cdef inline bint is_alone(Number number) noexcept nogil:
    """Whether no other number has its key."""
    return fabs(double_of(number)) < 9007199254740992.0


cdef inline NumberRange range_of(const uint32_t* node) noexcept nogil:
    """Of a comparison of numbers, other than `!=` and `not between`. It may hold more: numbers that share a key."""
    cdef int relation = operator_of(node[0])
    cdef Number bound = number_at(node + 2, first_type(node[0]))
    cdef NumberRange range = NumberRange(0, NUMBERS_END())
    if relation == LESS:
        range.end = key_before(bound) if is_alone(bound) else key_behind(bound)
    elif relation == LESS_EQUAL:
        range.end = key_behind(bound)
    elif relation == GREATER:
        range.first = key_behind(bound) if is_alone(bound) else key_before(bound)
    elif relation == GREATER_EQUAL:
        range.first = key_before(bound)
    else:
        range.first = key_before(bound)
        range.end = key_behind(upper_bound(node))
    return range


cdef inline Number upper_bound(const uint32_t* node) noexcept nogil:
    """Of `between` and `not between`."""
    return number_at(node + 2 + words_of(first_type(node[0])), second_type(node[0]))


cdef inline bint is_parted(const uint32_t* node) noexcept nogil:
    """Whether a `not between` is two ranges that have no key in common."""
    return is_alone(number_at(node + 2, first_type(node[0]))) and is_alone(upper_bound(node))


cdef inline NumberRange range_below(const uint32_t* node) noexcept nogil:
    return NumberRange(0, key_before(number_at(node + 2, first_type(node[0]))))


cdef inline NumberRange range_above(const uint32_t* node) noexcept nogil:
    return NumberRange(key_behind(upper_bound(node)), NUMBERS_END())


cdef inline uint64_t space_of_cell(uint32_t column, uint32_t cell) noexcept nogil:
    """As a part of a key: it is none of a point's number."""
    return <uint64_t>1 << 40 | <uint64_t>column << 8 | cell


cdef inline bint is_cell(uint64_t space) noexcept nogil:
    return space >> 40 != 0


cdef inline uint32_t column_of(uint64_t space) noexcept nogil:
    return <uint32_t>(space >> 8)


cdef inline uint32_t cell_of(uint64_t space) noexcept nogil:
    return space & 0xFF
