from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from tamis.codecs.avro_wire cimport Place
from tamis.codecs.sink cimport EventSink

cdef enum Kind:
    NULL_KIND
    BOOLEAN_KIND
    INT_KIND
    LONG_KIND
    FLOAT_KIND
    DOUBLE_KIND
    STRING_KIND
    BYTES_KIND
    FIXED_KIND
    ENUM_KIND
    DECIMAL_KIND        # in bytes
    FIXED_DECIMAL_KIND
    RECORD_KIND
    UNION_KIND
    ARRAY_KIND
    MAP_KIND

# Children stand together, behind their parent.
cdef struct PlanNode:
    Kind kind
    uint32_t first      # child; of an enum, symbol
    uint32_t count      # of children, of symbols
    uint32_t bytes_min  # of a value
    uint32_t size       # of a fixed
    uint32_t scale      # of a decimal
    uint32_t name       # of a record's field, in `names`; else NO_NAME

cdef struct Name:
    uint32_t start
    uint32_t size


# A plan, and where the values of its static nodes go in one sink.
cdef struct BoundPlan:
    const PlanNode* nodes
    const Name* names
    const char* text
    const uint32_t* places


cdef class FieldPlan:
    # Whether its messages are read as the record `Event`, and not by this plan.
    cdef readonly bint is_event
    cdef vector[PlanNode] nodes
    # Of fields and of symbols: where they are in the text.
    cdef vector[Name] names
    cdef vector[char] text

    # Good as long as the plan and the places are. False if the sink refuses a name.
    cdef bint bind(self, EventSink* sink, vector[uint32_t]* places, BoundPlan* bound) except -1
    cdef int add(self, text, kind, uint32_t name) except -1
    cdef int add_children(self, text, size_t parent, kind, list waiting) except -1
    cdef uint32_t add_name(self, text, str name) except? 0xFFFFFFFF


# One record, up to its end, which is given back; NULL if it is none.
cdef Place read_planned(Place at, Place end, const BoundPlan* plan, EventSink* sink) noexcept nogil
