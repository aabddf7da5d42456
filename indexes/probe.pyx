"""One event at a time: the candidates that it finds, and the trying of them."""

from libc.stdint cimport uint32_t

from tamis.indexes.matching cimport Cell, Matching
from tamis.indexes.small cimport is_small, small_holds
from tamis.indexes.truth cimport TRUE
from tamis.indexes.words cimport (
    CONJUNCTION, EXISTS, MISSING, NOTHING, PREDICATE, count_of, first_child, first_type, kind_of, operator_of,
    predicate_size, node_size,
)


cdef class Probe(Matching):
    cdef bint holds(self, const uint32_t* node) except -1 nogil:
        cdef uint32_t at
        if kind_of(node[0]) == PREDICATE:
            return self.predicate_holds(node)
        if kind_of(node[0]) != CONJUNCTION:
            return self.truth(node) == TRUE
        at = first_child(node)
        for _child in range(count_of(node[0])):
            if kind_of(node[at]) == PREDICATE:
                if not self.predicate_holds(node + at):
                    return False
                at += predicate_size(node + at)
            else:
                if self.truth(node + at) != TRUE:
                    return False
                at += node_size(node + at)
        return True

    cdef bint predicate_holds(self, const uint32_t* node) except -1 nogil:
        cdef const Cell* cell = &self.cells[node[1]]
        cdef int relation = operator_of(node[0])
        if cell.type == NOTHING or relation >= EXISTS:
            return (relation == MISSING) == (cell.type == NOTHING) and relation >= EXISTS
        if cell.type == first_type(node[0]) and is_small(node[0]):
            self.predicates += 1
            return small_holds(node, cell.small)
        return self.predicate(node) == TRUE

    cdef size_t memory_bytes(self) noexcept:
        return Matching.memory_bytes(self) + self.found.memory_bytes()
