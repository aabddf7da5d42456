from libc.stdint cimport uint8_t, uint32_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from tamis.indexes.vocabulary cimport NO_STRING, Vocabulary

# Of a subscription: its text in a notification, and twice its subscriber's number, plus 1 if its matches tell a score.
cdef struct Row:
    uint32_t text
    uint32_t subscriber


cdef class SubscriptionTable:
    cdef readonly object format
    cdef bint avro
    # Each text once, whoever has it: names are alike, and tags are.
    cdef Vocabulary texts
    # By id.
    cdef vector[Row] rows
    cdef uint32_t count
    # How many read just now, without the GIL.
    cdef int readers

    cdef int append_text(self, vector[char]& target, str name, tags) except -1
    cdef int make_room(self, uint32_t id) except -1
    cdef void set(self, uint32_t id, Row row) noexcept
    cdef int set_all(
        self, const uint32_t* ids, const uint32_t* subscribers, const uint8_t* told, const vector[char]& text,
        const vector[size_t]& ends,
    ) except -1
    cdef int check_writable(self) except -1


# Not a method, which could not be inlined.
cdef inline bint holds(SubscriptionTable table, uint32_t id) noexcept nogil:
    return id < table.rows.size() and table.rows[id].text != NO_STRING


cdef inline uint32_t subscriber_of(Row row) noexcept nogil:
    return row.subscriber >> 1


cdef inline bint tells_scores(Row row) noexcept nogil:
    return row.subscriber & 1


cdef inline void prefetch(SubscriptionTable table, uint32_t id) noexcept nogil:
    """Asks for the memory of a text that will soon be looked at."""
    if id < table.rows.size():
        table.texts.table.prefetch(table.rows[id].text)


cdef inline string_view text_of(SubscriptionTable table, Row row) noexcept nogil:
    """Good until the next write."""
    return table.texts.table.view(row.text)
