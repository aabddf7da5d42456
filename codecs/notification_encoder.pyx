"""Notifications as bytes: many at once, end to end in one piece of memory.

What an event's notifications share is made once for each event: what stands before the matches, and the event, which is
copied as it came. What a match tells of its subscription lies ready in a table. So all that is left is copying, without
the GIL.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.number cimport PyNumber_Index
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

import numpy as np

from tamis.codecs.formats import NotificationFormat
from tamis.codecs.notification import SCHEMA

from tamis.codecs.avro_writing cimport append, append_string, append_whole, put, put_byte, put_whole, view_of
from tamis.codecs.subscription_table cimport Row, SubscriptionTable, holds, prefetch, tells_scores, text_of

cdef extern from "json_writing.hpp" namespace "tamis" nogil:
    const size_t json_double_max
    void append_json_string(vector[char]& target, string_view text) except +
    void append_json_whole(vector[char]& target, int64_t value) except +
    char* write_json_double(double value, char* at) noexcept

cdef enum:
    # How many subscriptions ahead memory is asked for: one waits for little else.
    PREFETCHED = 32
    # Of a match beside its text: a score; or `,"score":` with a number, `}` and a comma.
    AVRO_MATCH_BYTES_MAX = 1 + 8
    JSON_MATCH_BYTES_MAX = 9 + 32 + 2
    # Of a notification beside its head, matches and event: how many matches, the block's end, branch and length; or
    # `],"event":` and `}`.
    SURROUNDING_BYTES_MAX = 10 + 1 + 1 + 10

cdef bytes HEADER = SCHEMA.header
cdef string_view SCORE = string_view(b',"score":')
cdef string_view EVENT = string_view(b'],"event":')


@cython.final
cdef class Notifications:
    """Of some groups, in their order: a buffer of all of them, and each as bytes."""

    def __init__(self):
        raise TypeError("notifications are made by encoded(...)")

    def __dealloc__(self):
        free(self.data)

    @property
    def end(self):
        """The first group that is not among them."""
        return self.first + len(self)

    def __len__(self):
        return self.ends.shape[0] - 1

    def __getitem__(self, place):
        cdef Py_ssize_t index = PyNumber_Index(place)
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self)} notifications, none at {place}")
        return PyBytes_FromStringAndSize(self.data + self.ends[index], self.ends[index + 1] - self.ends[index])

    def __iter__(self):
        for place in range(len(self)):
            yield self[place]

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.data, self.size, True, flags)


def encoded(groups, SubscriptionTable table, events, first=0, bytes_max=16 << 20):
    """The notifications of groups, from one on: as many as so many bytes hold, and one at least.

    KeyError if a subscription is not in the table any more.
    """
    cdef Encoding encoding = Encoding.__new__(Encoding)
    cdef Notifications made = Notifications.__new__(Notifications)
    cdef Py_ssize_t begin = PyNumber_Index(first), end, unknown, count
    cdef uint64_t[::1] starts
    cdef uint64_t most = max(0, PyNumber_Index(bytes_max))
    if not 0 <= begin <= len(groups):
        raise ValueError(f"there are {len(groups)} groups: none is at {begin}")
    encoding.take(groups, table)
    held = encoding.take_events(groups, events, begin, most)
    end = begin + encoding.events.size()
    array = np.empty(end - begin + 1, np.uint64)
    starts = array
    table.readers += 1
    try:
        with nogil:
            unknown = encoding.resolve(begin, end)
        if unknown >= 0:
            encoding.refuse(unknown)
        with nogil:
            count = encoding.fill(begin, end, most, made, starts)
    finally:
        table.readers -= 1
    del held
    made.first = begin
    made.starts = array[: count + 1]
    made.starts.flags.writeable = False
    made.ends = made.starts
    return made


@cython.final
cdef class Encoding:
    """One call's work."""

    cdef int take(self, groups, SubscriptionTable table) except -1:
        self.table = table
        self.avro = table.format is NotificationFormat.AVRO
        self.group_starts = np.ascontiguousarray(groups.starts, np.uint64)
        self.ids = np.ascontiguousarray(groups.ids, np.uint32)
        self.scored = groups.scores is not None
        if self.scored:
            self.scores = np.ascontiguousarray(groups.scores, np.float64)
            if self.scores.shape[0] != self.ids.shape[0]:
                raise ValueError(f"there are {len(self.ids)} ids, but {len(self.scores)} scores")
        if self.group_starts.shape[0] != len(groups) + 1:
            raise ValueError("there is a start more than there are groups")
        return 0

    cdef list take_events(self, groups, events, Py_ssize_t first, uint64_t bytes_max):
        """What the groups from one on share, until there are surely enough; the values, which are to be kept."""
        cdef const uint32_t[::1] places = np.ascontiguousarray(groups.events, np.uint32)
        cdef const int64_t[::1] times = np.ascontiguousarray(events.times, np.int64)
        cdef const int32_t[::1] partitions = np.ascontiguousarray(events.partitions, np.int32)
        cdef const int64_t[::1] offsets = np.ascontiguousarray(events.offsets, np.int64)
        cdef Py_ssize_t group
        cdef uint32_t place
        cdef uint64_t least = 0
        cdef Shared* last
        cdef list held = []
        ids, topics, values = events.ids, events.topics, events.values
        for group in range(first, places.shape[0]):
            place = places[group]
            if not self.group_starts[group] <= self.group_starts[group + 1] <= <uint64_t>self.ids.shape[0]:
                raise ValueError("the starts of groups ascend, up to the number of ids")
            if self.shared.empty() or place != places[group - 1]:
                if place >= times.shape[0]:
                    raise IndexError(f"there are {len(times)} events, none at {place}")
                value = values[place]
                if not isinstance(value, bytes):
                    raise TypeError(f"an event's value is bytes, not {type(value).__name__}")
                held.append(value)
                self.add_event(ids[place], times[place], topics[place], partitions[place], offsets[place], value)
            self.events.push_back(<uint32_t>(self.shared.size() - 1))
            last = &self.shared.back()
            least += last.head_size + last.event_size
            if least > bytes_max:
                break
        return held

    cdef int add_event(
        self, str id, int64_t time, str topic, int32_t partition, int64_t offset, bytes value
    ) except -1:
        cdef Shared shared
        shared.head_start = self.heads.size()
        if self.avro:
            append(self.heads, string_view(PyBytes_AS_STRING(HEADER), PyBytes_GET_SIZE(HEADER)))
            append_string(self.heads, id)
            append_whole(self.heads, time)
            append_string(self.heads, topic)
            append_whole(self.heads, partition)
            append_whole(self.heads, offset)
        else:
            append(self.heads, string_view(b'{"id":'))
            append_json_string(self.heads, view_of(id))
            append(self.heads, string_view(b',"time":'))
            append_json_whole(self.heads, time)
            append(self.heads, string_view(b',"topic":'))
            append_json_string(self.heads, view_of(topic))
            append(self.heads, string_view(b',"partition":'))
            append_json_whole(self.heads, partition)
            append(self.heads, string_view(b',"offset":'))
            append_json_whole(self.heads, offset)
            append(self.heads, string_view(b',"matches":['))
        shared.head_size = self.heads.size() - shared.head_start
        shared.event = PyBytes_AS_STRING(value)
        shared.event_size = PyBytes_GET_SIZE(value)
        self.shared.push_back(shared)
        return 0

    cdef Py_ssize_t resolve(self, Py_ssize_t first, Py_ssize_t end) except -2 nogil:
        """Looks up what the table tells of all subscriptions. The place of an id that cannot be told, else -1."""
        cdef uint64_t base = self.group_starts[first], end_place = self.group_starts[end], place
        cdef string_view text
        cdef Told* told
        cdef Row row
        self.told.resize(end_place - base)
        told = self.told.data()
        for place in range(base, end_place):
            if place + PREFETCHED < end_place:
                prefetch(self.table, self.ids[place + PREFETCHED])
            if not holds(self.table, self.ids[place]):
                return place
            row = self.table.rows[self.ids[place]]
            if tells_scores(row) and not self.scored:
                return place
            text = text_of(self.table, row)
            told.data = text.data()
            told.size = <uint32_t>text.size()
            told.scored = tells_scores(row)
            told += 1
        return -1

    cdef int refuse(self, Py_ssize_t place) except -1:
        if not holds(self.table, self.ids[place]):
            raise KeyError(f"no subscription has the id {self.ids[place]}")
        raise ValueError(f"subscription {self.ids[place]} asks for scores: match with scores=True")

    cdef Py_ssize_t fill(
        self, Py_ssize_t first, Py_ssize_t end, uint64_t bytes_max, Notifications made, uint64_t[::1] starts
    ) except -1 nogil:
        """How many of the groups there was room for."""
        cdef Py_ssize_t group = first
        cdef uint64_t most = 0, next_most
        cdef char* at
        while group < end:
            next_most = most + self.bytes_max_of(first, group)
            if next_most > bytes_max and group > first:
                break
            most = next_most
            group += 1
        end = group
        made.data = at = <char*>malloc(max(most, 1))
        if at == NULL:
            raise MemoryError
        starts[0] = 0
        for group in range(first, end):
            at = self.write(first, group, at)
            starts[group - first + 1] = at - made.data
        made.size = at - made.data
        if made.size < most // 2:  # else what is given back would be asked for again at once, and touched anew
            at = <char*>realloc(made.data, max(made.size, 1))
            if at != NULL:
                made.data = at
        return end - first

    cdef uint64_t bytes_max_of(self, Py_ssize_t first, Py_ssize_t group) noexcept nogil:
        """How long a notification may become."""
        cdef Shared* shared = &self.shared[self.events[group - first]]
        cdef uint64_t base = self.group_starts[first], place, most = SURROUNDING_BYTES_MAX
        cdef uint32_t more = AVRO_MATCH_BYTES_MAX if self.avro else JSON_MATCH_BYTES_MAX
        for place in range(self.group_starts[group], self.group_starts[group + 1]):
            most += self.told[place - base].size + more
        return most + shared.head_size + shared.event_size

    cdef char* write(self, Py_ssize_t first, Py_ssize_t group, char* at) noexcept nogil:
        # Copies: what is written through `at` may be anything, for all that the compiler knows.
        cdef Shared shared = self.shared[self.events[group - first]]
        cdef uint64_t begin = self.group_starts[group], end = self.group_starts[group + 1]
        cdef const Told* told = self.told.data() + (begin - self.group_starts[first])
        cdef const double* scores = &self.scores[begin] if self.scored and begin < end else NULL
        at = put(at, self.heads.data() + shared.head_start, shared.head_size)
        if self.avro:
            at = put_avro_matches(at, told, end - begin, scores)
            at = put_whole(at, 1)  # the branch that is not null
            at = put_whole(at, shared.event_size)
            return put(at, shared.event, shared.event_size)
        at = put_json_matches(at, told, end - begin, scores)
        at = put(at, EVENT.data(), EVENT.size())
        at = put(at, shared.event, shared.event_size)
        return put_byte(at, b"}")


cdef inline char* put_avro_matches(char* at, const Told* told, uint64_t count, const double* scores) noexcept nogil:
    cdef uint64_t place
    cdef Told match
    if count > 0:
        at = put_whole(at, count)
    for place in range(count):
        match = told[place]
        at = put(at, match.data, match.size)
        at = put_whole(at, match.scored)
        if match.scored:
            at = put(at, <const char*>&scores[place], sizeof(double))
    return put_whole(at, 0)


cdef inline char* put_json_matches(char* at, const Told* told, uint64_t count, const double* scores) noexcept nogil:
    cdef uint64_t place
    cdef Told match
    for place in range(count):
        match = told[place]
        if place > 0:
            at = put_byte(at, b",")
        at = put(at, match.data, match.size)
        if match.scored:
            at = put(at, SCORE.data(), SCORE.size())
            at = write_json_double(scores[place], at)
        at = put_byte(at, b"}")
    return at
