"""The links of a one-dimensional index, and where a predicate holds: from its words to ranges and single values."""

from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from tamis.indexes.access_keys cimport double_of, is_alone, operand_point, upper_bound
from tamis.indexes.access_lists cimport (
    NUMBERS_END, STRINGS_END, ListKey, PostingList, after_prefix, after_string, key_of_double,
)
from tamis.indexes.numbers cimport Number
from tamis.indexes.store cimport Words
from tamis.indexes.truth cimport number_at
from tamis.indexes.vocabulary cimport HashKey, StringTable
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, EQUAL, GREATER, GREATER_EQUAL, IN, LESS, LESS_EQUAL, MIXED, NOT_BETWEEN, NOT_EQUAL, NOT_IN,
    NOT_STARTS_WITH, STARTS_WITH, STRING, Type, first_type, operator_of, words_of,
)

cdef extern from "predicate_spaces.hpp" namespace "tamis" nogil:
    cdef cppclass NumberSpaces "tamis::PredicateSpaces<tamis::Numbers>":
        void count_each(const uint64_t* keys, size_t count, size_t* counts) noexcept
        void place_each(const uint64_t* keys, size_t count, uint64_t* places) noexcept
        uint32_t size() noexcept
        size_t leaf_count() noexcept
        size_t posting_count() noexcept

    cdef cppclass StringSpaces "tamis::PredicateSpaces<tamis::Strings>":
        void count_each(const string_view* texts, size_t count, size_t* counts) noexcept
        void place_each(const string_view* texts, size_t count, uint64_t* places) noexcept
        uint32_t size() noexcept
        size_t leaf_count() noexcept
        size_t posting_count() noexcept

cdef extern from "link_spaces.hpp" namespace "tamis" nogil:
    cdef cppclass Pieces:
        vector[ListKey] points
        void clear() noexcept
        void add_numbers(uint64_t first, uint64_t end) except +
        void add_strings(const string& first, const string& end) except +

    cdef cppclass LinkSpaces:
        LinkSpaces(uint32_t leaf_max) except +
        void insert(const Pieces& pieces, uint32_t slot, uint32_t id) except +
        void erase(const Pieces& pieces, uint32_t slot) noexcept
        const NumberSpaces& numbers() noexcept
        const StringSpaces& strings() noexcept
        uint32_t point_count() noexcept
        void prefetch(const ListKey& key) noexcept
        const PostingList* point(const ListKey& key) noexcept
        size_t posting_count() noexcept
        size_t memory_bytes() noexcept

    void append_list_ids "tamis::append_ids"(const PostingList& list, vector[uint32_t]& ids) except +
    void append_slots(const PostingList& list, vector[uint32_t]& slots) except +
    void append_number_ids "tamis::append_ids"(const NumberSpaces& spaces, uint64_t key, vector[uint32_t]& ids) except +
    void append_string_ids "tamis::append_ids"(
        const StringSpaces& spaces, string_view text, vector[uint32_t]& ids
    ) except +

cdef extern from "link_table.hpp" namespace "tamis" nogil:
    const uint32_t NO_LINK "tamis::LinkTable::none"

    cdef cppclass LinkTable:
        LinkTable(const HashKey& key) except +
        uint32_t find(const uint32_t* record, uint32_t size) noexcept
        uint32_t insert(const uint32_t* record, uint32_t size) except +
        void erase(uint32_t slot) noexcept
        Words words(uint32_t slot) noexcept
        bool holds(uint32_t slot) noexcept
        uint32_t slot_bound() noexcept
        uint32_t size() noexcept
        size_t memory_bytes() noexcept


cdef inline ListKey shared_key(uint64_t key) noexcept nogil:
    """Of the numbers that have this key in common: beside the single values, whose types are not 0."""
    return ListKey(0, key)


cdef inline uint32_t member_count(const uint32_t* node) noexcept nogil:
    """Of a set, or of the one operand of `=` and `!=`."""
    return node[2] if operator_of(node[0]) | 1 == NOT_IN else 1


cdef inline const uint32_t* member_at(const uint32_t* node, uint32_t index) noexcept nogil:
    if operator_of(node[0]) | 1 == NOT_IN:
        return node + 3 + index * words_of(first_type(node[0]))
    return node + 2


cdef inline int add_pieces(const uint32_t* node, const StringTable* strings, Pieces& pieces) except -1 nogil:
    """Where a predicate of an operator that an order can serve holds."""
    cdef int relation = operator_of(node[0])
    cdef Type type = first_type(node[0])
    cdef uint32_t member
    if relation == EQUAL or relation == IN:
        for member in range(member_count(node)):
            pieces.points.push_back(operand_point(0, member_at(node, member), type))
    elif type == BOOLEAN:
        for member in range(2):
            if member_at(node, 0)[0] != member and member_at(node, member_count(node) - 1)[0] != member:
                pieces.points.push_back(operand_point(0, &member, BOOLEAN))
    elif type == STRING:
        add_string_pieces(node, strings, pieces)
    elif relation == NOT_EQUAL or relation == NOT_IN:
        add_gaps(node, pieces)
    else:
        add_number_ranges(node, pieces)
    return 0


cdef inline int add_shared(Number number, Pieces& pieces) except -1 nogil:
    """The key of an operand, where others have it too. Operands come in ascending order."""
    cdef ListKey key = shared_key(key_of_double(double_of(number)))
    if not is_alone(number) and (pieces.points.empty() or pieces.points.back().low != key.low):
        pieces.points.push_back(key)
    return 0


cdef inline int add_gaps(const uint32_t* node, Pieces& pieces) except -1 nogil:
    """All numbers but some."""
    cdef uint32_t index
    cdef uint64_t key, begin = 0
    cdef Number number
    for index in range(member_count(node)):
        number = operand_number(member_at(node, index), first_type(node[0]))
        key = key_of_double(double_of(number))
        pieces.add_numbers(begin, key)
        begin = key + 1
        add_shared(number, pieces)
    pieces.add_numbers(begin, NUMBERS_END())
    return 0


cdef inline Number operand_number(const uint32_t* at, Type type) noexcept nogil:
    return number_at(at + 1, <Type>at[0]) if type == MIXED else number_at(at, type)


cdef inline int add_number_ranges(const uint32_t* node, Pieces& pieces) except -1 nogil:
    """Of a comparison. A key that numbers share is never in a range."""
    cdef int relation = operator_of(node[0])
    cdef Number low = number_at(node + 2, first_type(node[0]))
    cdef Number high = upper_bound(node) if relation >= BETWEEN else low
    cdef uint64_t low_key = key_of_double(double_of(low)), high_key = key_of_double(double_of(high))
    cdef uint64_t after_low = low_key if is_alone(low) else low_key + 1
    cdef uint64_t after_high = high_key + 1 if is_alone(high) else high_key
    if relation == LESS:
        pieces.add_numbers(0, low_key)
    elif relation == LESS_EQUAL:
        pieces.add_numbers(0, after_high)
    elif relation == GREATER:
        pieces.add_numbers(low_key + 1, NUMBERS_END())
    elif relation == GREATER_EQUAL:
        pieces.add_numbers(after_low, NUMBERS_END())
    elif relation == BETWEEN:
        pieces.add_numbers(after_low, after_high)
    else:
        pieces.add_numbers(0, low_key)
        pieces.add_numbers(high_key + 1, NUMBERS_END())
    add_shared(low, pieces)
    add_shared(high, pieces)
    return 0


cdef inline int add_string_pieces(const uint32_t* node, const StringTable* strings, Pieces& pieces) except -1 nogil:
    cdef int relation = operator_of(node[0])
    cdef uint32_t index
    cdef string begin, end = STRINGS_END()
    cdef string_view text = strings.view(member_at(node, 0)[0])
    cdef string first = string(text.data(), text.size())
    if relation == NOT_EQUAL or relation == NOT_IN:
        for index in range(member_count(node)):
            text = strings.view(member_at(node, index)[0])
            pieces.add_strings(begin, string(text.data(), text.size()))
            begin = after_string(text)
        pieces.add_strings(begin, end)
    elif relation == LESS:
        pieces.add_strings(begin, first)
    elif relation == LESS_EQUAL:
        pieces.add_strings(begin, after_string(text))
    elif relation == GREATER:
        pieces.add_strings(after_string(text), end)
    elif relation == GREATER_EQUAL:
        pieces.add_strings(first, end)
    elif relation == STARTS_WITH:
        pieces.add_strings(first, after_prefix(text))
    elif relation == BETWEEN:
        pieces.add_strings(first, after_string(strings.view(node[3])))
    else:
        pieces.add_strings(begin, first)
        if relation == NOT_STARTS_WITH:
            pieces.add_strings(after_prefix(text), end)
        else:
            pieces.add_strings(after_string(strings.view(node[3])), end)
    return 0
