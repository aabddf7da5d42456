"""Records of the subscription topic, many at once: what a broker that starts has a million of.

Only well-formed records of the newest schema are read here. Any other one is given to `Subscription.decode`, and what
that says counts: there is one place that knows what can be wrong with a record, and why.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp cimport bool
from libcpp.string_view cimport string_view

from types import MappingProxyType

import numpy as np

from tamis.codecs import released
from tamis.codecs.errors import RecordError
from tamis.codecs.subscription import Subscription, parsed_key
from tamis.codecs.subscription_columns import NOBODY as _NOBODY
from tamis.codecs.subscription_columns import RefusedSubscription, SubscriptionColumns

from tamis.indexes.vocabulary cimport Vocabulary

cdef extern from "utf8.hpp" namespace "tamis" nogil:
    bool is_utf8(const char* text, size_t size) noexcept

ctypedef const char* Place

cdef bytes HEADER = released.newest("Subscription").header
cdef Place HEADER_DATA = PyBytes_AS_STRING(HEADER)
cdef Py_ssize_t HEADER_SIZE = PyBytes_GET_SIZE(HEADER)
cdef object NO_TAGS = MappingProxyType({})
cdef Py_ssize_t PART_MAX = 200
cdef uint32_t NOBODY = _NOBODY


def read_subscriptions(keys, values):
    """What records say, by their keys and values: of each what `Subscription.decode` says of it alone."""
    cdef tuple all_keys = tuple(keys), all_values = tuple(values)
    cdef Reading reading
    cdef uint32_t position
    if len(all_keys) != len(all_values):
        raise ValueError(f"each record has a key and a value, but there are {len(all_keys)} and {len(all_values)}")
    if len(all_keys) > UINT32_MAX:
        raise OverflowError("below 2**32 records are read at once")
    reading = Reading(len(all_keys))
    for position in range(<uint32_t>len(all_keys)):
        reading.take(position, all_keys[position], all_values[position])
    return reading.columns()


@cython.final
cdef class Reading:
    """One call's work."""

    def __cinit__(self, count):
        self.positions = np.empty(count, np.uint32)
        self.owners = np.empty(count, np.uint32)
        self.scores = np.empty(count, np.uint8)
        self.tombstones = np.empty(count, np.uint32)
        self.known_subscribers = Vocabulary()
        self.known_tags = Vocabulary()
        self.keys, self.refusals, self.subscribers, self.all_tags = [], [], [], []
        self.names, self.expressions, self.tags, self.paused = [], [], [], []

    cdef int take(self, uint32_t position, key, value) except -1:
        cdef string_view key_view, value_view
        cdef Py_ssize_t slash = -1
        cdef Fields fields
        if key is not None:
            key_view = view_of(key)
            slash = slash_of(key_view)
        if slash < 0:
            if value is not None:
                view_of(value)
            self.keys.append(None)
            self.owners[position] = NOBODY
            self.refusals.append(refused_key(position, key))
            return 0
        self.take_key(position, key_view, slash)
        if value is not None:
            value_view = view_of(value)
        if value_view.empty():
            self.tombstones[self.tombstones_count] = position
            self.tombstones_count += 1
            return 0
        if is_plain(value_view, key_view, slash, &fields) and self.take_fields(position, key_view, slash, &fields):
            return 0
        return self.ask(position, key, slash, value)

    cdef int take_key(self, uint32_t position, string_view key, Py_ssize_t slash) except -1:
        cdef string_view subscriber = string_view(key.data(), slash)
        cdef uint32_t owner = self.known_subscribers.table.intern(subscriber)
        if owner == <uint32_t>len(self.subscribers):
            self.subscribers.append(text_of(subscriber))
        self.owners[position] = owner
        self.keys.append(text_of(key))
        return 0

    cdef int take_fields(self, uint32_t position, string_view key, Py_ssize_t slash, const Fields* fields) except -1:
        """0 if a tag is there twice: nothing was taken then."""
        tags = NO_TAGS
        if not fields.tags.empty():
            tags = self.tags_of(fields.tags)
            if tags is None:
                return 0
        paused = None if fields.paused.data() == NULL else text_of(fields.paused)
        self.add(position, key, slash, text_of(fields.expression), tags, fields.scores, paused)
        return 1

    cdef int ask(self, uint32_t position, bytes key, Py_ssize_t slash, bytes value) except -1:
        """The reference."""
        try:
            told = Subscription.decode(value, key)
        except RecordError as error:
            self.refusals.append(RefusedSubscription(position, error.reason, str(error)))
            return 0
        return self.add(
            position, view_of(key), slash, told.expression, told.tags or NO_TAGS, told.scores, told.paused
        )

    cdef int add(
        self, uint32_t position, string_view key, Py_ssize_t slash, str expression, tags, bint scores, paused
    ) except -1:
        self.names.append(text_of(string_view(key.data() + slash + 1, key.size() - slash - 1)))
        self.expressions.append(expression)
        self.tags.append(tags)
        self.paused.append(paused)
        self.positions[self.count] = position
        self.scores[self.count] = scores
        self.count += 1
        return 0

    cdef object tags_of(self, string_view written):
        """A dict that all tags that are written alike share; None if a key is there twice."""
        cdef uint32_t known = self.known_tags.table.intern(written)
        if known == <uint32_t>len(self.all_tags):
            self.all_tags.append(read_tags(written))
        return self.all_tags[known]

    cdef object columns(self):
        return SubscriptionColumns(
            keys=self.keys,
            owners=np.asarray(self.owners),
            subscribers=self.subscribers,
            tombstones=np.asarray(self.tombstones)[: self.tombstones_count],
            refusals=self.refusals,
            positions=np.asarray(self.positions)[: self.count],
            names=self.names,
            expressions=self.expressions,
            tags=self.tags,
            scores=np.asarray(self.scores)[: self.count].view(np.bool_),
            paused=self.paused,
        )


cdef object refused_key(uint32_t position, key):
    if key is None:
        message = "the record has no key; that of a subscription is subscriber/name"
        return RefusedSubscription(position, "bad_key", message)
    try:
        parsed_key(key)
    except RecordError as error:
        return RefusedSubscription(position, error.reason, str(error))
    raise AssertionError(f"a key that can be read was not: {key!r}")


cdef inline string_view view_of(data) except *:
    if not isinstance(data, bytes):
        raise TypeError(f"a record's key or value is bytes or None, not {type(data).__name__}")
    return string_view(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef inline str text_of(string_view text):
    return PyUnicode_DecodeUTF8(text.data(), text.size(), NULL)


cdef inline bint names_part(uint8_t byte, bint underscore) noexcept nogil:
    """Whether a subscriber, or a name, may have this character."""
    cdef uint8_t letter = byte | 0x20
    return (
        c"a" <= letter <= c"z" or c"0" <= byte <= c"9" or byte == c"." or byte == c"-"
        or underscore and byte == c"_"
    )


cdef Py_ssize_t slash_of(string_view key) noexcept nogil:
    """Where the subscriber ends, in a key that a subscription can have; else -1."""
    cdef const uint8_t* data = <const uint8_t*>key.data()
    cdef Py_ssize_t slash = 0, place, size = <Py_ssize_t>key.size()
    while slash < size and names_part(data[slash], False):
        slash += 1
    if slash == size or data[slash] != c"/":
        return -1
    if not (1 <= slash <= PART_MAX and 1 <= size - slash - 1 <= PART_MAX):
        return -1
    for place in range(slash + 1, size):
        if not names_part(data[place], True):
            return -1
    return slash


cdef bint is_plain(string_view value, string_view key, Py_ssize_t slash, Fields* fields) noexcept nogil:
    """Whether it is well-formed, of the newest schema, and its key's; of tags that are there twice nothing is said."""
    cdef Place at = value.data(), end = at + value.size(), start
    cdef string_view text
    cdef int64_t branch
    if <Py_ssize_t>value.size() < HEADER_SIZE or memcmp(at, HEADER_DATA, HEADER_SIZE) != 0:
        return False
    at = read_bytes(at + HEADER_SIZE, end, &text)
    if at == NULL or text != string_view(key.data(), slash):
        return False
    at = read_bytes(at, end, &text)
    if at == NULL or text != string_view(key.data() + slash + 1, key.size() - slash - 1):
        return False
    at = read_text(at, end, &fields.expression)
    if at == NULL:
        return False
    start = at
    at = skip_tags(at, end)
    if at == NULL or at == end or <uint8_t>at[0] > 1:
        return False
    # The byte of the empty block alone, if there are none: whatever longer form zero has is as good as a tag.
    fields.tags = string_view(start, at - start if at - start > 1 else 0)
    fields.scores = at[0] != 0
    at = read_whole(at + 1, end, &branch)
    if at == NULL or not 0 <= branch <= 1:
        return False
    fields.paused = string_view()
    if branch == 1:
        at = read_text(at, end, &fields.paused)
    return at == end


cdef Place skip_tags(Place at, Place end) noexcept nogil:
    cdef int64_t count, size
    cdef string_view text
    cdef Place block_end
    while True:
        at = read_whole(at, end, &count)
        if at == NULL or count == 0:
            return at
        block_end = NULL
        if count < 0:
            at = read_whole(at, end, &size)
            if at == NULL or not 0 <= size <= end - at:
                return NULL
            block_end = at + size
            if count < -(end - at):
                return NULL
            count = -count
        if not 0 < count <= (end - at) // 2:
            return NULL
        while count > 0:
            at = read_text(at, end, &text)
            if at != NULL:
                at = read_text(at, end, &text)
            if at == NULL:
                return NULL
            count -= 1
        if block_end != NULL and at != block_end:
            return NULL


cdef dict read_tags(string_view written):
    """What `skip_tags` found well-formed; None if a key is there twice."""
    cdef Place at = written.data(), end = at + written.size()
    cdef int64_t count, size
    cdef string_view key, value
    cdef uint64_t total = 0
    cdef dict tags = {}
    while True:
        at = read_whole(at, end, &count)
        if count == 0:
            break
        if count < 0:
            at = read_whole(at, end, &size)
            count = -count
        total += count
        while count > 0:
            at = read_bytes(read_bytes(at, end, &key), end, &value)
            tags[text_of(key)] = text_of(value)
            count -= 1
    return tags if <uint64_t>len(tags) == total else None


cdef inline Place read_whole(Place at, Place end, int64_t* value) noexcept nogil:
    """Where the next one begins; NULL if this is none."""
    cdef uint64_t bits = 0
    cdef uint32_t shift = 0
    cdef uint8_t byte
    while at != end:
        byte = <uint8_t>at[0]
        at += 1
        if shift == 63 and byte > 1:
            return NULL
        bits |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            value[0] = <int64_t>(bits >> 1) ^ -<int64_t>(bits & 1)
            return at
        shift += 7
    return NULL


cdef inline Place read_bytes(Place at, Place end, string_view* found) noexcept nogil:
    cdef int64_t size
    at = read_whole(at, end, &size)
    if at == NULL or not 0 <= size <= end - at:
        return NULL
    found[0] = string_view(at, size)
    return at + size


cdef inline Place read_text(Place at, Place end, string_view* found) noexcept nogil:
    at = read_bytes(at, end, found)
    return at if at != NULL and is_utf8(found.data(), found.size()) else NULL
