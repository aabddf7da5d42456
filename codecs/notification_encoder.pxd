from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.codecs.subscription_table cimport SubscriptionTable

# What all notifications of an event share: what stands before the matches, and the event.
cdef struct Shared:
    uint64_t head_start
    uint64_t head_size
    const char* event
    size_t event_size

# A match: what the table tells of its subscription, and whether its score follows.
cdef struct Told:
    const char* data
    uint32_t size
    bint scored


cdef class Notifications:
    # Owned: all of them, end to end.
    cdef char* data
    cdef uint64_t size
    # The group that the first one is of.
    cdef readonly Py_ssize_t first
    # Where each begins, and behind the last one's where they end: the same twice.
    cdef readonly object starts
    cdef const uint64_t[::1] ends


cdef class Encoding:
    cdef SubscriptionTable table
    cdef bint avro
    cdef bint scored
    cdef const uint64_t[::1] group_starts
    cdef const uint32_t[::1] ids
    cdef const double[::1] scores
    # By group, beginning with the first one: which of the shared is its event's.
    cdef vector[uint32_t] events
    cdef vector[Shared] shared
    cdef vector[char] heads
    # By match, beginning with the first group's.
    cdef vector[Told] told

    cdef int take(self, groups, SubscriptionTable table) except -1
    cdef list take_events(self, groups, events, Py_ssize_t first, uint64_t bytes_max)
    cdef int add_event(self, str id, int64_t time, str topic, int32_t partition, int64_t offset, bytes value) except -1
    cdef Py_ssize_t resolve(self, Py_ssize_t first, Py_ssize_t end) except -2 nogil
    cdef int refuse(self, Py_ssize_t place) except -1
    cdef Py_ssize_t fill(
        self, Py_ssize_t first, Py_ssize_t end, uint64_t bytes_max, Notifications made, uint64_t[::1] starts
    ) except -1 nogil
    cdef uint64_t bytes_max_of(self, Py_ssize_t first, Py_ssize_t group) noexcept nogil
    cdef char* write(self, Py_ssize_t first, Py_ssize_t group, char* at) noexcept nogil
