"""What an expression says of one event that Python holds: its truth, its score, and why."""

from libc.math cimport isfinite
from libc.stdint cimport uint32_t

from tamis.indexes.errors import EventError
from tamis.indexes.explanation import Explanation
from tamis.indexes.patterns import matches

from tamis.indexes.event_values cimport value_of
from tamis.indexes.printing cimport node_text, string_of
from tamis.indexes.truth cimport (
    FALSE, TRUE, UNKNOWN, Truth, Value, asks_pattern, before_children, decides, is_foreign, negated, predicate_truth,
)
from tamis.indexes.vocabulary cimport StringId, Vocabulary
from tamis.indexes.words cimport (
    NEGATION, NOTHING, PREDICATE, WEIGHTED, Kind, count_of, double_at, first_child,
    kind_of, node_size, operator_of, predicate_size,
)


cdef Truth truth_of(const uint32_t* node, Vocabulary vocabulary, dict names, event) except *:
    cdef Kind kind = kind_of(node[0])
    cdef Truth result
    cdef uint32_t index, at
    if kind == PREDICATE:
        return predicate_truth_of(node, vocabulary, names, event)
    if kind == NEGATION:
        return negated(truth_of(node + 1, vocabulary, names, event))
    at = first_child(node)
    result = before_children(kind)
    for index in range(count_of(node[0])):
        if decides(node, index, truth_of(node + at, vocabulary, names, event), &result):
            break
        at += node_size(node + at)
    return result


cdef Truth predicate_truth_of(const uint32_t* node, Vocabulary vocabulary, dict names, event) except *:
    held = event.get(attribute_of(node[1], vocabulary, names))  # keeps a string's bytes: it may have been made just now
    cdef Value value = value_of(held)
    if asks_pattern(node, value.type):
        found = matches(string_of(node[2], vocabulary), value.data[:value.size])
        return TRUE if found != (operator_of(node[0]) & 1) else FALSE
    return predicate_truth(node, &value, vocabulary.table)


cdef str attribute_of(StringId id, Vocabulary vocabulary, dict names):
    name = names.get(id)
    if name is None:
        name = names[id] = string_of(id, vocabulary)
    return name


cdef double score_of(const uint32_t* node, Vocabulary vocabulary, dict names, event, weights) except? -1:
    cdef double total = 0
    add_score(node, False, vocabulary, names, event, weights, &total)
    return total


cdef int add_score(
    const uint32_t* node, bint inverted, Vocabulary vocabulary, dict names, event, weights, double* total
) except -1:
    """In the order of the text: doubles do not add up alike in another one."""
    cdef Truth wanted = FALSE if inverted else TRUE
    cdef uint32_t at
    cdef double weight
    if kind_of(node[0]) == NEGATION:
        return add_score(node + 1, not inverted, vocabulary, names, event, weights, total)
    if kind_of(node[0]) != PREDICATE:
        at = first_child(node)
        for _child in range(count_of(node[0])):
            add_score(node + at, inverted, vocabulary, names, event, weights, total)
            at += node_size(node + at)
    elif predicate_truth_of(node, vocabulary, names, event) == wanted:
        weight = double_at(node + predicate_size(node) - 2) if node[0] & WEIGHTED else 1.0
        name = attribute_of(node[1], vocabulary, names)
        if name in weights:
            weight *= checked_weight(name, weights[name])
        total[0] += weight
    return 0


cdef double checked_weight(name, weight) except? -1:
    if isinstance(weight, bool) or not isinstance(weight, (int, float)):
        raise EventError(f"attribute {name!r}: a weight is a number, not {type(weight).__name__}")
    try:
        result = float(weight)
    except OverflowError:
        result = float("inf")
    if not isfinite(result) or result < 0:
        raise EventError(f"attribute {name!r}: a weight is finite and not below 0, but this one is {weight}")
    return result


cdef object explanation_of(const uint32_t* node, Vocabulary vocabulary, dict names, event):
    cdef Kind kind = kind_of(node[0])
    cdef Value value
    cdef uint32_t at
    text = node_text(node, vocabulary)
    truth = truth_of(node, vocabulary, names, event)
    verdict = None if truth == UNKNOWN else truth == TRUE
    if kind == PREDICATE:
        held = event.get(attribute_of(node[1], vocabulary, names))
        value = value_of(held)
        if value.type == NOTHING:
            return Explanation(text, verdict, "missing", None, ())
        return Explanation(text, verdict, "foreign" if is_foreign(node, value.type) else "value", held, ())
    children = []
    if kind == NEGATION:
        children.append(explanation_of(node + 1, vocabulary, names, event))
    else:
        at = first_child(node)
        for _child in range(count_of(node[0])):
            children.append(explanation_of(node + at, vocabulary, names, event))
            at += node_size(node + at)
    return Explanation(text, verdict, None, None, tuple(children))
