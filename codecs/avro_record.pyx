"""Records of any schema: compiled once into a plan, by which messages are read and flattened.

A plan is the schema's types as a tree in one array. Where no map is above it, a field's name is known before any
message comes, and is bound to its attribute once a batch.
"""

cimport cython
from libc.stdint cimport INT32_MAX, INT32_MIN, int64_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector

from tamis.codecs.avro_wire cimport (
    Block, Place, end_block, halted, read_block, read_boolean, read_double, read_float, read_long, read_size,
    read_text, refused,
)
from tamis.codecs.sink cimport (
    BAD_ENUM_INDEX, BAD_LENGTH, BAD_UNION_INDEX, NO_NODE, ROOT, TRUNCATED, VALUE_OVERFLOW, EventSink,
)


cdef extern from "decimals.hpp" namespace "tamis" nogil:
    const size_t DECIMAL_BYTES_MAX "tamis::decimal_bytes_max"

    cdef struct Decimal:
        bool is_whole
        int64_t whole
        double real

    size_t sign_bytes(const char* bytes, size_t size) noexcept
    Decimal decimal_of(const char* bytes, size_t size, uint32_t scale) noexcept


cdef uint32_t NO_NAME = 0xFFFFFFFF

cdef dict KINDS = {
    "null": NULL_KIND, "boolean": BOOLEAN_KIND, "int": INT_KIND, "long": LONG_KIND, "float": FLOAT_KIND,
    "double": DOUBLE_KIND, "string": STRING_KIND, "bytes": BYTES_KIND, "fixed": FIXED_KIND, "enum": ENUM_KIND,
    "record": RECORD_KIND, "union": UNION_KIND, "array": ARRAY_KIND, "map": MAP_KIND,
}


@cython.final
cdef class FieldPlan:
    """Of a record's type."""

    def __cinit__(self, record, *, is_event=False):
        self.is_event = is_event
        text = bytearray()
        self.add(text, record, NO_NAME)
        waiting = [record]  # of the nodes, as many as have children still to come
        cdef size_t index = 0
        while index < self.nodes.size():
            kind = waiting[index]
            waiting[index] = None
            if kind.kind == "enum":
                self.nodes[index].first = <uint32_t>self.names.size()
                self.nodes[index].count = <uint32_t>len(kind.names)
                for symbol in kind.names:
                    self.add_name(text, symbol)
            elif kind.children:
                self.nodes[index].first = <uint32_t>self.nodes.size()
                self.add_children(text, index, kind, waiting)
            index += 1
        cdef bytes whole = bytes(text)
        cdef const char* start = whole
        self.text.assign(start, start + len(whole))

    def __len__(self):
        return self.nodes.size()

    cdef int add_children(self, text, size_t parent, kind, list waiting) except -1:
        names = kind.names or [None] * len(kind.children)
        for name, child in zip(names, kind.children, strict=True):
            if kind.kind == "record" and child.bytes_min == 0:
                continue  # it has no bytes and no value: a message of many such fields would cost more than it has
            self.add(text, child, NO_NAME if name is None else self.add_name(text, name))
            waiting.append(child)
            self.nodes[parent].count += 1
        return 0

    cdef int add(self, text, kind, uint32_t name) except -1:
        cdef PlanNode node
        node.kind = KINDS[kind.kind]
        if kind.scale is not None:
            node.kind = DECIMAL_KIND if node.kind == BYTES_KIND else FIXED_DECIMAL_KIND
        node.first = 0
        node.count = 0
        node.bytes_min = kind.bytes_min
        node.size = kind.size
        node.scale = kind.scale or 0
        node.name = name
        self.nodes.push_back(node)
        return 0

    cdef uint32_t add_name(self, text, str name) except? 0xFFFFFFFF:
        encoded = name.encode()
        self.names.push_back(Name(<uint32_t>len(text), <uint32_t>len(encoded)))
        text.extend(encoded)
        return <uint32_t>(self.names.size() - 1)

    cdef bint bind(self, EventSink* sink, vector[uint32_t]* places, BoundPlan* bound) except -1:
        cdef size_t index
        cdef uint32_t child
        places.clear()
        places.resize(self.nodes.size(), NO_NODE)
        bound[0] = BoundPlan(self.nodes.data(), self.names.data(), self.text.data(), places.data())
        places[0][0] = ROOT
        for index in range(self.nodes.size()):
            if places[0][index] == NO_NODE:
                continue
            if self.nodes[index].kind != RECORD_KIND and self.nodes[index].kind != UNION_KIND:
                continue
            for child in range(self.nodes[index].first, self.nodes[index].first + self.nodes[index].count):
                places[0][child] = places[0][index]
                if self.nodes[child].name != NO_NAME:
                    places[0][child] = field_of(bound, child, places[0][index], sink)
                    if places[0][child] == NO_NODE:
                        return False
        return True


cdef Place read_planned(Place at, Place end, const BoundPlan* plan, EventSink* sink) noexcept nogil:
    return read_record(plan, 0, at, end, ROOT, sink)


cdef inline uint32_t field_of(const BoundPlan* plan, uint32_t index, uint32_t parent, EventSink* sink) noexcept nogil:
    cdef Name name = plan.names[plan.nodes[index].name]
    return sink.field(parent, plan.text + name.start, name.size)


# `where` is the node of the value's path; NO_NODE if it is only checked, and put nowhere.
cdef Place read_record(
    const BoundPlan* plan, uint32_t index, Place at, Place end, uint32_t where, EventSink* sink
) noexcept nogil:
    cdef const PlanNode* node = plan.nodes + index
    cdef uint32_t child, place = NO_NODE
    for child in range(node.first, node.first + node.count):
        if where != NO_NODE:
            place = plan.places[child]
            if place == NO_NODE:
                place = field_of(plan, child, where, sink)
                if place == NO_NODE:
                    return halted(sink, at)
        at = read_value(plan, child, at, end, place, sink)
        if at == NULL:
            return NULL
    return at


cdef inline Place read_value(
    const BoundPlan* plan, uint32_t index, Place at, Place end, uint32_t where, EventSink* sink
) noexcept nogil:
    cdef const PlanNode* node = plan.nodes + index
    cdef Place start
    cdef int64_t branch
    if node.kind == UNION_KIND:
        start = at
        at = read_long(at, end, &branch, sink)
        if at == NULL:
            return NULL
        if not 0 <= branch < node.count:
            return refused(sink, BAD_UNION_INDEX, start)
        index = node.first + <uint32_t>branch
        node = plan.nodes + index
    if node.kind < RECORD_KIND:
        return read_leaf(plan, node, at, end, where, sink)
    if node.kind == RECORD_KIND:
        return read_record(plan, index, at, end, where, sink)
    if node.kind == ARRAY_KIND:
        return read_array(plan, node, at, end, where, sink)
    return read_map(plan, node, at, end, where, sink)


cdef inline Place read_leaf(
    const BoundPlan* plan, const PlanNode* node, Place at, Place end, uint32_t where, EventSink* sink
) noexcept nogil:
    cdef Place start = at
    cdef int64_t whole
    cdef double real
    cdef size_t size
    cdef bint truth
    cdef bint taken = True
    cdef Name symbol
    if node.kind == STRING_KIND:
        at = read_text(at, end, &size, sink)
        if at == NULL:
            return NULL
        if where != NO_NODE:
            taken = sink.add_string(where, at, size, end)
        at += size
    elif node.kind == LONG_KIND or node.kind == INT_KIND:
        at = read_long(at, end, &whole, sink)
        if at == NULL:
            return NULL
        if node.kind == INT_KIND and not INT32_MIN <= whole <= INT32_MAX:
            return refused(sink, VALUE_OVERFLOW, start)
        if where != NO_NODE:
            taken = sink.add_long(where, whole)
    elif node.kind == DOUBLE_KIND or node.kind == FLOAT_KIND:
        if node.kind == DOUBLE_KIND:
            at = read_double(at, end, &real, sink)
        else:
            at = read_float(at, end, &real, sink)
        if at == NULL:
            return NULL
        if where != NO_NODE:
            taken = sink.add_double(where, real)
    elif node.kind == BOOLEAN_KIND:
        at = read_boolean(at, end, &truth, sink)
        if at == NULL:
            return NULL
        if where != NO_NODE:
            taken = sink.add_boolean(where, truth)
    elif node.kind == ENUM_KIND:
        at = read_long(at, end, &whole, sink)
        if at == NULL:
            return NULL
        if not 0 <= whole < node.count:
            return refused(sink, BAD_ENUM_INDEX, start)
        if where != NO_NODE:
            symbol = plan.names[node.first + <uint32_t>whole]
            taken = sink.add_string(
                where, plan.text + symbol.start, symbol.size,
                plan.text + symbol.start + symbol.size,
            )
    elif node.kind != NULL_KIND:
        return read_binary(node, at, end, where, sink)
    return at if taken else halted(sink, start)


cdef Place read_binary(
    const PlanNode* node, Place at, Place end, uint32_t where, EventSink* sink
) noexcept nogil:
    cdef Place start = at
    cdef size_t size = node.size
    cdef size_t leading
    cdef Decimal decimal
    if node.kind == BYTES_KIND or node.kind == DECIMAL_KIND:
        at = read_size(at, end, &size, sink)
        if at == NULL:
            return NULL
    elif <size_t>(end - at) < size:
        return refused(sink, TRUNCATED, at)
    if node.kind == BYTES_KIND or node.kind == FIXED_KIND:
        if where != NO_NODE:
            sink.left_out_here.binaries += 1
        return at + size
    if size == 0:
        return refused(sink, BAD_LENGTH, start)
    leading = sign_bytes(at, size)
    at += leading
    size -= leading
    if size > DECIMAL_BYTES_MAX:
        return refused(sink, VALUE_OVERFLOW, start)
    if where != NO_NODE:
        decimal = decimal_of(at, size, node.scale)
        if not (sink.add_long(where, decimal.whole) if decimal.is_whole else sink.add_double(where, decimal.real)):
            return halted(sink, start)
    return at + size


cdef Place read_array(
    const BoundPlan* plan, const PlanNode* node, Place at, Place end, uint32_t where, EventSink* sink
) noexcept nogil:
    cdef Block block
    cdef uint32_t held = node.first
    cdef uint32_t bytes_min = plan.nodes[held].bytes_min
    if where != NO_NODE:
        sink.left_out_here.arrays += 1
    while True:
        at = read_block(at, end, bytes_min, &block, sink)
        if at == NULL or block.count == 0:
            return at
        if bytes_min > 0:  # else there is nothing to read
            while block.count > 0:
                block.count -= 1
                at = read_value(plan, held, at, end, NO_NODE, sink)
                if at == NULL:
                    return NULL
        at = end_block(at, &block, sink)
        if at == NULL:
            return NULL


cdef Place read_map(
    const BoundPlan* plan, const PlanNode* node, Place at, Place end, uint32_t where, EventSink* sink
) noexcept nogil:
    cdef Block block
    cdef size_t size
    cdef uint32_t held = node.first
    cdef uint32_t place = NO_NODE
    cdef uint64_t bytes_min = <uint64_t>plan.nodes[held].bytes_min + 1
    while True:
        at = read_block(at, end, bytes_min, &block, sink)
        if at == NULL or block.count == 0:
            return at
        while block.count > 0:
            block.count -= 1
            if where == NO_NODE:
                at = read_text(at, end, &size, sink)
                if at == NULL:
                    return NULL
            else:
                at = read_size(at, end, &size, sink)
                if at == NULL:
                    return NULL
                place = sink.key(where, at, size, end)
                if place == NO_NODE:
                    return halted(sink, at)
            at = read_value(plan, held, at + size, end, place, sink)
            if at == NULL:
                return NULL
        at = end_block(at, &block, sink)
        if at == NULL:
            return NULL
