"""Where decoders put what they read, and why they may refuse to."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from tamis.indexes.vocabulary cimport HashKey, StringTable


cdef extern from "reasons.hpp" namespace "tamis" nogil:
    cdef enum Reason:
        ACCEPTED
        NO_VALUE
        MESSAGE_TOO_LONG
        UNKNOWN_FRAMING
        UNKNOWN_SCHEMA
        UNUSABLE_SCHEMA
        TRUNCATED
        TRAILING_BYTES
        VALUE_OVERFLOW
        BAD_LENGTH
        BAD_BLOCK
        BAD_UNION_INDEX
        BAD_ENUM_INDEX
        BAD_BOOLEAN
        BAD_UTF8
        LONE_SURROGATE
        BAD_SYNTAX
        NOT_AN_OBJECT
        DUPLICATE_KEY
        TOO_DEEP
        TOO_MANY_ITEMS
        TOO_MANY_ATTRIBUTES
        STRING_TOO_LONG
        NAME_TOO_LONG
        BAD_WEIGHT
        BAD_ID
        BAD_TIME
        OUT_OF_MEMORY
        BATCH_FULL

cdef extern from "utf8.hpp" namespace "tamis" nogil:
    bool is_utf8(const char* text, size_t size) noexcept

cdef extern from "event_sink.hpp" namespace "tamis" nogil:
    const uint32_t ROOT "tamis::AttributeNames::root"
    const uint32_t WEIGHTS_ROOT "tamis::AttributeNames::weights_root"
    const uint32_t NO_NODE "tamis::EventSink::no_node"
    const uint8_t IS_ID "tamis::Attribute::is_id"
    const uint8_t IS_TIME "tamis::Attribute::is_time"

    cdef struct BatchColumns:
        vector[uint32_t]* starts
        vector[uint32_t]* attributes
        vector[uint8_t]* types
        vector[uint64_t]* values
        vector[uint32_t]* strings
        vector[char]* pool
        vector[uint32_t]* weight_starts
        vector[uint32_t]* weight_attributes
        vector[double]* weights

    cdef struct ValueTypes:
        uint8_t whole
        uint8_t real
        uint8_t string
        uint8_t boolean

    cdef struct SinkBounds:
        uint32_t depth
        uint32_t items
        uint32_t attributes
        uint32_t string_bytes
        uint32_t name_bytes

    cdef struct LeftOut:
        uint64_t reserved
        uint64_t collisions
        uint64_t arrays
        uint64_t binaries

    cdef cppclass EventSink:
        SinkBounds bounds
        Reason reason
        const char* stopped
        LeftOut left_out
        LeftOut left_out_here
        string_view id
        int64_t time
        bool has_id
        bool has_time

        EventSink(
            StringTable* strings, bool bound, HashKey key, SinkBounds bounds, BatchColumns columns, ValueTypes types
        ) except +
        bool renew(BatchColumns columns) noexcept
        void expect(uint64_t bytes) noexcept
        void begin(uint64_t message_bytes) noexcept
        void abandon() noexcept
        bool finish() noexcept
        bool fail(Reason why) noexcept
        bool add_items(uint64_t count) noexcept
        uint32_t key(uint32_t parent, const char* text, size_t length, const char* end) noexcept
        uint32_t quoted_key(uint32_t parent, const char* text, const char* end, size_t* length) noexcept
        uint32_t field(uint32_t parent, const char* text, size_t length) noexcept
        uint32_t id_of(uint32_t node) noexcept
        bool mark(uint32_t node, uint8_t flag, bool marked) noexcept
        bool add_long(uint32_t node, int64_t value) noexcept
        bool add_double(uint32_t node, double value) noexcept
        bool add_boolean(uint32_t node, bool value) noexcept
        bool add_string(uint32_t node, const char* text, size_t length, const char* end) noexcept
        bool add_weight(uint32_t node, double weight) noexcept
        bool add_given_long(uint32_t given, int64_t value) noexcept
        bool add_given_string(uint32_t given, const char* text, size_t length) noexcept
