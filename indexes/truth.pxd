"""What a predicate says of a value: true, false, or unknown. All but regular expressions, which need Python."""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp
from libcpp.string_view cimport string_view

from tamis.indexes.numbers cimport Number, compared, number_of_double, number_of_long
from tamis.indexes.vocabulary cimport StringTable
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, CONJUNCTION, DISJUNCTION, DOUBLE, ENDS_WITH, EQUAL, EXISTS, IN, LESS, LESS_EQUAL, MATCHES,
    MISSING, MIXED, NOTHING, STARTS_WITH, STRING, Kind, Type, double_at, first_type, kind_of, long_at, operator_of,
    second_type, words_of,
)

cdef enum Truth:
    FALSE
    TRUE
    UNKNOWN

# An event's value: NOTHING if it is missing. A boolean is the number 0 or 1; a string's bytes belong to someone else.
cdef struct Value:
    Type type
    Number number
    const char* data
    size_t size


cdef inline Truth negated(Truth truth) noexcept nogil:
    return UNKNOWN if truth == UNKNOWN else FALSE if truth == TRUE else TRUE


cdef inline bint is_xnor(const uint32_t* chain, uint32_t index) noexcept nogil:
    """Whether the connective before a chain's operand, counted from 0, is `xnor`."""
    return chain[2 + (index - 1) // 32] >> (index - 1) % 32 & 1


cdef inline Truth before_children(Kind kind) noexcept nogil:
    """The truth of a connective or chain of which no child is known yet."""
    return TRUE if kind == CONJUNCTION else FALSE


cdef inline bint decides(const uint32_t* node, uint32_t index, Truth child, Truth* truth) noexcept nogil:
    """Takes in the truth of a child, counted from 0; whether the others do not matter any more."""
    cdef Kind kind = kind_of(node[0])
    if kind == CONJUNCTION:
        truth[0] = child if child == FALSE or truth[0] == TRUE else truth[0]
        return child == FALSE
    if kind == DISJUNCTION:
        truth[0] = child if child == TRUE or truth[0] == FALSE else truth[0]
        return child == TRUE
    if child == UNKNOWN or index == 0:
        truth[0] = child
    else:
        truth[0] = TRUE if (child != truth[0]) != is_xnor(node, index) else FALSE
    return child == UNKNOWN


cdef inline bint same_family(Type value, Type constant) noexcept nogil:
    if value == STRING or value == BOOLEAN:
        return value == constant
    return constant != STRING and constant != BOOLEAN


cdef inline bint is_foreign(const uint32_t* node, Type value) noexcept nogil:
    """Whether a value that is there is of another family than the predicate's operands."""
    return first_type(node[0]) != NOTHING and not same_family(value, first_type(node[0]))


cdef inline bint asks_pattern(const uint32_t* node, Type value) noexcept nogil:
    """Whether the predicate's truth on a value of this type is for a regular expression to say."""
    return operator_of(node[0]) | 1 == MATCHES | 1 and value == STRING


cdef inline Number number_at(const uint32_t* at, Type type) noexcept nogil:
    if type == DOUBLE:
        return number_of_double(double_at(at))
    return number_of_long(at[0] if type == BOOLEAN else long_at(at, type))


cdef inline int order(
    const Value* value, const uint32_t* at, Type type, const StringTable* strings
) noexcept nogil:
    """Of an event's value and a constant of its family: negative, zero or positive."""
    cdef string_view constant
    cdef int sign
    if type == STRING:
        constant = strings.view(at[0])
        sign = memcmp(value.data, constant.data(), min(value.size, constant.size()))
        return sign if sign != 0 else (value.size > constant.size()) - (value.size < constant.size())
    return compared(value.number, number_at(at, type))


cdef inline bint is_member(const Value* value, const uint32_t* node, const StringTable* strings) noexcept nogil:
    """By bisection: the members ascend."""
    cdef Type type = first_type(node[0])
    cdef uint32_t width = words_of(type)
    cdef uint32_t low = 0, high = node[2], middle
    cdef const uint32_t* member
    cdef int sign
    while low < high:
        middle = (low + high) // 2
        member = node + 3 + middle * width
        if type == MIXED:
            sign = order(value, member + 1, <Type>member[0], strings)
        else:
            sign = order(value, member, type, strings)
        if sign == 0:
            return True
        if sign < 0:
            high = middle
        else:
            low = middle + 1
    return False


cdef inline bint occurs(string_view part, const Value* value, int relation) noexcept nogil:
    if part.size() > value.size:
        return False
    if relation == STARTS_WITH:
        return memcmp(value.data, part.data(), part.size()) == 0
    if relation == ENDS_WITH:
        return memcmp(value.data + value.size - part.size(), part.data(), part.size()) == 0
    return string_view(value.data, value.size).find(part) != <size_t>-1


cdef inline Truth predicate_truth(
    const uint32_t* node, const Value* value, const StringTable* strings
) noexcept nogil:
    """Of a predicate whose truth on this value is not for a regular expression to say."""
    cdef int relation = operator_of(node[0])
    cdef int positive = relation & ~1
    cdef Type first = first_type(node[0])
    cdef bint holds
    if positive == EXISTS:
        return TRUE if (value.type == NOTHING) == (relation == MISSING) else FALSE
    if value.type == NOTHING or not same_family(value.type, first):
        return UNKNOWN
    if positive == EQUAL:
        holds = order(value, node + 2, first, strings) == 0
    elif positive == LESS:
        holds = order(value, node + 2, first, strings) < 0
    elif positive == LESS_EQUAL:
        holds = order(value, node + 2, first, strings) <= 0
    elif positive == BETWEEN:
        holds = (
            order(value, node + 2, first, strings) >= 0
            and order(value, node + 2 + words_of(first), second_type(node[0]), strings) <= 0
        )
    elif positive == IN:
        holds = is_member(value, node, strings)
    else:
        holds = occurs(strings.view(node[2]), value, positive)
    return TRUE if holds != (relation & 1) else FALSE
