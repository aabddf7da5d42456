"""How often an access predicate lets an event through: what finding an expression by it costs.

PS-Tree (2018), section 3.3, ranks predicates by historical events, and without those by operators and the widths of
their value sets. Here both are one estimate: the share of events that have the attribute, times the share of values
that the predicate holds for. Of learned events both are counted in a sample; before that, a value is taken to come as
often in events as in subscriptions, and a range as often as its part of what subscriptions span.
"""

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport uint32_t

from tamis.indexes.access_keys cimport (
    NumberRange, double_of, key_before, operand_point, range_of, upper_bound,
)
from tamis.indexes.access_lists cimport NO_LIST, AccessLists, AttributeColumn, ListKey
from tamis.indexes.truth cimport number_at
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, EQUAL, EXISTS, IN, LESS, LESS_EQUAL, MISSING,
    MIXED, NOT_BETWEEN, STARTS_WITH, STRING, Type, first_type, operator_of, words_of,
)

cdef enum:
    # Of a set's members so many are looked at.
    MEMBERS_MAX = 32


cdef inline double cost_of(AccessLists* lists, const uint32_t* node) noexcept nogil:
    """Of a predicate whose attribute has a column; infinite if it cannot be found by."""
    cdef int relation = operator_of(node[0])
    if relation == MISSING:
        return INFINITY
    cdef AttributeColumn* column = lists.column(node[1])
    return presence_of(column) if relation == EXISTS else presence_of(column) * share_of(lists, column, node)


cdef inline double presence_of(AttributeColumn* column) noexcept nogil:
    """The share of events that have the attribute; half, as long as none were learned."""
    return (column.present + 0.5) / (column.seen + 1)


cdef inline double share_of(AccessLists* lists, AttributeColumn* column, const uint32_t* node) noexcept nogil:
    cdef int relation = operator_of(node[0])
    cdef Type type = first_type(node[0])
    cdef double share = 0
    cdef uint32_t member
    if relation == EQUAL:
        return share_of_point(lists, column, node, node + 2, type)
    if relation == IN:
        for member in range(min(node[2], MEMBERS_MAX)):
            share += share_of_point(lists, column, node, node + 3 + member * words_of(type), type)
        return min(1.0, share * max(1.0, <double>node[2] / MEMBERS_MAX))
    if relation == STARTS_WITH:
        return 0.05
    if type == STRING and LESS <= relation <= BETWEEN:
        return 0.2 if relation == BETWEEN else 0.5
    if LESS <= relation <= BETWEEN:
        return share_of_range(column, node)
    if relation == NOT_BETWEEN and type != STRING:
        return 1 - 0.5 * share_of_range(column, node)
    return 1


cdef inline double share_of_point(
    AccessLists* lists, AttributeColumn* column, const uint32_t* node, const uint32_t* at, Type type
) noexcept nogil:
    cdef ListKey key = operand_point(node[1], at, type)
    cdef NumberRange range
    cdef uint32_t number
    if column.seen == 0:
        number = lists.points.find(key)
        return (1.0 + (0 if number == NO_LIST else lists.points[number].size())) / (10.0 + column.uses)
    if type == STRING or type == BOOLEAN:
        return column.share_of_point(key.low)
    number_range(at, type, &range)
    return column.share_of_numbers(range.first, range.end)


cdef inline void number_range(const uint32_t* at, Type type, NumberRange* range) noexcept nogil:
    """Of one number."""
    if type == MIXED:
        type = <Type>at[0]
        at += 1
    range.first = key_before(number_at(at, type))
    range.end = range.first + 1


cdef inline double share_of_range(AttributeColumn* column, const uint32_t* node) noexcept nogil:
    """Of a comparison of numbers; of `not between`, what lies between."""
    cdef int relation = operator_of(node[0])
    cdef NumberRange range
    cdef double low, high, span = column.greatest - column.least
    if column.seen > 0:
        range = range_of(node)
        return column.share_of_numbers(range.first, range.end)
    if not isfinite(span) or span <= 0:
        return 0.3
    low = column.least
    high = column.greatest
    if relation == LESS or relation == LESS_EQUAL:
        high = double_of(number_at(node + 2, first_type(node[0])))
    else:
        low = double_of(number_at(node + 2, first_type(node[0])))
        if relation == BETWEEN or relation == NOT_BETWEEN:
            high = double_of(upper_bound(node))
    return max(0.01, min(1.0, (high - low) / span))
