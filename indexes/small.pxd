"""Predicates of which 32 bits of a value say all: comparisons with small whole numbers, and equality of strings."""

from libc.stdint cimport int32_t, uint32_t, uint64_t

from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, CONJUNCTION, EXISTS, MISSING, NOT_BETWEEN, NOT_EQUAL, NOTHING, PREDICATE, SHORT, STRING, count_of,
    first_child, first_type, kind_of, operator_of, predicate_size, second_type,
)

# What the event in hand has for an attribute: NOTHING, or a type (SHORT for a long that fits) and 32 bits that say all
# of it where it is SHORT, BOOLEAN, or a STRING that the index holds (its id; else NO_STRING).
cdef struct Cell:
    uint32_t type
    int32_t small
    uint32_t entry

# What a quick look says: it holds, it does not, or it takes more than that.
cdef enum Quick:
    HOPELESS    # its first predicate asks for an attribute that is not there
    FAILS
    HOLDS
    UNCLEAR

# Three bits an operator, from EQUAL to NOT_BETWEEN: whether it holds below, within and above its bounds.
cdef enum:
    STANDINGS = (
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
    return <uint32_t>STANDINGS >> (3 * relation + standing) & 1


cdef inline Quick quick_predicate(const Cell* cells, const uint32_t* node, uint64_t* tried) noexcept nogil:
    cdef const Cell* cell = cells + node[1]
    cdef int relation = operator_of(node[0])
    if relation >= EXISTS:
        tried[0] += 1
        return HOLDS if (relation == MISSING) == (cell.type == NOTHING) else FAILS
    if cell.type == NOTHING:
        return HOPELESS
    if cell.type == first_type(node[0]) and is_small(node[0]):
        tried[0] += 1
        return HOLDS if small_holds(node, cell.small) else FAILS
    return UNCLEAR


cdef inline Quick quick_look(const Cell* cells, const uint32_t* node, uint64_t* tried) noexcept nogil:
    """Of an expression, by an event's cells: a conjunction of small predicates, or one of them, is all that is clear.

    Counts the predicates that it tried.
    """
    cdef uint32_t at, child
    cdef Quick quick
    if kind_of(node[0]) == PREDICATE:
        return quick_predicate(cells, node, tried)
    if kind_of(node[0]) != CONJUNCTION:
        return UNCLEAR
    at = first_child(node)
    for child in range(count_of(node[0])):
        if kind_of(node[at]) != PREDICATE:
            return UNCLEAR
        quick = quick_predicate(cells, node + at, tried)
        if quick != HOLDS:
            return FAILS if child > 0 and quick == HOPELESS else quick
        at += predicate_size(node + at)
    return HOLDS
