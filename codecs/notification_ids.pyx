"""The header `tamis-id` of many notifications at once: what `NotificationId.header` is for each of them."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.number cimport PyNumber_Index
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

import numpy as np

from tamis.codecs.avro_writing cimport append, view_of

cdef extern from "json_writing.hpp" namespace "tamis" nogil:
    void append_json_whole(vector[char]& target, int64_t value) except +


def notification_ids(groups, events, topic_ids, subscribers, first=0, end=None):
    """Of groups from one on, up to another: ids of topics by their names, names of subscribers by their numbers."""
    cdef const uint32_t[::1] places = np.ascontiguousarray(groups.events, np.uint32)
    cdef const uint32_t[::1] owners = np.ascontiguousarray(groups.subscribers, np.uint32)
    cdef const int32_t[::1] partitions = np.ascontiguousarray(events.partitions, np.int32)
    cdef const int64_t[::1] offsets = np.ascontiguousarray(events.offsets, np.int64)
    cdef list names = subscribers if isinstance(subscribers, list) else list(subscribers)
    cdef list headers = []
    cdef Py_ssize_t begin = PyNumber_Index(first), stop = len(groups) if end is None else PyNumber_Index(end), group
    cdef uint32_t place
    cdef vector[char] shared
    if not 0 <= begin <= stop <= places.shape[0] or owners.shape[0] != places.shape[0]:
        raise ValueError(f"there are {len(groups)} groups: none are from {first} to {end}")
    topics = events.topics
    for group in range(begin, stop):
        place = places[group]
        if group == begin or place != places[group - 1]:
            if place >= offsets.shape[0] or place >= partitions.shape[0]:
                raise IndexError(f"there are {len(offsets)} events, none at {place}")
            begin_headers(shared, topic_ids[topics[place]], partitions[place], offsets[place])
        if owners[group] >= len(names):
            raise IndexError(f"there are {len(names)} subscribers, none has the number {owners[group]}")
        name = names[owners[group]]
        if not isinstance(name, bytes):
            raise TypeError(f"a subscriber's name is bytes here, not {type(name).__name__}")
        headers.append(header_of(shared, name))
    return headers


cdef int begin_headers(vector[char]& shared, str topic_id, int32_t partition, int64_t offset) except -1:
    """What all headers of an event begin with."""
    shared.clear()
    append(shared, string_view(b"1/"))
    append(shared, view_of(topic_id))
    shared.push_back(c"/")
    append_json_whole(shared, partition)
    shared.push_back(c"/")
    append_json_whole(shared, offset)
    shared.push_back(c"/")
    return 0


cdef bytes header_of(const vector[char]& shared, bytes name):
    cdef Py_ssize_t size = PyBytes_GET_SIZE(name)
    cdef bytes header = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>shared.size() + size)
    cdef char* at = PyBytes_AS_STRING(header)
    memcpy(at, shared.data(), shared.size())
    memcpy(at + shared.size(), PyBytes_AS_STRING(name), size)
    return header
