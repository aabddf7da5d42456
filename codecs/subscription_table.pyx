"""What notifications tell of subscriptions: whose they are, names and tags, in columns.

A million subscriptions are no million objects here: each takes eight bytes, and its name and tags lie in one heap as
the bytes that a notification will have, so that a match is told by copying them.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from types import MappingProxyType

import numpy as np

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
        self.avro = self.format is NotificationFormat.AVRO
        self.texts = Vocabulary()

    def put(self, id, subscriber, name, tags=EMPTY, scores=False):
        """Takes a subscription under an id, of a subscriber that has a number; what the id had is replaced."""
        cdef uint32_t key = id, number = subscriber
        cdef bint told = scores
        cdef vector[char] text
        cdef uint32_t text_id
        check_subscriber(number)
        self.append_text(text, name, tags)
        self.check_writable()
        self.make_room(key)
        text_id = self.texts.table.intern(string_view(text.data(), text.size()))
        self.set(key, Row(text_id, number << 1 | told))

    def put_many(self, ids, subscribers, names, tags, scores):
        """The same of many, in columns that are equally long, ids and subscribers as arrays of uint32.

        Of an id that is there twice the last one counts. If one cannot be taken, none is.
        """
        cdef const uint32_t[::1] keys = np.ascontiguousarray(ids)
        cdef const uint32_t[::1] numbers = np.ascontiguousarray(subscribers)
        cdef const uint8_t[::1] told = np.ascontiguousarray(scores, np.bool_).view(np.uint8)
        cdef list all_names = list(names), all_tags = list(tags)
        cdef Py_ssize_t place, count = keys.shape[0]
        cdef vector[char] text
        cdef vector[size_t] ends
        if not count == numbers.shape[0] == told.shape[0] == len(all_names) == len(all_tags):
            raise ValueError(
                f"columns are equally long, not {count} ids, {len(numbers)} subscribers, {len(all_names)} names, "
                f"{len(all_tags)} tags and {len(told)} scores"
            )
        if count == 0:
            return
        ends.reserve(count)
        for place in range(count):
            check_subscriber(numbers[place])
            self.append_text(text, all_names[place], all_tags[place])
            ends.push_back(text.size())
        self.check_writable()
        self.make_room(np.max(keys))
        self.set_all(&keys[0], &numbers[0], &told[0], text, ends)

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

    cdef int append_text(self, vector[char]& target, str name, tags) except -1:
        return append_avro(target, name, tags) if self.avro else append_json(target, name, tags)

    cdef int make_room(self, uint32_t id) except -1:
        if id >= self.rows.size():
            self.rows.resize(<size_t>id + 1, Row(NO_STRING, 0))
        return 0

    cdef void set(self, uint32_t id, Row row) noexcept:
        """In a row that is there."""
        if self.rows[id].text != NO_STRING:
            self.texts.table.release(self.rows[id].text)
        else:
            self.count += 1
        self.rows[id] = row

    cdef int set_all(
        self, const uint32_t* ids, const uint32_t* subscribers, const uint8_t* told, const vector[char]& text,
        const vector[size_t]& ends,
    ) except -1:
        """In rows that are there. Texts come first: they may not all find room."""
        cdef vector[uint32_t] texts
        cdef size_t place, start = 0
        texts.reserve(ends.size())
        try:
            for place in range(ends.size()):
                texts.push_back(self.texts.table.intern(string_view(text.data() + start, ends[place] - start)))
                start = ends[place]
        except BaseException:
            for place in range(texts.size()):
                self.texts.table.release(texts[place])
            raise
        for place in range(ends.size()):
            self.set(ids[place], Row(texts[place], subscribers[place] << 1 | told[place]))
        return 0

    cdef int check_writable(self) except -1:
        if self.readers > 0:
            raise IndexBusy("subscriptions cannot be written while notifications are grouped or encoded")
        return 0


cdef inline int check_subscriber(uint32_t number) except -1:
    if number >= SUBSCRIBERS_MAX:
        raise OverflowError(f"a subscriber's number is below 2**31, not {number}")
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
