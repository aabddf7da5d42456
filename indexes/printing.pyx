"""From words back to text: the one canonical spelling of each expression."""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint32_t
from libcpp.string_view cimport string_view

from collections import namedtuple

from tamis.indexes.spelling import literal_text, name_text

from tamis.indexes.truth cimport is_xnor
from tamis.indexes.vocabulary cimport StringId, Vocabulary
from tamis.indexes.words cimport (
    BOOLEAN, CHAIN, CONJUNCTION, DISJUNCTION, DOUBLE, IN, MIXED, NEGATION, NOTHING, PREDICATE, STRING, WEIGHTED, Kind,
    Type, count_of, double_at, first_child, first_type, kind_of, long_at, node_size, operator_of, second_type,
    words_of,
)

Predicate = namedtuple("Predicate", ["attribute", "operator", "operands", "weight"], defaults=[1.0])

# In the order of the enumeration `Operator`.
OPERATORS = (
    *("=", "!=", "<", ">=", "<=", ">", "between", "not between", "in", "not in", "starts with", "not starts with"),
    *("ends with", "not ends with", "contains", "not contains", "matches", "not matches", "exists", "missing"),
)

# How tightly a node binds: one that binds less tightly than its place asks for goes into brackets.
cdef enum Binding:
    LOOSEST
    IN_CHAIN
    IN_CONJUNCTION
    TIGHTEST


cdef str node_text(const uint32_t* node, Vocabulary vocabulary):
    parts = []
    print_node(node, vocabulary, LOOSEST, parts)
    return "".join(parts)


cdef int print_node(const uint32_t* node, Vocabulary vocabulary, Binding place, list parts) except -1:
    cdef Kind kind = kind_of(node[0])
    cdef Binding own, inner
    cdef uint32_t index, at
    if kind == PREDICATE:
        parts.append(predicate_text(predicate_of(node, vocabulary)))
        return 0
    if kind == NEGATION:
        parts.append("not ")
        return print_node(node + 1, vocabulary, TIGHTEST, parts)
    own = LOOSEST if kind == DISJUNCTION else IN_CHAIN if kind == CHAIN else IN_CONJUNCTION
    # What is nested in its own kind was spliced, except at the right of a chain, where it keeps its brackets.
    inner = <Binding>(own + 1)
    if own < place:
        parts.append("(")
    at = first_child(node)
    for index in range(count_of(node[0])):
        if index > 0:
            if kind == CHAIN:
                parts.append(" xnor " if is_xnor(node, index) else " xor ")
            else:
                parts.append(" and " if kind == CONJUNCTION else " or ")
        print_node(node + at, vocabulary, inner, parts)
        at += node_size(node + at)
    if own < place:
        parts.append(")")
    return 0


def predicate_text(predicate):
    """The canonical text of one predicate."""
    name = name_text(predicate.attribute)
    operands = [literal_text(operand) for operand in predicate.operands]
    if not operands:
        text = f"{predicate.operator} {name}"
    elif predicate.operator.endswith("between"):
        text = f"{name} {predicate.operator} {operands[0]} and {operands[1]}"
    elif predicate.operator in ("in", "not in"):
        text = f"{name} {predicate.operator} ({', '.join(operands)})"
    else:
        text = f"{name} {predicate.operator} {operands[0]}"
    return text if predicate.weight == 1 else f"{text} weight {literal_text(predicate.weight)}"


cdef object predicate_of(const uint32_t* node, Vocabulary vocabulary):
    relation = operator_of(node[0])
    cdef Type first = first_type(node[0]), second = second_type(node[0]), type
    cdef const uint32_t* at = node + 2
    operands = []
    if relation | 1 == IN | 1:
        at += 1
        for _member in range(node[2]):
            type = <Type>at[0] if first == MIXED else first
            operands.append(constant(at + (first == MIXED), type, vocabulary))
            at += words_of(first)
    else:
        for type in (first, second):
            if type != NOTHING:
                operands.append(constant(at, type, vocabulary))
                at += words_of(type)
    weight = double_at(at) if node[0] & WEIGHTED else 1.0
    return Predicate(string_of(node[1], vocabulary), OPERATORS[relation], tuple(operands), weight)


cdef object constant(const uint32_t* at, Type type, Vocabulary vocabulary):
    if type == STRING:
        return string_of(at[0], vocabulary)
    if type == BOOLEAN:
        return at[0] == 1
    if type == DOUBLE:
        return double_at(at)
    return long_at(at, type)


cdef str string_of(StringId id, Vocabulary vocabulary):
    cdef string_view utf8 = vocabulary.table.view(id)
    return PyUnicode_DecodeUTF8(utf8.data(), <Py_ssize_t>utf8.size(), NULL)
