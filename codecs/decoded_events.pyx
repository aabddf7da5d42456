"""The events of many messages, and what is to be known of them beside their attributes."""

cimport cython
from cpython.number cimport PyNumber_Index
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint64_t

import numpy as np


@cython.final
cdef class DecodedEvents:
    """The events of many messages, in the order of the messages; and the messages that were refused."""

    def __cinit__(self):
        self.refusals = []
        self.id_starts.push_back(0)

    def __init__(self):
        raise TypeError("DecodedEvents are made by EventDecoder.decode")

    @property
    def positions(self):
        """Which message each event was: a position among all that were given."""
        return np.array(self.event_positions, dtype=np.uint32)

    @property
    def times(self):
        """Each event's time, in microseconds; 0 if nothing told it."""
        return np.array(self.event_times, dtype=np.int64)

    def id(self, event):
        """An event's id."""
        cdef Py_ssize_t place = PyNumber_Index(event)
        if not 0 <= place < <Py_ssize_t>self.event_times.size():
            raise IndexError(f"there are {self.event_times.size()} events, none at {event}")
        cdef uint64_t start = self.id_starts[place]
        return PyUnicode_DecodeUTF8(self.ids.data() + start, <Py_ssize_t>(self.id_starts[place + 1] - start), NULL)

    def __len__(self):
        return self.event_times.size()
