from libc.stdint cimport int64_t
from libcpp.string_view cimport string_view

from tamis.codecs.avro_wire cimport Place
from tamis.codecs.sink cimport EventSink

# What stands before an event's attributes.
cdef struct EventHead:
    string_view id
    int64_t time

# One `Event`, up to its end, which is given back; NULL if it is none.
cdef Place read_event(Place at, Place end, EventSink* sink, EventHead* head) noexcept nogil
