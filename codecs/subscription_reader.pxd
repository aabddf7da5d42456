from libc.stdint cimport uint8_t, uint32_t
from libcpp.string_view cimport string_view

from tamis.indexes.vocabulary cimport Vocabulary

# Where the fields of a record lie in its bytes; its subscriber and name are those of its key.
cdef struct Fields:
    string_view expression
    # From the number of the first ones to behind the empty block that ends them; empty if there are none.
    string_view tags
    # Its data are null if it is not paused.
    string_view paused
    bint scores


cdef class Reading:
    # Of all records.
    cdef list keys
    cdef uint32_t[::1] owners
    cdef list refusals
    # The first `count` of each are of those that say a subscription.
    cdef uint32_t count
    cdef uint32_t[::1] positions
    cdef uint8_t[::1] scores
    cdef list names
    cdef list expressions
    cdef list tags
    cdef list paused
    cdef uint32_t tombstones_count
    cdef uint32_t[::1] tombstones
    # Ids are places in the list: nothing is ever released.
    cdef Vocabulary known_subscribers
    cdef list subscribers
    # The same of tags, by their bytes.
    cdef Vocabulary known_tags
    cdef list all_tags

    cdef int take(self, uint32_t position, key, value) except -1
    cdef int take_key(self, uint32_t position, string_view key, Py_ssize_t slash) except -1
    cdef int take_fields(self, uint32_t position, string_view key, Py_ssize_t slash, const Fields* fields) except -1
    cdef int ask(self, uint32_t position, bytes key, Py_ssize_t slash, bytes value) except -1
    cdef int add(
        self, uint32_t position, string_view key, Py_ssize_t slash, str expression, tags, bint scores, paused
    ) except -1
    cdef object tags_of(self, string_view written)
    cdef object columns(self)
