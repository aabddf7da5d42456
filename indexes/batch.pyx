"""Events in memory: many at once, in columns.

An entry is an attribute's id, a type and 64 bits; a long never passes through a double, and a string's bytes lie in one
pool. What is missing (None, NaN) has no entry. So a batch costs 17 bytes an entry beside its strings, and is read
without the GIL.
"""

cimport cython
from cpython.number cimport PyNumber_Index
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport UINT32_MAX, uint32_t, uint64_t
from libc.string cimport memcpy

from collections.abc import Mapping
from itertools import repeat

from tamis.indexes.errors import EventError, IndexBusy, StaleBatchError

from tamis.indexes.evaluation cimport checked_weight
from tamis.indexes.event_values cimport check_value, value_of
from tamis.indexes.numbers cimport Number
from tamis.indexes.truth cimport Value
from tamis.indexes.vocabulary cimport NO_STRING, StringId, Vocabulary
from tamis.indexes.words cimport BOOLEAN, DOUBLE, LONG, NOTHING, STRING, Type


@cython.final
cdef class EventBatch:
    """Events in the order they came; made by `from_events`.

    A batch made with an index's vocabulary keeps only what that index can ask about, and is good for that index until
    the next insertion or deletion. Any other is good for every index, at the cost of looking its strings up once more.
    """

    def __cinit__(self):
        self.starts.push_back(0)

    def __init__(self):
        raise TypeError("an EventBatch is made by from_events")

    @classmethod
    def from_events(cls, events, weights=None, vocabulary=None):
        """Of mappings from attributes to values; `weights` has a mapping from attributes to weights for each, or None.

        `EventError` names the attribute, and the event by its position.
        """
        cdef EventBatch batch = empty_batch(vocabulary)
        cdef Py_ssize_t position = 0
        cdef bint weighted = weights is not None
        for event, held in zip(events, weights if weighted else repeat(None), strict=weighted):
            try:
                batch.add_event(event)
                if weighted:
                    batch.add_weights(held)
            except EventError as error:
                raise EventError(f"event {position}: {error}") from None
            batch.end_event()
            position += 1
        batch.shrink()
        return batch

    def __len__(self):
        return self.size()

    def __getitem__(self, index):
        cdef Py_ssize_t count = self.size()
        cdef Py_ssize_t place = PyNumber_Index(index)
        if place < 0:
            place += count
        if not 0 <= place < count:
            raise IndexError(f"there are {count} events, none at {index}")
        if self.bound:
            check_unwritten(self.vocabulary)
        if self.bound and self.generation != self.vocabulary.table.generation():
            raise StaleBatchError(
                "expressions came or went since the batch was made with the index's vocabulary: it cannot be read"
            )
        cdef size_t entry
        event = {}
        for entry in range(self.starts[place], self.starts[place + 1]):
            event[self.vocabulary.text(self.attributes[entry])] = self.python_value(entry)
        return event

    def __iter__(self):
        for place in range(len(self)):
            yield self[place]

    def memory_bytes(self) -> int:
        """All that is allocated, but for a vocabulary that is someone else's."""
        cdef size_t bytes = (
            sizeof(uint32_t) * (
                self.starts.capacity() + self.attributes.capacity() + self.strings.capacity()
                + self.weight_starts.capacity() + self.weight_attributes.capacity()
            )
            + sizeof(uint64_t) * (self.values.capacity() + self.weights.capacity())
            + self.types.capacity() + self.pool.capacity()
        )
        return bytes if self.bound else bytes + self.vocabulary.memory_bytes()

    cdef uint32_t size(self) noexcept nogil:
        return <uint32_t>(self.starts.size() - 1)

    cdef int add_event(self, event) except -1:
        cdef Value value
        cdef StringId attribute
        if not isinstance(event, Mapping):
            raise TypeError(f"an event is a mapping, not {type(event).__name__}")
        for name, held in event.items():
            check_value(name, held)
            value = value_of(held)
            if value.type == NOTHING:
                continue
            attribute = self.id_of(name)
            if attribute != NO_STRING:
                self.add(attribute, &value)
        return 0

    cdef int add_weights(self, weights) except -1:
        cdef StringId attribute
        cdef double weight
        if self.weight_starts.empty():
            self.weight_starts.clear()
            self.weight_starts.resize(self.starts.size(), 0)
        if weights is None:
            return 0
        if not isinstance(weights, Mapping):
            raise TypeError(f"an event's weights are a mapping, not {type(weights).__name__}")
        for name, held in weights.items():
            weight = checked_weight(name, held)
            check_value(name, None)
            attribute = self.id_of(name)
            if attribute != NO_STRING:
                self.add_weight(attribute, weight)
        return 0

    cdef uint32_t id_of(self, str name) except? 0xFFFFFFFF:
        cdef Py_ssize_t size = 0
        cdef const char* data = PyUnicode_AsUTF8AndSize(name, &size)
        if self.bound:
            check_unwritten(self.vocabulary)
            return self.vocabulary.find_bytes(data, size)
        return self.vocabulary.intern_bytes(data, size)

    cdef int add(self, uint32_t attribute, const Value* value) except -1 nogil:
        cdef uint64_t bits = 0
        cdef uint32_t length
        cdef StringId string = NO_STRING
        cdef Type type = value.type
        if self.attributes.size() == UINT32_MAX:
            raise OverflowError("a batch holds below 2**32 values: make smaller ones")
        if type == STRING:
            if value.size > UINT32_MAX:
                raise OverflowError("an event's string is below 4 GiB")
            string = (
                self.vocabulary.find_bytes(value.data, value.size) if self.bound
                else self.vocabulary.intern_bytes(value.data, value.size)
            )
            bits = self.pool.size()
            length = <uint32_t>value.size
            self.pool.resize(bits + sizeof(length) + length)
            memcpy(self.pool.data() + bits, &length, sizeof(length))
            if length > 0:
                memcpy(self.pool.data() + bits + sizeof(length), value.data, length)
        elif type == BOOLEAN:
            bits = value.number.whole
        else:
            type = DOUBLE if value.number.is_double else LONG
            if value.number.is_double:
                memcpy(&bits, &value.number.real, sizeof(bits))
            else:
                memcpy(&bits, &value.number.whole, sizeof(bits))
        self.attributes.push_back(attribute)
        self.types.push_back(type)
        self.values.push_back(bits)
        self.strings.push_back(string)
        return 0

    cdef int add_weight(self, uint32_t attribute, double weight) except -1 nogil:
        self.weight_attributes.push_back(attribute)
        self.weights.push_back(weight)
        return 0

    cdef int end_event(self) except -1 nogil:
        self.starts.push_back(<uint32_t>self.attributes.size())
        if not self.weight_starts.empty():
            self.weight_starts.push_back(<uint32_t>self.weights.size())
        return 0

    cdef int shrink(self) except -1:
        self.starts.shrink_to_fit()
        self.attributes.shrink_to_fit()
        self.types.shrink_to_fit()
        self.values.shrink_to_fit()
        self.strings.shrink_to_fit()
        self.pool.shrink_to_fit()
        return 0

    cdef Value value_at(self, size_t entry) noexcept nogil:
        cdef Value value
        cdef uint32_t length
        cdef uint64_t bits = self.values[entry]
        value.type = <Type>self.types[entry]
        value.number = Number(False, 0, 0)
        value.data = NULL
        value.size = 0
        if value.type == STRING:
            memcpy(&length, self.pool.data() + bits, sizeof(length))
            value.data = self.pool.data() + bits + sizeof(length)
            value.size = length
        elif value.type == DOUBLE:
            value.number.is_double = True
            memcpy(&value.number.real, &bits, sizeof(bits))
        else:
            memcpy(&value.number.whole, &bits, sizeof(bits))
        return value

    cdef object python_value(self, size_t entry):
        cdef Value value = self.value_at(entry)
        if value.type == STRING:
            return PyUnicode_DecodeUTF8(value.data, <Py_ssize_t>value.size, NULL)
        if value.type == DOUBLE:
            return value.number.real
        return value.number.whole == 1 if value.type == BOOLEAN else value.number.whole


cdef int check_unwritten(Vocabulary vocabulary) except -1:
    if vocabulary.is_written:
        raise IndexBusy("the index whose vocabulary this batch has is being written")
    return 0


cdef EventBatch empty_batch(vocabulary):
    cdef EventBatch batch = EventBatch.__new__(EventBatch)
    batch.bound = vocabulary is not None
    batch.vocabulary = vocabulary if batch.bound else Vocabulary()
    batch.generation = batch.vocabulary.table.generation()
    return batch


cdef EventBatch batch_of_one(event, weights, Vocabulary vocabulary):
    cdef EventBatch batch = empty_batch(vocabulary)
    batch.add_event(event)
    if weights is not None:
        batch.add_weights(weights)
    batch.end_event()
    return batch
