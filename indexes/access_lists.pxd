from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

cdef extern from "posting_list.hpp" namespace "tamis" nogil:
    cdef struct Signature:
        uint64_t first
        uint64_t second

    const uint64_t ONE_OF_SEVERAL "tamis::one_of_several"

    cdef cppclass PostingList:
        uint32_t size() noexcept
        void insert(uint32_t slot, const Signature& signature) except +
        bool erase(uint32_t slot) noexcept

    void make_room(vector[uint32_t]& items, size_t count) except +

cdef extern from "list_table.hpp" namespace "tamis" nogil:
    cdef struct ListKey:
        uint64_t high
        uint64_t low

    cdef cppclass ListTable:
        uint32_t find(const ListKey& key) noexcept
        void prefetch(const ListKey& key) noexcept
        void bring_near(const vector[ListKey]& keys) noexcept
        PostingList& operator[](uint32_t number) noexcept
        uint32_t uses(uint32_t number) noexcept
        void add_uses(uint32_t number, int change) noexcept
        uint32_t take(const ListKey& key) except +
        void let_go(uint32_t number) noexcept
        uint32_t size() noexcept
        size_t memory_bytes() noexcept

cdef extern from "access_lists.hpp" namespace "tamis" nogil:
    const uint32_t NO_LIST "tamis::AccessLists::none"

    cdef cppclass Cells:
        uint32_t uses[16]
        uint32_t of_key "of"(uint64_t key) noexcept

    cdef cppclass AttributeColumn:
        uint32_t attribute
        uint32_t uses
        PostingList any
        double seen
        double present
        vector[uint64_t] number_keys
        vector[uint64_t] point_codes
        double least
        double greatest
        Cells* cells_or_null "cells.get"() noexcept
        Cells* make_cells() except +
        void span(double number) except +
        double share_of_numbers(uint64_t first, uint64_t end) noexcept
        double share_of_point(uint64_t code) noexcept
        void remember(size_t events, double events_max, size_t values_max) noexcept
        void settle(size_t values_max) noexcept
        uint32_t range_count() noexcept
        size_t leaf_count() noexcept

    cdef cppclass Candidates:
        void begin(const Signature& has) noexcept
        void list(const PostingList& postings) except +
        void end() except +
        size_t memory_bytes() noexcept
        vector[uint32_t] single
        vector[uint32_t] several
        uint64_t looked_at

    cdef cppclass AccessLists:
        AccessLists(uint32_t leaf_max) except +
        AttributeColumn* column(uint32_t attribute) noexcept
        Signature bits_of_value(uint32_t attribute, const ListKey& point) noexcept
        Signature bits_of_any(uint32_t attribute) noexcept
        Signature bits_of_point(uint32_t attribute, const ListKey& point) noexcept
        void use(uint32_t attribute) except +
        void leave(uint32_t attribute) noexcept
        uint32_t number_of(uint32_t attribute) noexcept
        void insert_point(const ListKey& key, uint32_t slot, const Signature& signature) except +
        void erase_point(const ListKey& key, uint32_t slot) noexcept
        void insert_numbers(
            uint32_t attribute, uint64_t first, uint64_t end, uint32_t slot, const Signature& signature
        ) except +
        void erase_numbers(uint32_t attribute, uint64_t first, uint64_t end, uint32_t slot) noexcept
        void insert_strings(
            uint32_t attribute, const string& first, const string& end, uint32_t slot, const Signature& signature
        ) except +
        void erase_strings(uint32_t attribute, const string& first, const string& end, uint32_t slot) except +
        void find_any(const AttributeColumn& held, Candidates& found) except +
        void find_number(const AttributeColumn& held, double number, Candidates& found) except +
        void find_string(const AttributeColumn& held, string_view text, Candidates& found) except +
        size_t column_bound() noexcept
        AttributeColumn* column_at(size_t place) noexcept
        size_t memory_bytes() noexcept
        ListTable points
        PostingList always

cdef extern from "key_domains.hpp" namespace "tamis" nogil:
    uint64_t NUMBERS_END "tamis::Numbers::highest"() noexcept
    uint64_t key_of_double "tamis::Numbers::key_of"(double number) noexcept
    string STRINGS_END "tamis::Strings::highest"() except +
    string after_string "tamis::Strings::after"(string_view text) except +
    string after_prefix "tamis::Strings::after_prefix"(string_view text) except +
