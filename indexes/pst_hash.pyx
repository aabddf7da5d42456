"""PSTHash (PS-Tree, PVLDB 2018, section 6): two access predicates an expression, and a hash table of pairs of spaces.

An expression whose best predicate holds for many events, of many expressions like it, is found by two: it is put under
each pair of spaces that the two predicates cover (algorithm 6), and an event looks all pairs of its spaces up
(algorithm 7). Spaces of one value are points; ranges take cells, sixteen an attribute, which they cover more or less,
since what is found is tried in any case. Only narrow predicates make pairs, so that an expression has no more than some
of them: with every space of wide ranges a million expressions would make 150 million pairs. All others are found by one
predicate, as the paper does with expressions of less than two.
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.access_index cimport COVER, NEVER, OWN, AccessIndex
from tamis.indexes.access_keys cimport (
    NumberRange, cell_of, column_of, is_cell, operand_point, range_of, space_of_cell,
)
from tamis.indexes.access_lists cimport NO_LIST, AttributeColumn, Cells, ListKey, ListTable, Signature
from tamis.indexes.probe cimport Probe
from tamis.indexes.selectivity cimport presence_of
from tamis.indexes.words cimport (
    BETWEEN, EQUAL, IN, LESS, MISSING, STRING, Type, first_type, operator_of, words_of,
)

# Of how many spaces each of two predicates may be, and of how many pairs both.
cdef uint32_t SPACES_MAX = 6
cdef uint32_t PAIRS_MAX = 18
# What a posting costs an event that comes by, and what an expression costs that it tries, in nanoseconds.
cdef double POSTING_COST = 1
cdef double TRIAL_COST = 50
# What looking one pair up costs.
cdef double LOOKUP_COST = 30
# How many choices what the last ones told is an average of, and after how many lookups are estimated anew.
cdef double CHOICES = 4096
cdef uint32_t ESTIMATE_EVERY = 1024
PAIRS_FROM = 2.0
cdef uint32_t LEAF_BITS = 12
cdef uint32_t LEAF_BOUND = 1 << 12


cdef class PstHash(AccessIndex):
    """Finds expressions by two access predicates where one finds too many.

    `pairs_from` is where that begins: how many times its lookups of pairs an event has to be spared by them.
    """

    name = "pst-hash"

    def __cinit__(self, *args, **options):
        self.pairs = new ListTable()

    def __init__(self, *, pairs_from=PAIRS_FROM):
        self.pairs_from = pairs_from

    def __dealloc__(self):
        del self.pairs

    cdef uint32_t choose_plain(self) except? 0xFFFFFFFE nogil:
        """One predicate or two: which two spare is weighed against the lookups, which all expressions share."""
        cdef uint32_t single = AccessIndex.choose_plain(self), pair
        cdef double spared, finding, lookups = self.lookups()
        if single == NEVER or self.leaves.size() == 1:
            return single
        finding = self.cost_of_finding(single)
        if self.costs[single] * finding * self.store.size() < self.pairs_from * lookups:
            self.spared -= self.spared / CHOICES
            return single
        pair = self.best_pair(single)
        spared = finding * (self.costs[single] - self.cost_of_choice(pair))
        self.spared += (spared - self.spared) / CHOICES
        if self.spared * self.store.size() < self.pairs_from * lookups:
            return single
        return pair

    cdef uint32_t best_pair(self, uint32_t single) except? 0xFFFFFFFE nogil:
        """The two that together are met by the fewest events; the one, if there are none that are met by much fewer."""
        cdef uint32_t first, second, spaces, others, best = single
        cdef size_t count = min(<size_t>LEAF_BOUND, self.leaves.size())
        cdef double least = self.costs[single] / 2
        for first in range(count):
            spaces = self.spaces_of(self.leaves[first])
            if not 0 < spaces <= SPACES_MAX:
                continue
            for second in range(first + 1, count):
                if self.leaves[second][1] == self.leaves[first][1] or (
                    self.costs[first] * self.costs[second] >= least
                ):
                    continue
                others = self.spaces_of(self.leaves[second])
                if 0 < others <= SPACES_MAX and spaces * others <= PAIRS_MAX:
                    least = self.costs[first] * self.costs[second]
                    best = <uint32_t>OWN | second << LEAF_BITS | first
        return best

    cdef double lookups(self) noexcept nogil:
        """What an event costs that looks all pairs of its spaces up: two spaces for each attribute that it may have."""
        cdef AttributeColumn* column
        cdef double spaces = 0
        cdef size_t place
        if self.until_estimate == 0:
            self.until_estimate = ESTIMATE_EVERY
            for place in range(self.lists.column_bound()):
                column = self.lists.column_at(place)
                if column != NULL:
                    spaces += 2 * presence_of(column)
            self.lookups_cost = LOOKUP_COST * spaces * spaces / 2
        self.until_estimate -= 1
        return self.lookups_cost

    cdef double cost_of_finding(self, uint32_t single) noexcept nogil:
        """Of the expression in hand, by an event that meets one of its predicates."""
        cdef double passes = 1
        cdef size_t leaf
        for leaf in range(self.leaves.size()):
            if leaf != single and operator_of(self.leaves[leaf][0]) != MISSING:
                passes *= presence_of(self.lists.column(self.leaves[leaf][1]))
        return POSTING_COST + passes * TRIAL_COST

    cdef uint32_t spaces_of(self, const uint32_t* node) except? 0xFFFFFFFF nogil:
        """How many spaces a predicate takes; 0 if it is none that makes pairs."""
        cdef int relation = operator_of(node[0])
        cdef Cells* cells
        cdef NumberRange keys
        if relation == EQUAL:
            return 1
        if relation == IN:
            return node[2]
        if not LESS <= relation <= BETWEEN or first_type(node[0]) == STRING:
            return 0
        cells = self.lists.column(node[1]).make_cells()
        if cells == NULL:
            return 0
        keys = range_of(node)
        return cells.of_key(keys.end - 1) - cells.of_key(keys.first) + 1

    cdef double cost_of_choice(self, uint32_t choice) noexcept nogil:
        if not is_pair(choice):
            return AccessIndex.cost_of_choice(self, choice)
        return self.costs[left_of(choice)] * self.costs[right_of(choice)]

    cdef int place_chosen(self, uint32_t slot, uint32_t choice) except -1 nogil:
        cdef Signature signature
        cdef uint64_t first, second
        if not is_pair(choice):
            return AccessIndex.place_chosen(self, slot, choice)
        signature = self.signature_of_all()
        self.uncounted = True
        self.read_both(choice, True)
        self.count_uses(self.left, 1)
        self.count_uses(self.right, 1)
        self.uncounted = False
        for first in self.left:
            for second in self.right:
                self.pairs[0][self.pairs.take(key_of(first, second))].insert(slot, signature)
        return 0

    cdef int erase_chosen(self, uint32_t slot, uint32_t choice) except -1 nogil:
        cdef uint64_t first, second
        cdef uint32_t number
        if not is_pair(choice):
            return AccessIndex.erase_chosen(self, slot, choice)
        self.read_both(choice, False)
        for first in self.left:
            for second in self.right:
                number = self.pairs.find(key_of(first, second))
                if number != NO_LIST:
                    self.pairs[0][number].erase(slot)
                    self.pairs.let_go(number)
        self.count_uses(self.left, 0 if self.uncounted else -1)
        self.count_uses(self.right, 0 if self.uncounted else -1)
        self.uncounted = False
        return 0

    cdef int read_both(self, uint32_t choice, bint make) except -1 nogil:
        self.left.clear()
        self.right.clear()
        self.read_spaces(self.leaves[left_of(choice)], &self.left, make)
        self.read_spaces(self.leaves[right_of(choice)], &self.right, make)
        return 0

    cdef int read_spaces(self, const uint32_t* node, vector[uint64_t]* spaces, bint make) except -1 nogil:
        """The spaces of a predicate that makes pairs; points get numbers, if they are to be made."""
        cdef int relation = operator_of(node[0])
        cdef Type type = first_type(node[0])
        cdef const uint32_t* at = node + (3 if relation == IN else 2)
        cdef uint32_t member, cell, number
        cdef Cells* cells
        cdef NumberRange keys
        cdef ListKey point
        if relation == EQUAL or relation == IN:
            for member in range(node[2] if relation == IN else 1):
                point = operand_point(node[1], at + member * words_of(type), type)
                number = self.lists.points.take(point) if make else self.lists.points.find(point)
                if number != NO_LIST:
                    spaces.push_back(number)
            return 0
        cells = self.lists.column(node[1]).cells_or_null()
        keys = range_of(node)
        for cell in range(cells.of_key(keys.first), cells.of_key(keys.end - 1) + 1):
            spaces.push_back(space_of_cell(self.lists.number_of(node[1]), cell))
        return 0

    cdef void count_uses(self, const vector[uint64_t]& spaces, int change) noexcept nogil:
        """One expression more or less; a point that is used for nothing any more goes."""
        cdef size_t index
        cdef uint32_t number
        for index in range(spaces.size()):
            if is_cell(spaces[index]):
                self.lists.column_at(column_of(spaces[index])).cells_or_null().uses[cell_of(spaces[index])] += change
            else:
                number = <uint32_t>spaces[index]
                self.lists.points.add_uses(number, change)
                if change <= 0:
                    self.lists.points.let_go(number)

    cdef int find_more(self, Probe probe) except -1 nogil:
        """Algorithm 7: all pairs of the event's spaces that any expression is under."""
        cdef size_t first, second, count = probe.spaces.size()
        cdef uint32_t number
        for first in range(1, count):
            for second in range(first):
                self.pairs.prefetch(key_of(probe.spaces[first], probe.spaces[second]))
            for second in range(first):
                number = self.pairs.find(key_of(probe.spaces[first], probe.spaces[second]))
                if number != NO_LIST:
                    probe.found.list(self.pairs[0][number])
        return 0

    cdef size_t structure_bytes(self) noexcept:
        return AccessIndex.structure_bytes(self) + self.pairs.memory_bytes()

    cdef dict structure(self):
        return AccessIndex.structure(self) | {"pairs": self.pairs.size()}


cdef inline bint is_pair(uint32_t choice) noexcept nogil:
    return choice & <uint32_t>(COVER | OWN) == OWN


cdef inline uint32_t left_of(uint32_t choice) noexcept nogil:
    return choice & (LEAF_BOUND - 1)


cdef inline uint32_t right_of(uint32_t choice) noexcept nogil:
    return choice >> LEAF_BITS & (LEAF_BOUND - 1)


cdef inline ListKey key_of(uint64_t first, uint64_t second) noexcept nogil:
    return ListKey(min(first, second), max(first, second))
