"""Predicates of which 32 bits of a value say all: comparisons with small whole numbers, and equality of strings."""

from libc.stdint cimport int32_t, uint32_t, uint64_t

from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, NOT_BETWEEN, NOT_EQUAL, SHORT, STRING, first_type, operator_of, second_type,
)

# Three bits an operator, from EQUAL to NOT_BETWEEN: whether it holds below, within and above its bounds.
cdef enum:
    HOLDS = (
        0b010 | 0b101 << 3 | 0b001 << 6 | 0b110 << 9 | 0b011 << 12 | 0b100 << 15 | 0b010 << 18 | 0b101 << 21
    )


cdef inline bint is_small(uint32_t header) noexcept nogil:
    """Whether 32 bits of a value of the operands' type say all that the predicate asks."""
    cdef int relation = operator_of(header)
    if first_type(header) == SHORT:
        return relation < BETWEEN or relation <= NOT_BETWEEN and second_type(header) == SHORT
    return relation <= NOT_EQUAL and (first_type(header) == STRING or first_type(header) == BOOLEAN)


cdef inline bint small_holds(const uint32_t* node, int32_t value) noexcept nogil:
    """Of such a predicate and a value of its type."""
    cdef int relation = operator_of(node[0])
    cdef int32_t low = <int32_t>node[2], high = <int32_t>node[2 + (relation >= BETWEEN)]
    cdef int standing = (value >= low) + (value > high)
    return <uint32_t>HOLDS >> (3 * relation + standing) & 1
