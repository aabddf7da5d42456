"""From what each event matched to the notifications that there will be: one for each event and subscriber."""

from libc.stdint cimport UINT32_MAX, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

import numpy as np

from tamis.codecs.groups import Groups

from tamis.codecs.subscription_table cimport SubscriptionTable, holds, subscriber_of


def grouped(matches, SubscriptionTable table, first=0):
    """By event, then by the subscriber's number; ids keep their order. `first` is where the batch was matched from.

    KeyError if a subscription is not in the table.
    """
    cdef const uint64_t[::1] offsets = np.ascontiguousarray(matches.offsets, np.uint64)
    cdef const uint32_t[::1] ids = np.ascontiguousarray(matches.ids, np.uint32)
    cdef uint32_t first_event = first
    cdef uint64_t unknown
    cdef Grouped groups
    check_offsets(offsets, ids.shape[0], first_event)
    table.readers += 1
    try:
        with nogil:
            unknown = group_all(offsets, ids, table, first_event, &groups)
    finally:
        table.readers -= 1
    if unknown < <uint64_t>ids.shape[0]:
        raise KeyError(f"no subscription has the id {ids[unknown]}")
    places = array_of(groups.places.data(), groups.places.size() * sizeof(uint64_t), np.uint64)
    return Groups(
        array_of(groups.events.data(), groups.events.size() * sizeof(uint32_t), np.uint32),
        array_of(groups.subscribers.data(), groups.subscribers.size() * sizeof(uint32_t), np.uint32),
        array_of(groups.starts.data(), groups.starts.size() * sizeof(uint64_t), np.uint64),
        np.asarray(ids)[places],
        None if matches.scores is None else matches.scores[places],
    )


cdef int check_offsets(const uint64_t[::1] offsets, uint64_t count, uint32_t first) except -1:
    cdef Py_ssize_t place
    if offsets.shape[0] == 0 or offsets[0] != 0 or offsets[offsets.shape[0] - 1] != count:
        raise ValueError("the offsets of matches go from 0 to the number of ids")
    if <uint64_t>first + offsets.shape[0] > UINT32_MAX:
        raise OverflowError("a batch has below 2**32 events")
    for place in range(1, offsets.shape[0]):
        if offsets[place] < offsets[place - 1]:
            raise ValueError("the offsets of matches ascend")
    return 0


cdef uint64_t group_all(
    const uint64_t[::1] offsets, const uint32_t[::1] ids, SubscriptionTable table, uint32_t first, Grouped* groups
) except? 0 nogil:
    """The place of an id that the table has not, else how many there are."""
    cdef vector[uint64_t] keys
    cdef uint64_t start, place
    cdef uint32_t subscriber, last
    cdef Py_ssize_t event
    cdef size_t index
    groups.places.reserve(ids.shape[0])
    groups.starts.push_back(0)
    for event in range(offsets.shape[0] - 1):
        start = offsets[event]
        keys.clear()
        for place in range(start, offsets[event + 1]):
            if not holds(table, ids[place]):
                return place
            keys.push_back(<uint64_t>subscriber_of(table.rows[ids[place]]) << 32 | (place - start))
        if keys.size() > 1:
            sort(keys.begin(), keys.end())
        last = UINT32_MAX
        for index in range(keys.size()):
            subscriber = <uint32_t>(keys[index] >> 32)
            if subscriber != last:
                if last != UINT32_MAX:
                    groups.starts.push_back(groups.places.size())
                groups.events.push_back(first + <uint32_t>event)
                groups.subscribers.push_back(subscriber)
                last = subscriber
            groups.places.push_back(start + (keys[index] & UINT32_MAX))
        if last != UINT32_MAX:
            groups.starts.push_back(groups.places.size())
    return <uint64_t>ids.shape[0]


cdef object array_of(const void* data, size_t size, type):
    array = np.empty(size // np.dtype(type).itemsize, type)
    cdef unsigned char[::1] bytes = array.view(np.uint8)
    if size > 0:
        memcpy(&bytes[0], data, size)
    return array
