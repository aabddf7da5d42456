"""What notifications tell of subscriptions: whose they are, names and tags, in columns.

A million subscriptions are no million objects here: each takes eight bytes, and its name and tags lie in one heap as
the bytes that a notification will have, so that a match is told by copying them.
"""

cimport cython
from libc.stdint cimport uint32_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from types import MappingProxyType

from tamis.codecs.formats import NotificationFormat
from tamis.indexes.errors import IndexBusy

from tamis.codecs.avro_writing cimport append, append_string, append_whole, view_of
from tamis.indexes.vocabulary cimport NO_STRING, Vocabulary

cdef extern from "json_writing.hpp" namespace "tamis" nogil:
    void append_json_string(vector[char]& target, string_view text) except +

cdef object EMPTY = MappingProxyType({})
cdef uint32_t SUBSCRIBERS_MAX = 1 << 31


@cython.final
cdef class SubscriptionTable:
    """By the ids that subscriptions have in an index. Ids are dense: memory is taken for all up to the greatest.

    There is one writer; a write while notifications are encoded raises `IndexBusy`.
    """

    def __cinit__(self, format=NotificationFormat.AVRO):
        self.format = NotificationFormat(format)
        self.texts = Vocabulary()

    def put(self, id, subscriber, name, tags=EMPTY, scores=False):
        """Takes a subscription under an id, of a subscriber that has a number; what the id had is replaced."""
        cdef uint32_t key = id, number = subscriber
        cdef bint told = scores
        cdef vector[char] text
        cdef Row row
        if number >= SUBSCRIBERS_MAX:
            raise OverflowError(f"a subscriber's number is below 2**31, not {subscriber}")
        if self.format is NotificationFormat.AVRO:
            append_avro(text, name, tags)
        else:
            append_json(text, name, tags)
        self.check_writable()
        if key >= self.rows.size():
            self.rows.resize(<size_t>key + 1, Row(NO_STRING, 0))
        row.text = self.texts.table.intern(string_view(text.data(), text.size()))
        row.subscriber = number << 1 | told
        if self.rows[key].text != NO_STRING:
            self.texts.table.release(self.rows[key].text)
        else:
            self.count += 1
        self.rows[key] = row

    def delete(self, id):
        """Forgets the subscription of an id. KeyError if there is none."""
        cdef uint32_t key = id
        self.check_writable()
        if not holds(self, key):
            raise KeyError(f"no subscription has the id {id}")
        self.texts.table.release(self.rows[key].text)
        self.rows[key] = Row(NO_STRING, 0)
        self.count -= 1

    def subscriber(self, id):
        """The number of the subscriber whose subscription it is. KeyError if there is none."""
        cdef uint32_t key = id
        if not holds(self, key):
            raise KeyError(f"no subscription has the id {id}")
        return subscriber_of(self.rows[key])

    def memory_bytes(self):
        """All that is allocated."""
        return self.rows.capacity() * sizeof(Row) + self.texts.table.memory_bytes()

    def __len__(self):
        return self.count

    def __contains__(self, id):
        return isinstance(id, int) and 0 <= id < self.rows.size() and holds(self, id)

    cdef int check_writable(self) except -1:
        if self.readers > 0:
            raise IndexBusy("subscriptions cannot be written while notifications are grouped or encoded")
        return 0


cdef int append_avro(vector[char]& target, str name, tags) except -1:
    """The fields of a `Match` before its score."""
    append_string(target, name)
    if tags:
        append_whole(target, len(tags))
        for key, value in tags.items():
            append_string(target, key)
            append_string(target, value)
    return append_whole(target, 0)


cdef int append_json(vector[char]& target, str name, tags) except -1:
    """An object, up to where a score may follow."""
    append(target, string_view(b'{"name":'))
    append_json_string(target, view_of(name))
    append(target, string_view(b',"tags":{'))
    for place, (key, value) in enumerate(tags.items()):
        if place > 0:
            append(target, string_view(b","))
        append_json_string(target, view_of(key))
        append(target, string_view(b":"))
        append_json_string(target, view_of(value))
    return append(target, string_view(b"}"))
