"""A batch before an index: the event in hand as cells, and what any expression says of it, without the GIL."""

from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.utility cimport pair

from tamis.indexes.errors import StaleBatchError
from tamis.indexes.patterns import matches

from tamis.indexes.batch cimport EventBatch
from tamis.indexes.printing cimport string_of
from tamis.indexes.small cimport HOLDS, UNCLEAR, Cell, Quick, quick_look
from tamis.indexes.truth cimport (
    FALSE, TRUE, Truth, Value, asks_pattern, before_children, decides, negated, predicate_truth,
)
from tamis.indexes.vocabulary cimport NO_STRING, StringId, Vocabulary
from tamis.indexes.words cimport (
    BOOLEAN, LONG, NEGATION, NOTHING, PREDICATE, SHORT, STRING, WEIGHTED, Kind, count_of,
    double_at, first_child, kind_of, node_size, operator_of, predicate_size,
)

# Answers of regular expressions that are kept within a batch.
cdef size_t PATTERNS_KEPT = 1 << 20
cdef Cell EMPTY = Cell(NOTHING, 0, 0)


cdef class Matching:
    cdef int begin(self, EventBatch batch, Vocabulary vocabulary, uint32_t first, uint64_t ids_max) except -1:
        cdef StringId id, bound = vocabulary.table.id_bound()
        self.translates = batch.vocabulary is not vocabulary
        if batch.bound:
            if self.translates:
                raise ValueError("the batch was made with the vocabulary of another index")
            if batch.generation != vocabulary.table.generation():
                raise StaleBatchError(
                    "expressions came or went since the batch was made with the index's vocabulary: make it again"
                )
        self.batch = batch
        self.vocabulary = vocabulary
        self.strings = vocabulary.table
        self.first = first
        self.expressions = self.predicates = 0
        self.cells.resize(bound, EMPTY)
        if not batch.weights.empty():
            self.attribute_weights.resize(bound, 1.0)
        self.translation.clear()
        if self.translates:
            for id in range(batch.vocabulary.table.id_bound()):
                self.translation.push_back(vocabulary.table.find(batch.vocabulary.table.view(id)))
        self.hits.begin(batch.size() - first, ids_max)
        return 0

    cdef int end(self) except -1:
        self.hits.end()
        self.patterns.clear()
        self.batch = None
        return 0

    cdef StringId translated(self, StringId id) noexcept nogil:
        return self.translation[id] if self.translates and id != NO_STRING else id

    cdef void enter(self, uint32_t event) noexcept nogil:
        cdef size_t entry
        cdef StringId attribute
        cdef Cell cell
        cdef int64_t whole
        event += self.first
        for entry in range(self.batch.starts[event], self.batch.starts[event + 1]):
            attribute = self.translated(self.batch.attributes[entry])
            if attribute == NO_STRING:
                continue
            cell.type = self.batch.types[entry]
            cell.small = 0
            cell.entry = <uint32_t>entry
            if cell.type == STRING:
                cell.small = <int32_t>self.translated(self.batch.strings[entry])
            elif cell.type == BOOLEAN:
                cell.small = <int32_t>self.batch.values[entry]
            elif cell.type == LONG:
                memcpy(&whole, &self.batch.values[entry], sizeof(whole))
                if INT32_MIN <= whole <= INT32_MAX:
                    cell.type = SHORT
                    cell.small = <int32_t>whole
            self.cells[attribute] = cell
        if not self.batch.weights.empty():
            for entry in range(self.batch.weight_starts[event], self.batch.weight_starts[event + 1]):
                attribute = self.translated(self.batch.weight_attributes[entry])
                if attribute != NO_STRING:
                    self.attribute_weights[attribute] = self.batch.weights[entry]

    cdef void leave(self, uint32_t event) noexcept nogil:
        cdef size_t entry
        cdef StringId attribute
        event += self.first
        for entry in range(self.batch.starts[event], self.batch.starts[event + 1]):
            attribute = self.translated(self.batch.attributes[entry])
            if attribute != NO_STRING:
                self.cells[attribute].type = NOTHING
        if not self.batch.weights.empty():
            for entry in range(self.batch.weight_starts[event], self.batch.weight_starts[event + 1]):
                attribute = self.translated(self.batch.weight_attributes[entry])
                if attribute != NO_STRING:
                    self.attribute_weights[attribute] = 1.0

    cdef bint holds(self, const uint32_t* node) except -1 nogil:
        cdef Quick quick = quick_look(self.cells.data(), node, &self.predicates)
        return quick == HOLDS if quick != UNCLEAR else self.truth(node) == TRUE

    cdef int truth(self, const uint32_t* node) except -1 nogil:
        cdef Kind kind = kind_of(node[0])
        cdef Truth result
        cdef uint32_t index, at
        if kind == PREDICATE:
            return self.predicate(node)
        if kind == NEGATION:
            return negated(<Truth>self.truth(node + 1))
        at = first_child(node)
        result = before_children(kind)
        for index in range(count_of(node[0])):
            if decides(node, index, <Truth>self.truth(node + at), &result):
                break
            at += node_size(node + at)
        return result

    cdef int predicate(self, const uint32_t* node) except -1 nogil:
        cdef const Cell* cell = &self.cells[node[1]]
        cdef Value value
        cdef bint found
        self.predicates += 1
        if cell.type == NOTHING:
            value.type = NOTHING
        else:
            value = self.batch.value_at(cell.entry)
            if asks_pattern(node, value.type):
                found = self.pattern(node[2], cell.entry, &value)
                return TRUE if found != (operator_of(node[0]) & 1) else FALSE
        return predicate_truth(node, &value, self.strings)

    cdef int pattern(self, StringId pattern, uint32_t entry, const Value* value) except -1 nogil:
        """Whether it occurs in the entry's string: asked once in a batch for each string that has an id."""
        cdef StringId string = self.batch.strings[entry]
        # A batch of its own vocabulary has an id for each string, any other counts entries instead.
        cdef uint64_t key = <uint64_t>pattern << 32 | (entry if self.batch.bound else string)
        cdef bint found
        if self.patterns.count(key) > 0:
            return self.patterns[key]
        with gil:
            found = matches(string_of(pattern, self.vocabulary), value.data[:value.size])
        if self.patterns.size() >= PATTERNS_KEPT:
            self.patterns.clear()
        self.patterns.insert(pair[uint64_t, bint](key, found))
        return found

    cdef double score(self, const uint32_t* node) except? -1 nogil:
        cdef double total = 0
        self.add_score(node, False, &total)
        return total

    cdef int add_score(self, const uint32_t* node, bint inverted, double* total) except -1 nogil:
        cdef uint32_t at
        cdef double weight
        if kind_of(node[0]) == NEGATION:
            return self.add_score(node + 1, not inverted, total)
        if kind_of(node[0]) != PREDICATE:
            at = first_child(node)
            for _child in range(count_of(node[0])):
                self.add_score(node + at, inverted, total)
                at += node_size(node + at)
        elif self.predicate(node) == (FALSE if inverted else TRUE):
            weight = double_at(node + predicate_size(node) - 2) if node[0] & WEIGHTED else 1.0
            if not self.batch.weights.empty():
                weight *= self.attribute_weights[node[1]]
            total[0] += weight
        return 0

    cdef size_t memory_bytes(self) noexcept:
        return (
            self.cells.capacity() * sizeof(Cell) + self.attribute_weights.capacity() * sizeof(double)
            + self.translation.capacity() * sizeof(StringId) + self.hits.memory_bytes()
        )
