"""A table of subscriptions as columns, which snapshots hold, and back.

What a notification tells of a subscription lies in the table as the bytes that it will have there. A snapshot keeps
them so; since they are copied into notifications later without a look, they are looked at here.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from tamis.codecs.formats import NotificationFormat
from tamis.codecs.match_texts import check_json_text, told_by
from tamis.indexes.errors import SnapshotError
from tamis.indexes.string_columns import frozen_strings, restored_strings

from tamis.codecs.sink cimport is_utf8
from tamis.codecs.subscription_table cimport Row, SubscriptionTable, holds, subscriber_of, tells_scores
from tamis.indexes.vocabulary cimport NO_STRING

# Rows are allotted up to the greatest id: one that is far beyond the number of rows would be a way to take all memory.
cdef uint64_t IDS_A_ROW = 64
cdef uint64_t IDS_SPARE = 1 << 20


@cython.final
cdef class FrozenTable:
    """What a table held when it was frozen; any thread may read it."""

    def __init__(self):
        raise TypeError("a FrozenTable is made by frozen_table()")

    def ids(self):
        """Of all subscriptions, ascending."""
        cdef vector[uint32_t] found
        cdef uint32_t id
        with nogil:
            for id in range(<uint32_t>self.rows.size()):
                if self.rows[id].text != NO_STRING:
                    found.push_back(id)
        ids = np.empty(found.size(), np.uint32)
        cdef uint32_t[::1] view = ids
        if found.size() > 0:
            memcpy(&view[0], found.data(), found.size() * sizeof(uint32_t))
        return ids

    def columns(self, ids):
        """Of these subscriptions, in this order: subscribers' numbers, whether they tell scores, and text ids."""
        cdef const uint32_t[::1] keys = np.ascontiguousarray(ids, np.uint32)
        cdef Py_ssize_t place, count = keys.shape[0]
        subscribers, scores, texts = np.empty(count, np.uint32), np.empty(count, np.bool_), np.empty(count, np.uint32)
        cdef uint32_t[::1] subscribers_view = subscribers, texts_view = texts
        cdef uint8_t[::1] scores_view = scores.view(np.uint8)
        cdef Row row
        with nogil:
            for place in range(count):
                row = self.rows[keys[place]]
                subscribers_view[place] = subscriber_of(row)
                scores_view[place] = tells_scores(row)
                texts_view[place] = row.text
        return subscribers, scores, texts


def frozen_table(SubscriptionTable table):
    """What it holds now. Eight bytes a subscription are copied, some milliseconds for a million."""
    cdef FrozenTable frozen = FrozenTable.__new__(FrozenTable)
    frozen.format = table.format
    frozen.rows = table.rows
    frozen.texts = frozen_strings(table.texts)
    return frozen


def restored_table(format, saved, ids, subscribers, scores, texts, text_ids, starts, data):
    """A table of this format, of columns that a table of the format `saved` gave: of subscriptions, and of texts.

    SnapshotError if they are not what a table gives.
    """
    cdef const uint32_t[::1] keys = np.ascontiguousarray(ids, np.uint32)
    cdef const uint32_t[::1] numbers = np.ascontiguousarray(subscribers, np.uint32)
    cdef const uint8_t[::1] told = np.ascontiguousarray(scores, np.bool_).view(np.uint8)
    cdef const uint32_t[::1] told_by_id = np.ascontiguousarray(texts, np.uint32)
    cdef Py_ssize_t place, count = keys.shape[0]
    cdef SubscriptionTable table
    if not count == numbers.shape[0] == told.shape[0] == told_by_id.shape[0]:
        raise SnapshotError(f"of {count} subscriptions the columns are not all as long")
    bound = int(np.max(ids)) + 1 if count > 0 else 0
    if bound > IDS_A_ROW * count + IDS_SPARE:
        raise SnapshotError(f"ids reach up to {bound} for {count} subscriptions")
    if count > 0 and int(np.max(subscribers)) >= 1 << 31:
        raise SnapshotError("a subscriber's number is not below 2**31")
    known = np.asarray(text_ids, np.uint32)
    places = np.searchsorted(known, texts)
    if np.any(places >= len(known)) or np.any(known[np.minimum(places, len(known) - 1)] != texts):
        raise SnapshotError("a subscription has a text that is not there")
    if len(starts) != len(known) + 1:
        raise SnapshotError(f"of {len(known)} texts there are {len(starts)} starts")
    check_spans(starts, data)
    if NotificationFormat(format) is not NotificationFormat(saved):
        return rewritten(format, saved, ids, subscribers, scores, places, starts, data)
    check_texts(saved, starts, data)
    table = SubscriptionTable(format)
    table.texts = restored_strings(known, starts, data, np.bincount(places, minlength=len(known)))
    table.make_room(bound - 1 if bound > 0 else 0)
    with nogil:
        for place in range(count):
            if not holds(table, keys[place]):
                table.count += 1
            table.rows[keys[place]] = Row(told_by_id[place], numbers[place] << 1 | (told[place] != 0))
    return table


cdef SubscriptionTable rewritten(format, saved, ids, subscribers, scores, places, starts, data):
    """The same, where texts have to be spelled anew."""
    table = SubscriptionTable(format)
    view = memoryview(data)
    spans = starts.tolist()
    told = [told_by(saved, bytes(view[start:end])) for start, end in zip(spans, spans[1:], strict=False)]
    places = places.tolist()
    table.put_many(
        ids, subscribers, [told[place][0] for place in places], [told[place][1] for place in places], scores
    )
    return table


def check_strings(starts, data):
    """SnapshotError unless each string is UTF-8, and they lie in order and fill the bytes."""
    check_spans(starts, data)
    cdef const uint64_t[::1] starts_view = np.ascontiguousarray(starts, np.uint64)
    cdef const unsigned char[::1] bytes_view = np.ascontiguousarray(data, np.uint8)
    cdef const char* base = start_of(bytes_view)
    cdef Py_ssize_t place
    cdef bint good = True
    with nogil:
        for place in range(starts_view.shape[0] - 1):
            good = is_utf8(base + starts_view[place], starts_view[place + 1] - starts_view[place])
            if not good:
                break
    if not good:
        raise SnapshotError(f"string {place} is no UTF-8")


cdef int check_spans(starts, data) except -1:
    """Whether they lie in order and fill the bytes."""
    cdef Py_ssize_t last = len(starts) - 1
    if last < 0 or starts[0] != 0 or starts[last] != len(data) or np.any(starts[1:] < starts[:last]):
        raise SnapshotError("strings do not lie in order, or do not fill their bytes")
    return 0


cdef int check_texts(format, starts, data) except -1:
    """Whether each is what the table itself would have written; they lie in order already."""
    cdef const uint64_t[::1] starts_view = np.ascontiguousarray(starts, np.uint64)
    cdef const unsigned char[::1] bytes_view = np.ascontiguousarray(data, np.uint8)
    cdef const char* base = start_of(bytes_view)
    cdef Py_ssize_t place, count = starts_view.shape[0] - 1
    cdef bint good = True
    if NotificationFormat(format) is NotificationFormat.JSON:
        check_strings(starts, data)
        view = memoryview(data)
        for place in range(count):
            check_json_text(bytes(view[starts_view[place]:starts_view[place + 1]]))
        return 0
    with nogil:
        for place in range(count):
            good = is_avro_text(base + starts_view[place], base + starts_view[place + 1])
            if not good:
                break
    if not good:
        raise SnapshotError(f"text {place} is none that a notification has")
    return 0


cdef bint is_avro_text(const char* at, const char* end) noexcept nogil:
    """A name, then tags in one block or none, then the end of blocks."""
    cdef uint64_t count, _
    at = behind_string(at, end)
    if at == NULL:
        return False
    at = behind_length(at, end, &count)
    if at == NULL:
        return False
    if count == 0:
        return at == end
    for _ in range(2 * count):
        at = behind_string(at, end)
        if at == NULL:
            return False
    return at + 1 == end and at[0] == 0


cdef const char* behind_string(const char* at, const char* end) noexcept nogil:
    cdef uint64_t length
    at = behind_length(at, end, &length)
    if at == NULL or length > <uint64_t>(end - at) or not is_utf8(at, length):
        return NULL
    return at + length


cdef const char* behind_length(const char* at, const char* end, uint64_t* length) noexcept nogil:
    """Of a number that is not negative and below 2**34, which is beyond any string here; NULL if it is another one."""
    cdef uint64_t bits = 0
    cdef uint32_t shift = 0
    while at != end and shift < 35:
        bits |= <uint64_t>(<uint8_t>at[0] & 0x7F) << shift
        shift += 7
        if <uint8_t>at[0] < 0x80:
            length[0] = bits >> 1
            if bits & 1:
                return NULL
            return at + 1
        at += 1
    return NULL


cdef inline const char* start_of(const unsigned char[::1] data) noexcept:
    return <const char*>&data[0] if data.shape[0] > 0 else NULL
