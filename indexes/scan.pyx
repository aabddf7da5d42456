"""The engine without an index: it asks every expression, and so is the oracle for all others.

Expressions are read where they are stored, one after the other; there is no structure beside them, so insertion and
deletion cost nothing more. A segment of 256 KiB is asked for all events of the batch before the next one: it stays in
the cache. In conjunctions of comparisons with small whole numbers, strings or booleans, which most subscriptions are,
a predicate takes a load and a few instructions without a branch on its operator.
"""

from libc.stdint cimport int32_t, uint32_t, uint64_t

from tamis.indexes.index cimport Index
from tamis.indexes.matching cimport Cell, Matching
from tamis.indexes.store cimport DEAD, RECORD_HEADER, Base, WordSegments
from tamis.indexes.truth cimport TRUE
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, CONJUNCTION, NOT_BETWEEN, NOT_EQUAL, PREDICATE, SHORT, STRING, count_of, first_type,
    kind_of, node_size, operator_of, predicate_size, second_type,
)

# Expressions of a mapped snapshot that are asked for all events before the next ones.
cdef uint32_t BASE_BLOCK = 4096
# Three bits an operator, from EQUAL to NOT_BETWEEN: whether it holds below, within and above its bounds.
cdef uint64_t HOLDS = (
    0b010 | 0b101 << 3 | 0b001 << 6 | 0b110 << 9 | 0b011 << 12 | 0b100 << 15 | 0b010 << 18 | 0b101 << 21
)


cdef class Scan(Index):
    """Asks every expression about every event."""

    name = "scan"

    cdef int search(self, Matching matching) except -1 nogil:
        cdef const WordSegments* segments = &self.store.segments()
        cdef uint32_t index, first = 0, based = self.store.base().count
        while first < based:
            self.scan_base(matching, first, min(first + BASE_BLOCK, based))
            first += BASE_BLOCK
        for index in range(segments.count()):
            if segments.words(index) != NULL:
                self.scan_segment(matching, segments, index)
        return 0

    cdef int scan_base(self, Matching matching, uint32_t first, uint32_t end) except -1 nogil:
        cdef const Base* base = &self.store.base()
        cdef uint32_t event = 0, position
        while event < matching.hits.events():
            matching.enter(event)
            for position in range(first, end):
                if self.store.holds_base(position) and holds(matching, base.words + base.starts[position]):
                    matching.hits.add(event, self.store.id(position))
                    if event >= matching.hits.events():
                        break
            matching.leave(event)
            event += 1
        return 0

    cdef int scan_segment(self, Matching matching, const WordSegments* segments, uint32_t index) except -1 nogil:
        cdef const uint32_t* words = segments.words(index)
        cdef uint32_t event = 0, at, used = segments[0][index].used
        while event < matching.hits.events():
            matching.enter(event)
            at = 0
            while at < used:
                if words[at] != DEAD and holds(matching, words + at + RECORD_HEADER):
                    matching.hits.add(event, self.store.id(words[at]))
                    if event >= matching.hits.events():
                        break
                at += RECORD_HEADER + words[at + 1]
            matching.leave(event)
            event += 1
        return 0


cdef inline bint holds(Matching matching, const uint32_t* node) except -1 nogil:
    cdef uint32_t index, at, count
    matching.expressions += 1
    if kind_of(node[0]) == PREDICATE:
        return predicate_holds(matching, node)
    if kind_of(node[0]) != CONJUNCTION:
        return matching.truth(node) == TRUE
    count = count_of(node[0])
    at = 2
    for index in range(count):
        if kind_of(node[at]) == PREDICATE:
            if not predicate_holds(matching, node + at):
                return False
            at += predicate_size(node + at)
        else:
            if matching.truth(node + at) != TRUE:
                return False
            at += node_size(node + at)
    return True


cdef inline bint predicate_holds(Matching matching, const uint32_t* node) except -1 nogil:
    cdef const Cell* cell = &matching.cells[node[1]]
    cdef uint32_t header = node[0]
    cdef int relation
    cdef int32_t low, high
    if cell.type != first_type(header) or not is_small(header):
        # EXISTS of a value and MISSING of none come here, too.
        return matching.predicate(node) == TRUE
    relation = operator_of(header)
    matching.predicates += 1
    low = <int32_t>node[2]
    high = <int32_t>node[2 + (relation >= BETWEEN)]
    return HOLDS >> (3 * relation + (cell.small >= low) + (cell.small > high)) & 1


cdef inline bint is_small(uint32_t header) noexcept nogil:
    """Whether 32 bits of a value of the operands' type say all that the predicate asks."""
    cdef int relation = operator_of(header)
    if first_type(header) == SHORT:
        return relation < BETWEEN or relation <= NOT_BETWEEN and second_type(header) == SHORT
    return relation <= NOT_EQUAL and (first_type(header) == STRING or first_type(header) == BOOLEAN)
