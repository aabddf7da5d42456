from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from tamis.codecs.payloads cimport Payloads
from tamis.codecs.sink cimport Reason

# What reads a message: the place of a plan, or one of these.
cdef enum:
    JSON_ROUTE = -1
    EVENT_ROUTE = -2
    NO_ROUTE = -3

cdef struct Route:
    int32_t reader
    Reason reason    # why there is none
    size_t header    # bytes before the value


cdef class Routes:
    cdef object catalogue
    cdef list plans
    # What the catalogue said in this call: routes by fingerprint and by registry id.
    cdef dict fingerprints
    cdef dict ids
    # Why schemas could not be used, by registry id.
    cdef dict details
    cdef uint64_t last_fingerprint
    cdef int32_t last_place
    cdef bint takes_single_object
    cdef bint takes_confluent
    cdef bint takes_json
    # Of the messages that were given last.
    cdef vector[Route] routes

    cdef int forget(self) except -1
    cdef int follow(self, format, Payloads values) except -1
    cdef str detail_of(self, const char* data)
    cdef int32_t place_of(self, plan) except? -1
    cdef Route route_of(self, const char* data, size_t size) except *
    cdef Route single_object(self, const char* data, size_t size) except *
    cdef Route confluent(self, const char* data, size_t size) except *
