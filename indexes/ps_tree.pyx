"""PS-Tree: one attribute's predicates, found by a value (PS-Tree, 2018, section 4).

A link is a predicate with an id. Which predicates hold for a value is known where the value lies: ranges are in the
tree that engines use (`predicate_spaces.hpp`), single values in a hash table beside it. There a number's place is that
of the nearest double, which whole numbers beyond 2**53 share; a predicate with an operand among these is asked itself.
"""

cimport cython
from cpython.number cimport PyNumber_Index
from libc.stdint cimport UINT32_MAX, UINT64_MAX, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport unique
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

import os

import numpy as np

from tamis.indexes.errors import IndexBusy
from tamis.indexes.expressions import Expression as _Expression, parse
from tamis.indexes.predicate_space import cuts_of, families, pieces, space
from tamis.indexes.printing import OPERATORS as _OPERATORS, Predicate, predicate_text

from tamis.indexes.access_keys cimport double_of, is_alone, number_point, small_point
from tamis.indexes.access_lists cimport PostingList, key_of_double
from tamis.indexes.asked_values cimport array_of, values_of
from tamis.indexes.columnar cimport Expressions
from tamis.indexes.event_values cimport check_value, value_of
from tamis.indexes.expressions cimport Expression
from tamis.indexes.inputs cimport id_of
from tamis.indexes.links cimport (
    NO_LINK, add_pieces, append_list_ids, append_number_ids, append_slots, append_string_ids, member_at, member_count,
    shared_key,
)
from tamis.indexes.printing cimport node_text, predicate_of, string_of
from tamis.indexes.store cimport Words
from tamis.indexes.truth cimport TRUE, predicate_truth
from tamis.indexes.vocabulary cimport NO_STRING, HashKey
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, ENDS_WITH, NEGATION, NOT_BETWEEN, NOTHING, OPERATOR_SHIFT, PREDICATE, STRING,
    WEIGHTED, first_type, kind_of, operator_of, predicate_size,
)

# Predicates with ends in one leaf. Half as many find values as fast and take more memory; twice as many are slower.
LEAF_MAX = 16
# So many values are asked about at a time: they and what is found for them stay in the cache.
cdef size_t VALUES_AT_ONCE = 1024
# Set in the numbers of strings' spaces, and in no other's.
cdef uint64_t STRING_PLACES = <uint64_t>1 << 63


@cython.final
cdef class PSTree:
    """Which ids have a predicate that holds for a value.

    An id may have several predicates, and a predicate several ids; a link that is there already is not put twice. The
    attribute is the first predicate's unless it is given; predicates on others are refused, and operators that no
    order can serve. There is one writer; while `locate_many`, `count_many` or `place_many` runs in another thread a
    write raises `IndexBusy`.
    """

    def __cinit__(self, attribute=None, *, leaf_max=LEAF_MAX):
        cdef bytes secret = os.urandom(16)
        cdef HashKey key
        number = PyNumber_Index(leaf_max)
        if not 2 <= number <= 4096:
            raise ValueError(f"a leaf holds 2 to 4096 predicates, not {number}")
        memcpy(&key, <const char*>secret, sizeof(key))
        self.vocabulary = Vocabulary()
        self.attribute_id = NO_STRING if attribute is None else self.vocabulary.intern(attribute)
        self.links = new LinkTable(key)
        self.found = new LinkSpaces(number)

    def __dealloc__(self):
        del self.links
        del self.found

    @property
    def attribute(self):
        """What the predicates are on; None while there was none."""
        return None if self.attribute_id == NO_STRING else self.name()

    def insert(self, predicate, id):
        """Links an id to a predicate: a text, an expression of one predicate, or a `Predicate`."""
        cdef Expression parsed = parsed_of(predicate)
        cdef uint32_t key = id_of(id)
        cdef const uint32_t* node
        self.begin_write()
        node = self.checked(parsed.words, parsed.vocabulary, self.attribute_id)
        self.attribute_id = self.own_attribute(node, parsed.vocabulary)
        self.put(parsed.words, parsed.vocabulary, key)

    def insert_many(self, predicates, ids):
        """Links each id to the predicate at its place. All are checked before any is taken."""
        cdef Expressions columns = None
        cdef Expression parsed
        cdef const uint32_t* node
        cdef size_t index
        cdef list items = []
        keys = [id_of(id) for id in (ids.tolist() if isinstance(ids, np.ndarray) else ids)]
        if isinstance(predicates, Expressions):
            columns = predicates
        else:
            items = [parsed_of(predicate) for predicate in predicates]
        cdef size_t count = columns.count if columns is not None else len(items)
        cdef StringId attribute = self.attribute_id
        if len(keys) != count:
            raise ValueError(f"there are {len(keys)} ids, but {count} predicates")
        self.begin_write()
        try:
            for index in range(count):
                if columns is not None:
                    node = self.checked(columns.words + columns.starts[index], columns.vocabulary, attribute)
                    attribute = self.own_attribute(node, columns.vocabulary) if attribute == NO_STRING else attribute
                else:
                    parsed = items[index]
                    node = self.checked(parsed.words, parsed.vocabulary, attribute)
                    attribute = self.own_attribute(node, parsed.vocabulary) if attribute == NO_STRING else attribute
        except BaseException:
            if attribute != self.attribute_id:
                self.vocabulary.table.release(attribute)
            raise
        self.attribute_id = attribute
        for index in range(count):
            if columns is not None:
                self.put(columns.words + columns.starts[index], columns.vocabulary, keys[index])
            else:
                parsed = items[index]
                self.put(parsed.words, parsed.vocabulary, keys[index])

    def delete(self, predicate, id):
        """Forgets a link, and all that was there for it. KeyError if there is none."""
        cdef Expression parsed = parsed_of(predicate)
        cdef uint32_t key = id_of(id), slot = NO_LINK
        cdef size_t count
        self.begin_write()
        self.checked(parsed.words, parsed.vocabulary, self.attribute_id)
        if self.read(parsed.words, parsed.vocabulary, key, False):
            slot = self.links.find(self.record.data(), <uint32_t>self.record.size())
        if slot == NO_LINK:
            raise KeyError(f"the id {key} is not linked to {parsed.text}")
        self.pieces.clear()
        add_pieces(self.record.data(), self.vocabulary.table, self.pieces)
        count = string_count(self.record.data())
        self.found.erase(self.pieces, slot)
        self.links.erase(slot)
        self.release(count)
        self.writes += 1

    def locate(self, value):
        """The ids that have a predicate which holds for a value, ascending; none for None or NaN."""
        cdef Value held
        cdef Hits hits
        self.read_value(value, &held)
        hits.begin(1, UINT32_MAX)
        self.append_sorted(&held, hits)
        return array_of(hits.list(0))

    def count(self, value):
        """How many predicates hold for a value: of an id that has several, each counts."""
        cdef Value held
        self.read_value(value, &held)
        return self.count_of(&held)

    def locate_many(self, values, order="ascending"):
        """What `locate` gives for each value: where its ids begin (and, last, the end), and all ids.

        `order="any"` spares the sort; an id is then there for each of its predicates that hold. The GIL is released.
        """
        cdef list kept
        cdef vector[Value] asked
        cdef bint ordered = order == "ascending"
        cdef vector[uint32_t] ids
        cdef size_t begin, count = len(values)
        if order not in ("ascending", "any"):
            raise ValueError(f"order is 'ascending' or 'any', not {order!r}")
        offsets = np.zeros(count + 1, np.uint64)
        cdef uint64_t[::1] ends = offsets
        self.readers += 1
        try:
            for begin in range(0, count, VALUES_AT_ONCE):
                kept = []
                self.take(values, begin, count, kept, asked)
                with nogil:
                    self.append_all(asked, ordered, ids, &ends[begin + 1])
        finally:
            self.readers -= 1
        return offsets, array_of(ids)

    def count_many(self, values):
        """What `count` gives for each value. The GIL is released."""
        return self.number_each(values, False)

    def place_many(self, values):
        """In which predicate space each value lies, as a number: the same ranges cover values of one number.

        Numbers hold until the next write. What no range can cover, a boolean or a missing value, has 2**64 - 1. Single
        values that predicates name are no spaces of their own, nor are whole numbers beyond 2**53 that share a double.
        The GIL is released.
        """
        return self.number_each(values, True)

    def spaces(self):
        """The disjoint predicate spaces in order, neighbours with equal ids merged.

        Those of booleans, of numbers, of strings, if there are predicates on such values. RuntimeError if the tree
        changes meanwhile.
        """
        cdef size_t writes = self.writes
        cdef uint32_t slot
        cuts = []  # no set: of cuts at 1 and true it would keep one
        for slot in range(self.links.slot_bound()):
            if self.links.holds(slot):
                cuts.extend(cuts_of(predicate_of(self.links.words(slot).data, self.vocabulary)))
        for family in families(cuts):
            last = None
            for low, high, value in pieces(family):
                if self.writes != writes:
                    raise RuntimeError("the tree changed while its spaces were gone through")
                ids = self.locate(value)
                if last is None:
                    last = low, high, ids
                elif np.array_equal(last[2], ids):
                    last = last[0], high, ids
                else:
                    yield space(*last)
                    last = low, high, ids
            yield space(*last)

    def statistics(self):
        """What the tree is made of."""
        cdef size_t leaves = self.found.numbers().leaf_count() + self.found.strings().leaf_count()
        return {
            "links": self.links.size(),
            "ranges": self.found.numbers().size() + self.found.strings().size(),
            "points": self.found.point_count(),
            "postings": self.found.posting_count(),
            "nodes": leaves - 2,  # of two binary trees
            "leaves": leaves,
        }

    def memory_bytes(self):
        """All that is allocated: the tree, the links with their predicates, and strings."""
        return (
            sizeof(LinkTable) + sizeof(LinkSpaces) + self.links.memory_bytes() + self.found.memory_bytes()
            + self.vocabulary.table.memory_bytes() + self.record.capacity() * sizeof(uint32_t)
        )

    def __len__(self):
        """How many links there are."""
        return self.links.size()

    def __contains__(self, link):
        predicate, id = link
        cdef Expression parsed = parsed_of(predicate)
        self.checked(parsed.words, parsed.vocabulary, self.attribute_id)
        if not self.read(parsed.words, parsed.vocabulary, id_of(id), False):
            return False
        return self.links.find(self.record.data(), <uint32_t>self.record.size()) != NO_LINK

    # Writing.

    cdef const uint32_t* checked(self, const uint32_t* node, Vocabulary vocabulary, StringId attribute) except NULL:
        """The predicate behind its negations, if it is one that the tree can take."""
        cdef const uint32_t* whole = node
        while kind_of(node[0]) == NEGATION:
            node += 1
        if kind_of(node[0]) != PREDICATE:
            raise ValueError(f"a PS-Tree takes one predicate at a time, not {node_text(whole, vocabulary)}")
        relation = operator_of(node[0])
        if relation >= ENDS_WITH:
            raise ValueError(
                f"{_OPERATORS[relation]!r} has no place in a PS-Tree: no order of the values tells where it holds, "
                f"as in {node_text(whole, vocabulary)}"
            )
        if attribute != NO_STRING and vocabulary.table.view(node[1]) != self.vocabulary.table.view(attribute):
            raise ValueError(
                f"this PS-Tree is of the attribute {string_of(attribute, self.vocabulary)!r}, "
                f"but {node_text(whole, vocabulary)} is on another one"
            )
        return node

    cdef int begin_write(self) except -1:
        if self.readers > 0:
            raise IndexBusy(f"the tree cannot be written while it is read, by {self.readers} just now")
        return 0

    cdef StringId own_attribute(self, const uint32_t* node, Vocabulary vocabulary) except? 0:
        """The tree's attribute, else this predicate's."""
        if self.attribute_id != NO_STRING:
            return self.attribute_id
        return self.vocabulary.table.intern(vocabulary.table.view(node[1]))

    cdef int put(self, const uint32_t* node, Vocabulary vocabulary, uint32_t id) except -1:
        """Needs a predicate that was checked, and an attribute."""
        cdef uint32_t slot = NO_LINK
        cdef bint done = False
        self.read(node, vocabulary, id, True)
        cdef size_t count = string_count(self.record.data())
        try:
            if self.links.find(self.record.data(), <uint32_t>self.record.size()) == NO_LINK:
                self.pieces.clear()
                add_pieces(self.record.data(), self.vocabulary.table, self.pieces)
                slot = self.links.insert(self.record.data(), <uint32_t>self.record.size())
                self.found.insert(self.pieces, slot, id)
                self.writes += 1
                done = True
        finally:
            if not done:
                self.release(count)
                if slot != NO_LINK:
                    self.found.erase(self.pieces, slot)
                    self.links.erase(slot)
        return 0

    cdef bint read(self, const uint32_t* node, Vocabulary vocabulary, uint32_t id, bint interned) except -1:
        """Takes a link in hand as a record: without negations and weight, by the tree's own strings.

        False if one of these is not there; or they are interned.
        """
        cdef uint32_t negations = 0
        cdef size_t index, count
        cdef uint32_t* text
        cdef StringId known
        while kind_of(node[0]) == NEGATION:
            negations += 1
            node += 1
        self.record.assign(node, node + predicate_size(node) - (2 if node[0] & WEIGHTED else 0))
        self.record[0] = (self.record[0] & ~<uint32_t>WEIGHTED) ^ (negations & 1) << OPERATOR_SHIFT
        self.record[1] = self.attribute_id
        count = string_count(node)
        for index in range(count):
            text = &self.record[first_string(node) + index]
            if not interned:
                known = self.vocabulary.table.find(vocabulary.table.view(text[0]))
                if known == NO_STRING:
                    return False
            else:
                try:
                    known = self.vocabulary.table.intern(vocabulary.table.view(text[0]))
                except BaseException:
                    self.release(index)
                    raise
            text[0] = known
        self.record.push_back(id)
        return True

    cdef void release(self, size_t count) noexcept nogil:
        """So many strings of the record in hand."""
        cdef size_t index
        for index in range(count):
            self.vocabulary.table.release(self.record[first_string(self.record.data()) + index])

    # Reading.

    cdef int read_value(self, value, Value* held) except -1:
        try:
            held[0] = value_of(value)
        except (OverflowError, TypeError, UnicodeEncodeError):
            check_value(self.attribute or "?", value)
            raise
        return 0

    cdef object number_each(self, values, bint placed):
        """A number for each value: that of its space, or how many predicates hold. The GIL is released."""
        cdef list kept
        cdef vector[Value] asked
        cdef size_t begin, count = len(values)
        found = np.zeros(count, np.uint64)
        cdef uint64_t[::1] numbers = found
        self.readers += 1
        try:
            for begin in range(0, count, VALUES_AT_ONCE):
                kept = []
                self.take(values, begin, count, kept, asked)
                with nogil:
                    if placed:
                        self.place_all(asked, &numbers[begin])
                    else:
                        self.count_all(asked, &numbers[begin])
        finally:
            self.readers -= 1
        return found

    cdef int take(self, values, size_t begin, size_t end, list kept, vector[Value]& asked) except -1:
        """The next values, of those from one place to another: what is found has room for no more."""
        cdef size_t last = min(begin + VALUES_AT_ONCE, end)
        values_of(values[begin:last], self.attribute or "?", kept, asked)
        if asked.size() != last - begin:
            raise ValueError("there are more or fewer values than there were at first")
        return 0

    cdef int append_sorted(self, const Value* value, Hits& hits) except -1 nogil:
        """The ids of all predicates that hold, each once, ascending, as the only hits."""
        cdef vector[uint32_t]* ids = &hits.list(0)
        self.append(value, ids[0])
        hits.sort()
        ids.erase(unique(ids.begin(), ids.end()), ids.end())
        return 0

    cdef int append(self, const Value* value, vector[uint32_t]& ids) except -1 nogil:
        """The ids of all predicates that hold."""
        cdef const PostingList* list
        if value.type == STRING:
            append_string_ids(self.found.strings(), string_view(value.data, value.size), ids)
        elif value.type != BOOLEAN and value.type != NOTHING:
            append_number_ids(self.found.numbers(), key_of_double(double_of(value.number)), ids)
        if self.found.point_count() > 0:
            list = self.point_list(value)
            if list != NULL:
                append_list_ids(list[0], ids)
            self.ask_shared(value, ids)
        return 0

    cdef int append_all(
        self, const vector[Value]& asked, bint ordered, vector[uint32_t]& ids, uint64_t* ends
    ) except -1 nogil:
        """The ids for each, and where they end."""
        cdef Hits hits
        cdef size_t index
        for index in range(asked.size()):
            if ordered:
                hits.begin(1, UINT32_MAX)
                self.append_sorted(&asked[index], hits)
                ids.insert(ids.end(), hits.list(0).begin(), hits.list(0).end())
            else:
                self.append(&asked[index], ids)
            ends[index] = ids.size()
        return 0

    cdef size_t count_of(self, const Value* value) except? 0xFFFFFFFF nogil:
        """How many predicates hold."""
        cdef size_t count = 0
        cdef uint64_t key
        cdef string_view text
        if value.type == STRING:
            text = string_view(value.data, value.size)
            self.found.strings().count_each(&text, 1, &count)
        elif is_number(value[0]):
            key = key_of_double(double_of(value.number))
            self.found.numbers().count_each(&key, 1, &count)
        return count + self.count_points(value)

    cdef int count_all(self, const vector[Value]& asked, uint64_t* counts) except -1 nogil:
        """How many predicates hold for each."""
        cdef vector[uint64_t] keys
        cdef vector[string_view] texts
        cdef vector[size_t] found
        cdef size_t index, number = 0, text = 0
        split_up(asked, keys, texts)
        for index in range(asked.size()):
            if is_number(asked[index]):
                self.found.prefetch(number_point(0, asked[index].number))
                if not is_alone(asked[index].number):
                    self.found.prefetch(shared_key(key_of_double(double_of(asked[index].number))))
        found.resize(keys.size() + texts.size())
        self.found.numbers().count_each(keys.data(), keys.size(), found.data())
        self.found.strings().count_each(texts.data(), texts.size(), found.data() + keys.size())
        for index in range(asked.size()):
            counts[index] = 0
            if asked[index].type == STRING:
                counts[index] = found[keys.size() + text]
                text += 1
            elif is_number(asked[index]):
                counts[index] = found[number]
                number += 1
            counts[index] += self.count_points(&asked[index])
        return 0

    cdef int place_all(self, const vector[Value]& asked, uint64_t* places) except -1 nogil:
        """The number of each value's space."""
        cdef vector[uint64_t] keys, found
        cdef vector[string_view] texts
        cdef size_t index, number = 0, text = 0
        split_up(asked, keys, texts)
        found.resize(keys.size() + texts.size())
        self.found.numbers().place_each(keys.data(), keys.size(), found.data())
        self.found.strings().place_each(texts.data(), texts.size(), found.data() + keys.size())
        for index in range(asked.size()):
            places[index] = UINT64_MAX
            if asked[index].type == STRING:
                places[index] = found[keys.size() + text] | STRING_PLACES
                text += 1
            elif is_number(asked[index]):
                places[index] = found[number]
                number += 1
        return 0

    cdef size_t count_points(self, const Value* value) except? 0xFFFFFFFF nogil:
        """How many hold because of this very value, or have an operand whose key it has and hold."""
        cdef const PostingList* list
        cdef vector[uint32_t] shared
        if self.found.point_count() == 0:
            return 0
        list = self.point_list(value)
        self.ask_shared(value, shared)
        return shared.size() + (0 if list == NULL else list.size())

    cdef const PostingList* point_list(self, const Value* value) noexcept nogil:
        """Of predicates that hold for this very value; NULL if there are none."""
        cdef StringId text
        if value.type == STRING:
            text = self.vocabulary.table.find(string_view(value.data, value.size))
            if text != NO_STRING:
                return self.found.point(small_point(0, STRING, text))
        elif value.type == BOOLEAN:
            return self.found.point(small_point(0, BOOLEAN, <uint32_t>value.number.whole))
        elif value.type != NOTHING:
            return self.found.point(number_point(0, value.number))
        return NULL

    cdef int ask_shared(self, const Value* value, vector[uint32_t]& ids) except -1 nogil:
        """Those that hold and have an operand whose key this value has, too."""
        cdef const PostingList* list
        cdef vector[uint32_t] slots
        cdef uint32_t slot
        cdef Words words
        if value.type == STRING or value.type == BOOLEAN or value.type == NOTHING or is_alone(value.number):
            return 0
        list = self.found.point(shared_key(key_of_double(double_of(value.number))))
        if list == NULL:
            return 0
        append_slots(list[0], slots)
        for slot in slots:
            words = self.links.words(slot)
            if predicate_truth(words.data, value, self.vocabulary.table) == TRUE:
                ids.push_back(words.data[words.size - 1])
        return 0

    cdef str name(self):
        return string_of(self.attribute_id, self.vocabulary)


cdef inline bint is_number(const Value& value) noexcept nogil:
    return value.type != STRING and value.type != BOOLEAN and value.type != NOTHING


cdef inline int split_up(
    const vector[Value]& asked, vector[uint64_t]& keys, vector[string_view]& texts
) except -1 nogil:
    """The keys of the numbers and the texts of the strings among some values, in their order."""
    cdef size_t index
    keys.reserve(asked.size())
    for index in range(asked.size()):
        if asked[index].type == STRING:
            texts.push_back(string_view(asked[index].data, asked[index].size))
        elif is_number(asked[index]):
            keys.push_back(key_of_double(double_of(asked[index].number)))
    return 0


cdef inline size_t first_string(const uint32_t* node) noexcept nogil:
    """Where a predicate's operands begin, if they are strings."""
    return member_at(node, 0) - node


cdef inline size_t string_count(const uint32_t* node) noexcept nogil:
    cdef int relation = operator_of(node[0])
    if first_type(node[0]) != STRING:
        return 0
    return 2 if relation == BETWEEN or relation == NOT_BETWEEN else member_count(node)


cdef Expression parsed_of(predicate):
    if isinstance(predicate, str):
        return parse(predicate)
    if isinstance(predicate, Predicate):
        return parse(predicate_text(predicate))
    if isinstance(predicate, _Expression):
        return predicate
    raise TypeError(f"a predicate is a text, an Expression or a Predicate, not {type(predicate).__name__}")
