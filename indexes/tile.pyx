"""Sixty-four events at once: every answer is a machine word, with a bit for each event.

An attribute's values lie side by side, so a comparison with small whole numbers, strings or booleans takes a few vector
instructions for all of them. `not` needs no third truth value: instead of where a node is true one asks where it is
false, and where it is unknown is in neither answer.
"""

from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

from tamis.indexes.matching cimport Matching
from tamis.indexes.small cimport STANDINGS, is_small
from tamis.indexes.truth cimport FALSE, TRUE, Truth, Value, asks_pattern, is_xnor, predicate_truth
from tamis.indexes.vocabulary cimport NO_STRING, StringId
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, CHAIN, CONJUNCTION, EXISTS, LONG, NEGATION, NOTHING, PREDICATE, SHORT, STRING, Kind, Type,
    count_of, first_child, first_type, kind_of, node_size, operator_of,
)


cdef class Tile(Matching):
    cdef int enter_tile(self, uint32_t first_event, uint32_t count) except -1 nogil:
        cdef uint32_t lane, event
        cdef size_t entry
        cdef StringId attribute
        cdef Column* column
        cdef Type type
        cdef int32_t small
        cdef int64_t whole
        self.first_event = first_event
        self.all = <Lanes>-1 >> (LANE_COUNT - count)
        if self.places.size() < self.cells.size():
            self.places.resize(self.cells.size(), 0)
        for lane in range(count):
            event = self.first + first_event + lane
            for entry in range(self.batch.starts[event], self.batch.starts[event + 1]):
                attribute = self.translated(self.batch.attributes[entry])
                if attribute == NO_STRING:
                    continue
                if self.places[attribute] == 0:
                    self.attributes.push_back(attribute)
                    if self.columns.size() < self.attributes.size():
                        self.columns.resize(self.attributes.size())
                    self.places[attribute] = <uint32_t>self.attributes.size()
                    memset(&self.columns[self.attributes.size() - 1].types[0], 0, 8 * sizeof(Lanes))
                column = &self.columns[self.places[attribute] - 1]
                type = <Type>self.batch.types[entry]
                small = 0
                if type == STRING:
                    small = <int32_t>self.translated(self.batch.strings[entry])
                elif type == BOOLEAN:
                    small = <int32_t>self.batch.values[entry]
                elif type == LONG:
                    memcpy(&whole, &self.batch.values[entry], sizeof(whole))
                    if INT32_MIN <= whole <= INT32_MAX:
                        type = SHORT
                        small = <int32_t>whole
                column.types[<int>type] |= <Lanes>1 << lane
                column.types[<int>NOTHING] |= <Lanes>1 << lane  # where there is any value
                column.small[lane] = small
                column.entries[lane] = <uint32_t>entry
        return 0

    cdef void leave_tile(self) noexcept nogil:
        cdef StringId attribute
        for attribute in self.attributes:
            self.places[attribute] = 0
        self.attributes.clear()

    cdef int lanes(self, const uint32_t* node, Lanes among, bint wanted, Lanes* found) except -1 nogil:
        cdef Kind kind = kind_of(node[0])
        cdef Lanes child
        cdef uint32_t at
        if kind == PREDICATE:
            return self.predicate_lanes(node, among, wanted, found)
        if kind == NEGATION:
            return self.lanes(node + 1, among, not wanted, found)
        if kind == CHAIN:
            return self.chain_lanes(node, among, wanted, found)
        at = first_child(node)
        if (kind == CONJUNCTION) == wanted:  # all children must be what is wanted
            found[0] = among
            for _child in range(count_of(node[0])):
                self.lanes(node + at, found[0], wanted, found)
                if found[0] == 0:
                    break
                at += node_size(node + at)
            return 0
        found[0] = 0
        for _child in range(count_of(node[0])):
            self.lanes(node + at, among & ~found[0], wanted, &child)
            found[0] |= child
            if found[0] == among:
                break
            at += node_size(node + at)
        return 0

    cdef int chain_lanes(self, const uint32_t* node, Lanes among, bint wanted, Lanes* found) except -1 nogil:
        cdef uint32_t at = first_child(node), index
        cdef Lanes holds, fails, right_holds, right_fails
        self.lanes(node + at, among, True, &holds)
        self.lanes(node + at, among & ~holds, False, &fails)
        for index in range(1, count_of(node[0])):
            among = holds | fails  # unknown stays unknown
            if among == 0:
                break
            at += node_size(node + at)
            self.lanes(node + at, among, True, &right_holds)
            self.lanes(node + at, among & ~right_holds, False, &right_fails)
            if is_xnor(node, index):
                right_holds, right_fails = right_fails, right_holds
            holds, fails = holds & right_fails | fails & right_holds, holds & right_holds | fails & right_fails
        found[0] = holds if wanted else fails
        return 0

    cdef int predicate_lanes(self, const uint32_t* node, Lanes among, bint wanted, Lanes* found) except -1 nogil:
        cdef uint32_t header = node[0], place = self.places[node[1]]
        cdef int relation = operator_of(header), type = first_type(header)
        cdef Lanes small, present, others
        cdef const Column* column
        cdef Standing standing
        cdef uint32_t holds
        self.predicates += 1
        if place == 0:
            found[0] = among if relation >= EXISTS and (relation == EXISTS) != wanted else 0
            return 0
        column = &self.columns[place - 1]
        present = column.types[<int>NOTHING]
        if relation >= EXISTS:
            found[0] = among & (present if (relation == EXISTS) == wanted else ~present)
            return 0
        if not is_small(header):
            return self.lanes_one_by_one(node, column, among & present, wanted, found)
        small = among & column.types[type]
        found[0] = 0
        if small != 0:
            standing = standing_of(
                &column.small[0], small, <int32_t>node[2], <int32_t>node[2 + (relation >= BETWEEN)]
            )
            holds = <uint32_t>STANDINGS >> 3 * relation ^ (0 if wanted else 0b111)
            found[0] = small & (
                (~standing.not_below if holds & 1 else 0)
                | (standing.not_below & ~standing.above if holds & 2 else 0)
                | (standing.above if holds & 4 else 0)
            )
        others = among & (present ^ column.types[type])
        if others != 0:
            small = found[0]
            self.lanes_one_by_one(node, column, others, wanted, found)
            found[0] |= small
        return 0

    cdef int lanes_one_by_one(
        self, const uint32_t* node, const Column* column, Lanes among, bint wanted, Lanes* found
    ) except -1 nogil:
        cdef Truth truth = TRUE if wanted else FALSE
        cdef Value value
        cdef int lane
        cdef bint occurs
        found[0] = 0
        while among != 0:
            lane = countr_zero(among)
            among &= among - 1
            value = self.batch.value_at(column.entries[lane])
            if asks_pattern(node, value.type):
                occurs = self.pattern(node[2], column.entries[lane], &value)
                if (occurs != (operator_of(node[0]) & 1)) == wanted:
                    found[0] |= <Lanes>1 << lane
            elif predicate_truth(node, &value, self.strings) == truth:
                found[0] |= <Lanes>1 << lane
        return 0

    cdef size_t memory_bytes(self) noexcept:
        return (
            Matching.memory_bytes(self) + self.places.capacity() * sizeof(uint32_t)
            + self.columns.capacity() * sizeof(Column) + self.attributes.capacity() * sizeof(StringId)
        )
