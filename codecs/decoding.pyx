"""One call: messages, each by its route, into one batch; what cannot be understood is told, and left out.

The GIL is held while routes are found, which may ask a schema registry, and released while messages are parsed.
"""

import os

cimport cython
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint32_t
from libc.string cimport memcpy
from libcpp.string_view cimport string_view

import numpy as np

from tamis.codecs import reasons
from tamis.codecs.left_out import LeftOut
from tamis.indexes.errors import StaleBatchError

from tamis.codecs.avro_event cimport EventHead, read_event
from tamis.codecs.avro_record cimport FieldPlan, read_planned
from tamis.codecs.avro_wire cimport Place
from tamis.codecs.decoded_events cimport DecodedEvents
from tamis.codecs.json_object cimport read_json
from tamis.codecs.json_string cimport Scratch
from tamis.codecs.payloads cimport Payloads
from tamis.codecs.routes cimport EVENT_ROUTE, JSON_ROUTE, NO_ROUTE, Route, Routes
from tamis.codecs.sink cimport (
    BAD_ID, BAD_TIME, BATCH_FULL, IS_ID, IS_TIME, MESSAGE_TOO_LONG, NO_NODE, OUT_OF_MEMORY, ROOT, TRAILING_BYTES,
    UNUSABLE_SCHEMA, BatchColumns, EventSink, SinkBounds, ValueTypes, is_utf8,
)
from tamis.indexes.batch cimport EventBatch
from tamis.indexes.vocabulary cimport HashKey
from tamis.indexes.words cimport BOOLEAN, DOUBLE, LONG, STRING

cdef tuple REASON_OF = tuple(reasons.Reason)
cdef dict MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}
cdef enum:
    MICROSECONDS_A_MILLISECOND = 1000
    LONG_DIGITS_MAX = 20


cdef extern from "<charconv>" namespace "std" nogil:
    cdef struct to_chars_result:
        char* ptr

    to_chars_result to_chars(char* first, char* last, int64_t value) noexcept


@cython.final
cdef class Decoding:
    """Holds names, plans and memory, and is good for one call after the other."""

    def __cinit__(self, catalogue, limits, EventBatch batch not None):
        cdef bytes seed = os.urandom(16)
        cdef HashKey key
        memcpy(&key, <const char*>seed, sizeof(key))
        self.decoded = DecodedEvents.__new__(DecodedEvents)
        self.decoded.batch = batch
        self.routes = Routes(catalogue)
        self.plans = self.routes.plans
        self.vocabulary = batch.vocabulary
        self.generation = batch.generation
        self.message_bytes_max = limits.message_bytes
        self.sink = new EventSink(
            batch.vocabulary.table, batch.bound, key,
            SinkBounds(limits.depth, limits.items, limits.attributes, limits.string_bytes, limits.name_bytes),
            columns_of(batch), ValueTypes(LONG, DOUBLE, STRING, BOOLEAN),
        )
        self.topic_attribute = self.given(b"$topic")
        self.partition_attribute = self.given(b"$partition")
        self.key_attribute = self.given(b"$key")
        self.id_attribute = self.given(b"$id")
        self.time_attribute = self.given(b"$time")

    def __dealloc__(self):
        del self.sink

    cdef bint renew(self, EventBatch batch) except -1:
        """Begin another call; False if what is known is of no use to it."""
        if not batch.bound or batch.vocabulary is not self.vocabulary or batch.generation != self.generation:
            return False
        self.decoded = DecodedEvents.__new__(DecodedEvents)
        self.decoded.batch = batch
        self.position = 0
        return self.sink.renew(columns_of(batch))

    cdef uint32_t given(self, bytes name) except? 0xFFFFFFFF:
        cdef uint32_t attribute = self.sink.id_of(self.node_of(name))
        self.check_memory()
        return attribute

    cdef uint32_t node_of(self, bytes name) except? 0xFFFFFFFF:
        cdef uint32_t node = self.sink.field(ROOT, name, len(name))
        if node == NO_NODE:
            self.check_memory()
            raise ValueError(f"the attribute {name.decode()!r} has a name beyond the limit")
        return node

    cdef int check_memory(self) except -1:
        if self.sink.reason == OUT_OF_MEMORY:
            raise MemoryError("the events of these messages do not fit in memory: decode fewer at once")
        if self.sink.reason == BATCH_FULL:
            raise OverflowError("a batch holds below 2**32 values and names: decode fewer messages at once")
        return 0

    cdef int add(self, messages) except -1:
        cdef size_t count, index
        self.values = Payloads(messages.values)
        self.keys = None if messages.keys is None else Payloads(messages.keys)
        count = self.values.data.size()
        self.offsets = column("offsets", messages.offsets, np.int64, count)
        self.timestamps = column("timestamps", messages.timestamps, np.int64, count)
        self.partitions = None
        if isinstance(messages.partition, int):
            self.partition = messages.partition
        else:
            self.partitions = column("partitions", messages.partition, np.int32, count)
        if self.keys is not None and self.keys.data.size() != count:
            raise ValueError(f"{count} messages have {self.keys.data.size()} keys")
        topic = messages.topic.encode()
        cdef const char* start = topic
        self.topic.assign(start, start + len(topic))
        own_id = topic + b"/" * (2 + 2 * LONG_DIGITS_MAX)
        start = own_id
        self.own_id.assign(start, start + len(own_id))
        self.routes.follow(messages.format, self.values)
        self.make_room()
        self.bind_plans()
        self.mark_fields(messages.format, True)
        try:
            with nogil:
                for index in range(count):
                    self.decode_one(index)
        finally:
            self.mark_fields(messages.format, False)
        self.tell_refusals()
        return 0

    cdef int make_room(self) except -1:
        cdef size_t index, longest = 0
        for index in range(self.routes.routes.size()):
            self.sink.expect(self.values.sizes[index])
            if self.routes.routes[index].reader == JSON_ROUTE and self.values.sizes[index] <= self.message_bytes_max:
                longest = max(longest, self.values.sizes[index])
        if longest > self.scratch.size():
            self.scratch.resize(longest)
        return 0

    cdef int bind_plans(self) except -1:
        cdef FieldPlan plan
        while self.bound.size() < <size_t>len(self.plans):
            self.bound.resize(self.bound.size() + 1)
            self.places.resize(self.bound.size())
            plan = self.plans[self.bound.size() - 1]
            if not plan.bind(self.sink, &self.places.back(), &self.bound.back()):
                self.check_memory()
                raise ValueError("a schema has a field whose flattened name is longer than the limit")
        return 0

    cdef int mark_fields(self, format, bint marked) except -1:
        self.names_id = marked and format.id is not None
        self.names_time = marked and format.time is not None
        if format.id is None and format.time is None:
            return 0
        self.time_unit = MICROSECONDS[format.time_unit]
        if format.id is not None:
            self.sink.mark(self.node_of(format.id.encode()), IS_ID, marked)
        if format.time is not None:
            self.sink.mark(self.node_of(format.time.encode()), IS_TIME, marked)
        return self.check_memory()

    cdef int decode_one(self, size_t index) except -1 nogil:
        cdef const char* data = self.values.data[index]
        cdef size_t size = self.values.sizes[index]
        cdef Route route = self.routes.routes[index]
        cdef bint taken = False
        self.sink.begin(size)
        self.sink.stopped = data
        if route.reader == NO_ROUTE:
            self.sink.fail(route.reason)
        elif size > self.message_bytes_max:
            self.sink.fail(MESSAGE_TOO_LONG)
        else:
            taken = self.take(index, data + route.header, data + size, route)
        if not taken:
            self.sink.abandon()
            if self.sink.reason >= OUT_OF_MEMORY:
                with gil:
                    self.check_memory()
            self.refused.push_back(Refused(self.position, <uint32_t>index, self.sink.reason, self.sink.stopped - data))
        self.position += 1
        return 0

    cdef bint take(self, size_t index, Place at, Place end, Route route) except -1 nogil:
        """One message into the batch; False, and the sink knows why, if it is refused."""
        cdef EventHead head
        cdef Scratch scratch
        if route.reader == EVENT_ROUTE:
            at = read_event(at, end, self.sink, &head)
        elif route.reader == JSON_ROUTE:
            scratch.at = self.scratch.data()
            scratch.end = scratch.at + self.scratch.size()
            at = read_json(at, end, &scratch, self.sink)
        else:
            at = read_planned(at, end, &self.bound[route.reader], self.sink)
        if at == NULL:
            return False
        if at != end:
            self.sink.stopped = at
            return self.sink.fail(TRAILING_BYTES)
        self.sink.stopped = end
        if route.reader == EVENT_ROUTE:
            return self.put(index, head.id, head.time, True)
        return self.put_own(index)

    cdef bint put_own(self, size_t index) except -1 nogil:
        """An event that may have its id and time in fields of its own."""
        cdef string_view id = self.sink.id
        cdef int64_t time = self.sink.time
        cdef bint has_time = True
        if self.names_id and not self.sink.has_id:
            return self.sink.fail(BAD_ID)
        if not self.names_id:
            id = self.place_of(index)
        if self.names_time:
            if not self.sink.has_time or not INT64_MIN // self.time_unit <= time <= INT64_MAX // self.time_unit:
                return self.sink.fail(BAD_TIME)
            time *= self.time_unit
        else:
            time = self.timestamps[index]
            has_time = 0 <= time <= INT64_MAX // MICROSECONDS_A_MILLISECOND
            time = time * MICROSECONDS_A_MILLISECOND if has_time else 0
        return self.put(index, id, time, has_time)

    cdef int32_t partition_of(self, size_t index) noexcept nogil:
        return self.partition if self.partitions is None else self.partitions[index]

    cdef string_view place_of(self, size_t index) noexcept nogil:
        """The id `topic/partition/offset`."""
        cdef char* start = self.own_id.data()
        cdef char* end = start + self.own_id.size()
        cdef char* at = to_chars(start + self.topic.size() + 1, end, self.partition_of(index)).ptr
        at[0] = c"/"
        at = to_chars(at + 1, end, self.offsets[index]).ptr
        return string_view(start, at - start)

    cdef bint put(self, size_t index, string_view id, int64_t time, bint has_time) except -1 nogil:
        cdef EventSink* sink = self.sink
        cdef const char* key = NULL
        if self.keys is not None and is_utf8(self.keys.data[index], self.keys.sizes[index]):
            key = self.keys.data[index]
        if not (
            sink.add_given_string(self.topic_attribute, self.topic.data(), self.topic.size())
            and sink.add_given_long(self.partition_attribute, self.partition_of(index))
            and (key == NULL or sink.add_given_string(self.key_attribute, key, self.keys.sizes[index]))
            and sink.add_given_string(self.id_attribute, id.data(), id.size())
            and (not has_time or sink.add_given_long(self.time_attribute, time))
            and sink.finish()
        ):
            return False
        self.decoded.event_positions.push_back(self.position)
        self.decoded.event_times.push_back(time)
        self.decoded.ids.insert(self.decoded.ids.end(), id.data(), id.data() + id.size())
        self.decoded.id_starts.push_back(self.decoded.ids.size())
        return True

    cdef int tell_refusals(self) except -1:
        """As Python objects, once a group of messages is done."""
        cdef Refused refused
        for refused in self.refused:
            detail = ""
            if refused.reason == UNUSABLE_SCHEMA:
                detail = self.routes.detail_of(self.values.data[refused.index])
            self.decoded.refusals.append(
                reasons.Refusal(refused.position, REASON_OF[refused.reason - 1], refused.byte, detail)
            )
        self.refused.clear()
        return 0

    cdef DecodedEvents finish(self):
        cdef EventBatch batch = self.decoded.batch
        cdef DecodedEvents decoded
        if batch.bound and batch.generation != batch.vocabulary.table.generation():
            raise StaleBatchError("expressions came or went while messages were decoded with the index's vocabulary")
        decoded = self.decoded
        decoded.left_out = LeftOut(
            self.sink.left_out.reserved, self.sink.left_out.collisions, self.sink.left_out.arrays,
            self.sink.left_out.binaries,
        )
        # Of what was given nothing is held until the next call.
        self.decoded = None
        self.values = self.keys = None
        self.partitions = self.offsets = self.timestamps = None
        self.routes.forget()
        return decoded


cdef BatchColumns columns_of(EventBatch batch) noexcept:
    return BatchColumns(
        &batch.starts, &batch.attributes, &batch.types, &batch.values, &batch.strings, &batch.pool,
        &batch.weight_starts, &batch.weight_attributes, &batch.weights,
    )


cdef column(name, values, dtype, size_t count):
    result = np.ascontiguousarray(values, dtype=dtype)
    if result.shape != (count,):
        raise ValueError(f"{count} messages have {name} of shape {result.shape}")
    return result
