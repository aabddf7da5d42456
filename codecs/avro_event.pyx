"""The record `Event`, as bytes: id, time, a map of attributes, a map of weights."""

from libc.stdint cimport int64_t, uint32_t
from libcpp.string_view cimport string_view

from tamis.codecs.avro_wire cimport (
    Block, Place, end_block, halted, read_block, read_boolean, read_double, read_long, read_size, read_text, refused,
)
from tamis.codecs.sink cimport BAD_UNION_INDEX, NO_NODE, ROOT, WEIGHTS_ROOT, EventSink

# Branches of an attribute's value.
cdef enum:
    LONG_BRANCH
    DOUBLE_BRANCH
    STRING_BRANCH
    BOOLEAN_BRANCH

cdef enum:
    ATTRIBUTE_BYTES_MIN = 3  # a key's length, a branch, a value
    WEIGHT_BYTES_MIN = 9


cdef Place read_event(Place at, Place end, EventSink* sink, EventHead* head) noexcept nogil:
    cdef size_t size
    at = read_text(at, end, &size, sink)
    if at == NULL:
        return NULL
    head.id = string_view(at, size)
    at = read_long(at + size, end, &head.time, sink)
    if at == NULL:
        return NULL
    at = read_attributes(at, end, sink)
    if at == NULL:
        return NULL
    return read_weights(at, end, sink)


cdef Place read_attributes(Place at, Place end, EventSink* sink) noexcept nogil:
    cdef Block block
    cdef size_t size
    cdef uint32_t node
    while True:
        at = read_block(at, end, ATTRIBUTE_BYTES_MIN, &block, sink)
        if at == NULL or block.count == 0:
            return at
        while block.count > 0:
            block.count -= 1
            at = read_size(at, end, &size, sink)
            if at == NULL:
                return NULL
            node = sink.key(ROOT, at, size, end)
            if node == NO_NODE:
                return halted(sink, at)
            at = read_value(at + size, end, node, sink)
            if at == NULL:
                return NULL
        at = end_block(at, &block, sink)
        if at == NULL:
            return NULL


cdef inline Place read_value(Place at, Place end, uint32_t node, EventSink* sink) noexcept nogil:
    cdef Place start = at
    cdef int64_t branch, whole
    cdef size_t size
    cdef double real
    cdef bint truth, taken
    at = read_long(at, end, &branch, sink)
    if at == NULL:
        return NULL
    if branch == LONG_BRANCH:
        at = read_long(at, end, &whole, sink)
        if at == NULL:
            return NULL
        taken = sink.add_long(node, whole)
    elif branch == DOUBLE_BRANCH:
        at = read_double(at, end, &real, sink)
        if at == NULL:
            return NULL
        taken = sink.add_double(node, real)
    elif branch == STRING_BRANCH:
        at = read_text(at, end, &size, sink)
        if at == NULL:
            return NULL
        taken = sink.add_string(node, at, size, end)
        at += size
    elif branch == BOOLEAN_BRANCH:
        at = read_boolean(at, end, &truth, sink)
        if at == NULL:
            return NULL
        taken = sink.add_boolean(node, truth)
    else:
        return refused(sink, BAD_UNION_INDEX, start)
    return at if taken else halted(sink, start)


cdef Place read_weights(Place at, Place end, EventSink* sink) noexcept nogil:
    cdef Block block
    cdef size_t size
    cdef uint32_t node
    cdef double weight
    while True:
        at = read_block(at, end, WEIGHT_BYTES_MIN, &block, sink)
        if at == NULL or block.count == 0:
            return at
        while block.count > 0:
            block.count -= 1
            at = read_size(at, end, &size, sink)
            if at == NULL:
                return NULL
            node = sink.key(WEIGHTS_ROOT, at, size, end)
            if node == NO_NODE:
                return halted(sink, at)
            at = read_double(at + size, end, &weight, sink)
            if at == NULL:
                return NULL
            if not sink.add_weight(node, weight):
                return halted(sink, at - 8)
        at = end_block(at, &block, sink)
        if at == NULL:
            return NULL
