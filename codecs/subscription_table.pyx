"""What notifications tell of subscriptions: whose they are, names and tags, in columns.

A million subscriptions are no million objects here: each takes eight bytes, and its name and tags lie in one heap as
the bytes that a notification will have, so that a match is told by copying them.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint32_t
from libcpp.string_view cimport string_view

import json
from types import MappingProxyType

from tamis.codecs.avro_types import PRIMITIVES as _PRIMITIVES, Map
from tamis.codecs.formats import NotificationFormat
from tamis.indexes.errors import IndexBusy

from tamis.indexes.vocabulary cimport NO_STRING, Vocabulary

cdef object EMPTY = MappingProxyType({})
cdef object STRING = _PRIMITIVES["string"]
cdef object TAGS = Map(STRING)
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
        cdef bytes text = avro_text(name, tags) if self.format is NotificationFormat.AVRO else json_text(name, tags)
        cdef Row row
        if number >= SUBSCRIBERS_MAX:
            raise OverflowError(f"a subscriber's number is below 2**31, not {subscriber}")
        self.check_writable()
        if key >= self.rows.size():
            self.rows.resize(<size_t>key + 1, Row(NO_STRING, 0))
        row.text = self.texts.table.intern(string_view(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)))
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


cdef bytes avro_text(name, tags):
    """The fields of a `Match` before its score."""
    target = bytearray()
    STRING.write(name, target)
    TAGS.write(tags, target)
    return bytes(target)


cdef bytes json_text(name, tags):
    """An object, up to where a score may follow."""
    told = json.dumps({"name": name, "tags": dict(tags)}, ensure_ascii=False, separators=(",", ":"))
    return told[:-1].encode()
