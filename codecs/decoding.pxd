from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from tamis.codecs.avro_record cimport BoundPlan
from tamis.codecs.avro_wire cimport Place
from tamis.codecs.decoded_events cimport DecodedEvents
from tamis.codecs.payloads cimport Payloads
from tamis.codecs.routes cimport Route, Routes
from tamis.codecs.sink cimport EventSink, Reason
from tamis.indexes.batch cimport EventBatch
from tamis.indexes.vocabulary cimport Vocabulary

# A message that was refused, and how many bytes of it were understood.
cdef struct Refused:
    uint32_t position   # among all messages
    uint32_t index      # among those of its group
    Reason reason
    uint64_t byte


cdef class Decoding:
    cdef DecodedEvents decoded
    cdef Routes routes
    cdef EventSink* sink
    # Of the index that the sink knows names of.
    cdef Vocabulary vocabulary
    cdef uint64_t generation
    cdef uint64_t message_bytes_max
    cdef vector[Refused] refused
    cdef vector[char] scratch
    cdef uint32_t position
    # What every event has, as attributes in the batch's vocabulary.
    cdef uint32_t topic_attribute
    cdef uint32_t partition_attribute
    cdef uint32_t key_attribute
    cdef uint32_t id_attribute
    cdef uint32_t time_attribute
    # Of the messages in hand.
    cdef Payloads values
    cdef Payloads keys
    cdef int32_t partition
    cdef const int32_t[::1] partitions     # None where all have one
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] timestamps
    cdef vector[char] topic
    cdef vector[char] own_id      # topic/, and room for partition/offset
    cdef bint names_id
    cdef bint names_time
    cdef int64_t time_unit
    # The plans of the routes, and where their fields go.
    cdef list plans
    cdef vector[BoundPlan] bound
    cdef vector[vector[uint32_t]] places

    cdef bint renew(self, EventBatch batch) except -1
    cdef uint32_t given(self, bytes name) except? 0xFFFFFFFF
    cdef uint32_t node_of(self, bytes name) except? 0xFFFFFFFF
    cdef int check_memory(self) except -1
    cdef int add(self, messages) except -1
    cdef int make_room(self) except -1
    cdef int bind_plans(self) except -1
    cdef int mark_fields(self, format, bint marked) except -1
    cdef int decode_one(self, size_t index) except -1 nogil
    cdef bint take(self, size_t index, Place at, Place end, Route route) except -1 nogil
    cdef bint put_own(self, size_t index) except -1 nogil
    cdef int32_t partition_of(self, size_t index) noexcept nogil
    cdef string_view place_of(self, size_t index) noexcept nogil
    cdef bint put(self, size_t index, string_view id, int64_t time, bint has_time) except -1 nogil
    cdef int tell_refusals(self) except -1
    cdef DecodedEvents finish(self)
