"""Where a predicate puts an expression's slot, and takes it from: the values, ranges and strings that it asks for."""

from libc.stdint cimport uint32_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view

from tamis.indexes.access_keys cimport (
    NumberRange, is_parted, operand_point, range_above, range_below, range_of,
)
from tamis.indexes.access_lists cimport (
    NUMBERS_END, STRINGS_END, AccessLists, Signature, after_prefix, after_string,
)
from tamis.indexes.vocabulary cimport StringTable
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, EQUAL, EXISTS, GREATER, GREATER_EQUAL, IN, LESS, LESS_EQUAL, NOT_BETWEEN, NOT_EQUAL, NOT_IN,
    STARTS_WITH, STRING, Type, first_type, operator_of, words_of,
)


cdef inline int place_predicate(
    AccessLists* lists, const StringTable* strings, const uint32_t* node, uint32_t slot, const Signature& signature,
    bint there,
) except -1 nogil:
    """Puts a slot where an event that meets a predicate finds it, or takes it from there."""
    cdef int relation = operator_of(node[0])
    cdef Type type = first_type(node[0])
    cdef uint32_t member
    if relation == EXISTS:
        if there:
            lists.column(node[1]).any.insert(slot, signature)
        else:
            lists.column(node[1]).any.erase(slot)
    elif relation == EQUAL:
        place_point(lists, node[1], node + 2, type, slot, signature, there)
    elif relation == IN:
        for member in range(node[2]):
            place_point(lists, node[1], node + 3 + member * words_of(type), type, slot, signature, there)
    elif type == BOOLEAN:  # what differs from one is the other, if the other is not asked against, too
        place_booleans(lists, node, slot, signature, there)
    elif type == STRING:
        place_strings(lists, strings, node, slot, signature, there)
    elif relation == NOT_EQUAL or relation == NOT_IN or relation == NOT_BETWEEN and not is_parted(node):
        place_range(lists, node[1], NumberRange(0, NUMBERS_END()), slot, signature, there)
    elif relation == NOT_BETWEEN:
        place_range(lists, node[1], range_below(node), slot, signature, there)
        place_range(lists, node[1], range_above(node), slot, signature, there)
    else:
        place_range(lists, node[1], range_of(node), slot, signature, there)
    return 0


cdef inline int place_point(
    AccessLists* lists, uint32_t attribute, const uint32_t* at, Type type, uint32_t slot, const Signature& signature,
    bint there,
) except -1 nogil:
    if there:
        lists.insert_point(operand_point(attribute, at, type), slot, signature)
    else:
        lists.erase_point(operand_point(attribute, at, type), slot)
    return 0


cdef inline int place_booleans(
    AccessLists* lists, const uint32_t* node, uint32_t slot, const Signature& signature, bint there
) except -1 nogil:
    """Of `!=` and `not in`."""
    cdef const uint32_t* at = node + (3 if operator_of(node[0]) == NOT_IN else 2)
    cdef uint32_t count = node[2] if operator_of(node[0]) == NOT_IN else 1, value
    for value in range(2):
        if at[0] != value and at[count - 1] != value:
            place_point(lists, node[1], &value, BOOLEAN, slot, signature, there)
    return 0


cdef inline int place_range(
    AccessLists* lists, uint32_t attribute, NumberRange range, uint32_t slot, const Signature& signature, bint there
) except -1 nogil:
    if there:
        lists.insert_numbers(attribute, range.first, range.end, slot, signature)
    else:
        lists.erase_numbers(attribute, range.first, range.end, slot)
    return 0


cdef inline int place_strings(
    AccessLists* lists, const StringTable* strings, const uint32_t* node, uint32_t slot, const Signature& signature,
    bint there,
) except -1 nogil:
    cdef int relation = operator_of(node[0])
    cdef string_view text = strings.view(node[2])
    cdef string first, end = STRINGS_END()
    if relation == STARTS_WITH:
        first = string(text.data(), text.size())
        end = after_prefix(text)
    elif relation == GREATER_EQUAL or relation == BETWEEN:
        first = string(text.data(), text.size())
    elif relation == GREATER:
        first = after_string(text)
    elif relation == LESS:
        end = string(text.data(), text.size())
    elif relation == LESS_EQUAL:
        end = after_string(text)
    if relation == BETWEEN:
        end = after_string(strings.view(node[3]))
    if first < end:  # nothing is below the empty string
        if there:
            lists.insert_strings(node[1], first, end, slot, signature)
        else:
            lists.erase_strings(node[1], first, end, slot)
    return 0
