"""Finding expressions by access predicates: what PSTBloom and PSTHash have in common.

Of each expression predicates are picked of which one must hold where the expression does (of a conjunction one is
enough), such that few events meet them; the expression is found by those (PS-Tree, 2018, section 5). What it needs
besides is kept with it as a signature: a bit for each attribute that must be there. An event takes the lists that its
values lead to, drops what asks for attributes that it lacks, and tries the rest.
"""

from libc.math cimport INFINITY
from libc.stdint cimport UINT32_MAX, uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.access_finding cimport add_bits, find_point, find_value, point_of, try_all
from tamis.indexes.access_keys cimport double_of, operand_point, upper_bound
from tamis.indexes.access_lists cimport (
    ONE_OF_SEVERAL, AccessLists, AttributeColumn, ListKey, Signature, key_of_double, make_room,
)
from tamis.indexes.access_places cimport place_predicate
from tamis.indexes.batch cimport EventBatch
from tamis.indexes.index cimport Index
from tamis.indexes.matching cimport Matching
from tamis.indexes.normal_form cimport NormalForm
from tamis.indexes.probe cimport Probe
from tamis.indexes.selectivity cimport cost_of
from tamis.indexes.truth cimport Value, number_at
from tamis.indexes.vocabulary cimport NO_STRING, StringId
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, CONJUNCTION, EQUAL, LESS, MISSING, NOT_BETWEEN, PREDICATE, STRING, count_of, first_child,
    first_type, kind_of, operator_of, predicate_size,
)

# Predicates with ends in one leaf of a PS-Tree.
cdef uint32_t LEAF_MAX = 16
# Of an attribute, values that are kept of those that were learned.
cdef size_t SAMPLE = 256
# After so many events the older half of what was learned counts half.
cdef double MEMORY = 16384
# A choice that became this much dearer than the best one is changed.
cdef double WORSE = 2
cdef uint32_t REVIEWED_A_STEP = 64


cdef class AccessIndex(Index):
    """Finds expressions by a predicate of theirs that events seldom meet."""

    def __cinit__(self, *args, **options):
        self.lists = new AccessLists(LEAF_MAX)
        self.form = NormalForm.__new__(NormalForm)
        self.reviewed = UINT32_MAX

    def __dealloc__(self):
        del self.lists

    cdef Matching new_matching(self):
        return Probe.__new__(Probe)

    # Writing.

    cdef int add(self, uint32_t slot) except -1 nogil:
        cdef bint done = False
        if slot >= self.choices.size():
            self.choices.resize(max(<size_t>slot + 1, self.choices.size() + self.choices.size() // 4), NEVER)
        self.read(slot)
        self.use_columns()
        try:
            self.choose(slot)
            done = True
        finally:
            if not done:
                self.leave_columns(self.leaves.size())
        return 0

    cdef int look_ahead(self, uint32_t first, uint32_t end) except -1 nogil:
        """The lists of points, to which a million expressions come in no order."""
        cdef const uint32_t* node
        cdef uint32_t slot
        self.coming.clear()
        for slot in range(first, end):
            if self.read_plain(self.store.words(slot).data):
                for node in self.leaves:
                    if operator_of(node[0]) == EQUAL:
                        self.coming.push_back(operand_point(node[1], node + 2, first_type(node[0])))
        self.lists.points.bring_near(self.coming)
        return 0

    cdef int drop(self, uint32_t slot) except -1 nogil:
        self.read(slot)
        self.take_back(slot, self.choices[slot])
        self.leave_columns(self.leaves.size())
        if self.store.size() == 1:  # it was the last one
            self.choices.clear()
            self.choices.shrink_to_fit()
            self.covers.clear()
            self.free_covers.clear()
            self.free_covers.shrink_to_fit()
        return 0

    cdef int read(self, uint32_t slot) except -1 nogil:
        """Takes an expression in hand: its predicates, without negations."""
        cdef const uint32_t* node = self.store.words(slot).data
        cdef uint32_t leaf
        self.is_plain = self.read_plain(node)
        if not self.is_plain:
            self.form.build(node)
            self.leaves.clear()
            for leaf in range(self.form.leaf_count()):
                self.leaves.push_back(self.form.leaf(leaf))
        return 0

    cdef bint read_plain(self, const uint32_t* node) except -1 nogil:
        """The predicates, if it is one or a conjunction of them; whether it is."""
        cdef uint32_t at
        self.leaves.clear()
        if kind_of(node[0]) == PREDICATE:
            self.leaves.push_back(node)
            return True
        if kind_of(node[0]) != CONJUNCTION:
            return False
        at = first_child(node)
        for _leaf in range(count_of(node[0])):
            if kind_of(node[at]) != PREDICATE:
                return False
            self.leaves.push_back(node + at)
            at += predicate_size(node + at)
        return True

    cdef int use_columns(self) except -1 nogil:
        """The columns of its attributes are there as long as it is."""
        cdef size_t used = 0
        cdef bint done = False
        try:
            while used < self.leaves.size():
                self.lists.use(self.leaves[used][1])
                used += 1
            self.span_columns()
            done = True
        finally:
            if not done:
                self.leave_columns(used)
        return 0

    cdef int span_columns(self) except -1 nogil:
        """Columns know what numbers are asked for."""
        cdef const uint32_t* node
        cdef AttributeColumn* column
        for node in self.leaves:
            if LESS <= operator_of(node[0]) <= NOT_BETWEEN and first_type(node[0]) != STRING:
                column = self.lists.column(node[1])
                column.span(double_of(number_at(node + 2, first_type(node[0]))))
                if operator_of(node[0]) >= BETWEEN:
                    column.span(double_of(upper_bound(node)))
        return 0

    cdef void leave_columns(self, size_t count) noexcept nogil:
        cdef size_t leaf
        for leaf in range(count):
            self.lists.leave(self.leaves[leaf][1])

    cdef int choose(self, uint32_t slot) except -1 nogil:
        """Picks what the expression in hand is found by, and puts it there."""
        cdef uint32_t choice = NEVER
        cdef bint done = False
        self.estimate()
        if self.is_plain:
            choice = self.choose_plain()
        elif self.form.find_cover(self.costs.data()) != INFINITY:
            if self.form.cover_leaves.size() == 1:
                choice = self.form.cover_leaves[0]
            elif self.free_covers.empty():
                make_room(self.free_covers, self.covers.size() + 1)
                self.covers.push_back(self.form.cover_leaves)
                choice = <uint32_t>COVER | <uint32_t>(self.covers.size() - 1)
            else:
                choice = <uint32_t>COVER | self.free_covers.back()
                self.covers[self.free_covers.back()].assign(
                    self.form.cover_leaves.begin(), self.form.cover_leaves.end()
                )
                self.free_covers.pop_back()
        try:
            self.place_chosen(slot, choice)
            self.choices[slot] = choice
            done = True
        finally:
            if not done:
                self.take_back(slot, choice)
        return 0

    cdef int estimate(self) except -1 nogil:
        """What finding the expression in hand by each of its predicates costs."""
        cdef size_t leaf
        self.costs.clear()
        for leaf in range(self.leaves.size()):
            self.costs.push_back(cost_of(self.lists, self.leaves[leaf]))
        return 0

    cdef uint32_t choose_plain(self) except? 0xFFFFFFFE nogil:
        """The cheapest predicate of a conjunction."""
        cdef size_t leaf
        cdef uint32_t best = NEVER
        cdef double least = INFINITY
        for leaf in range(self.costs.size()):
            if self.costs[leaf] < least:
                least = self.costs[leaf]
                best = <uint32_t>leaf
        return best

    cdef int place_chosen(self, uint32_t slot, uint32_t choice) except -1 nogil:
        cdef size_t index
        cdef uint64_t flag
        cdef Signature signature
        cdef vector[Signature] signatures
        if self.is_plain or choice == NEVER:
            signature = self.signature_of_all() if self.is_plain else Signature(0, 0)
            if choice == NEVER:
                self.lists.always.insert(slot, signature)
            else:
                place_predicate(self.lists, self.vocabulary.table, self.leaves[choice], slot, signature, True)
            return 0
        self.first_bits.clear()
        self.second_bits.clear()
        for index in range(self.leaves.size()):
            signature = self.bits_of(self.leaves[index])
            self.first_bits.push_back(signature.first)
            self.second_bits.push_back(signature.second)
        self.form.mark_cover(self.first_bits.data())
        flag = ONE_OF_SEVERAL if self.form.cover_leaves.size() > 1 else 0
        for index in range(self.form.cover_leaves.size()):
            signatures.push_back(Signature(self.form.cover_bits[index] | flag, 0))
        self.form.mark_cover(self.second_bits.data())
        for index in range(self.form.cover_leaves.size()):
            signatures[index].second = self.form.cover_bits[index]
            place_predicate(
                self.lists, self.vocabulary.table, self.leaves[self.form.cover_leaves[index]], slot, signatures[index],
                True,
            )
        return 0

    cdef Signature signature_of_all(self) noexcept nogil:
        """Of a conjunction."""
        cdef Signature signature = Signature(0, 0)
        cdef const uint32_t* node
        for node in self.leaves:
            add_bits(&signature, self.bits_of(node))
        return signature

    cdef Signature bits_of(self, const uint32_t* node) noexcept nogil:
        """What an event must have for a predicate to be true."""
        cdef int relation = operator_of(node[0])
        if relation == MISSING:
            return Signature(0, 0)
        if relation == EQUAL:
            return self.lists.bits_of_point(node[1], operand_point(node[1], node + 2, first_type(node[0])))
        return self.lists.bits_of_any(node[1])

    cdef int take_back(self, uint32_t slot, uint32_t choice) except -1 nogil:
        """What was placed, or begun to be; without memory for that the index is broken."""
        cdef bint before = self.broken
        self.broken = True
        self.erase_chosen(slot, choice)
        self.broken = before
        return 0

    cdef int erase_chosen(self, uint32_t slot, uint32_t choice) except -1 nogil:
        cdef uint32_t leaf
        if choice == NEVER:
            self.lists.always.erase(slot)
        elif choice & COVER:
            for leaf in self.covers[choice ^ COVER]:
                place_predicate(self.lists, self.vocabulary.table, self.leaves[leaf], slot, Signature(0, 0), False)
            self.covers[choice ^ COVER].clear()
            self.covers[choice ^ COVER].shrink_to_fit()
            self.free_covers.push_back(choice ^ COVER)
        else:
            place_predicate(self.lists, self.vocabulary.table, self.leaves[choice], slot, Signature(0, 0), False)
        return 0

    # Matching.

    cdef int search(self, Matching matching) except -1:
        cdef Probe probe = matching
        cdef uint32_t event = 0
        with nogil:
            while event < probe.hits.events():
                self.find(probe, event)
                event += 1
        return 0

    cdef int find(self, Probe probe, uint32_t event) except -1 nogil:
        """All that one event satisfies."""
        cdef size_t entry, begin = probe.batch.starts[probe.first + event]
        cdef size_t end = probe.batch.starts[probe.first + event + 1]
        cdef Signature signature = Signature(0, 0)
        cdef StringId attribute
        cdef ListKey point
        probe.enter(event)
        probe.points.clear()
        probe.spaces.clear()
        for entry in range(begin, end):
            attribute = probe.translated(probe.batch.attributes[entry])
            if attribute != NO_STRING and self.lists.column(attribute) != NULL:
                point = point_of(probe, attribute, entry)
                probe.points.push_back(point)
                add_bits(&signature, self.lists.bits_of_value(attribute, point))
        probe.found.begin(signature)
        for point in probe.points:
            find_point(self.lists, probe, point)
        for entry in range(begin, end):
            attribute = probe.translated(probe.batch.attributes[entry])
            if attribute != NO_STRING:
                find_value(self.lists, probe, attribute, entry)
        probe.found.list(self.lists.always)
        self.find_more(probe)
        probe.found.end()
        try_all(self.store, probe, event, probe.found.single)
        try_all(self.store, probe, event, probe.found.several)
        probe.leave(event)
        return 0

    cdef int find_more(self, Probe probe) except -1 nogil:
        return 0

    # Learning.

    cdef int adapt(self, EventBatch batch) except -1:
        cdef Probe probe = Probe.__new__(Probe)
        cdef AttributeColumn* column
        cdef size_t place, entry, count = batch.size()
        cdef StringId attribute
        probe.begin(batch, self.vocabulary, 0, 1)
        with nogil:
            for place in range(self.lists.column_bound()):
                column = self.lists.column_at(place)
                if column != NULL:
                    column.remember(count, MEMORY, SAMPLE // 2)
            for entry in range(batch.attributes.size()):
                attribute = probe.translated(batch.attributes[entry])
                column = self.lists.column(attribute) if attribute != NO_STRING else NULL
                if column != NULL:
                    self.learn_value(probe, column, entry)
            for place in range(self.lists.column_bound()):
                column = self.lists.column_at(place)
                if column != NULL:
                    column.settle(SAMPLE)
            self.reviewed = 0
        return 0

    cdef int learn_value(self, Probe probe, AttributeColumn* column, size_t entry) except -1 nogil:
        cdef Value value = probe.batch.value_at(entry)
        column.present += 1
        if value.type == STRING:
            column.point_codes.push_back(probe.translated(probe.batch.strings[entry]))
        elif value.type == BOOLEAN:
            column.point_codes.push_back(<uint64_t>value.number.whole)
        else:
            column.number_keys.push_back(key_of_double(double_of(value.number)))
        return 0

    cdef bint tidy(self) except -1:
        with nogil:
            return self.review(REVIEWED_A_STEP)

    cdef bint review(self, uint32_t steps) except -1 nogil:
        """Looks at some choices again, in the light of what was learned; whether there are more to be looked at."""
        cdef uint32_t bound = min(self.store.slot_bound(), <uint32_t>self.choices.size())
        cdef uint32_t slot
        while steps > 0 and self.reviewed < bound:
            slot = self.reviewed
            self.reviewed += 1
            steps -= 1
            if not self.store.holds(slot):
                continue
            self.read(slot)
            if self.is_worse(slot):
                self.take_back(slot, self.choices[slot])
                self.choices[slot] = NEVER
                self.broken = True  # until it is found by something again
                self.choose(slot)
                self.broken = False
                self.moved += 1
        return self.reviewed < bound

    cdef bint is_worse(self, uint32_t slot) except -1 nogil:
        """Whether the expression in hand would better be found by something else."""
        cdef uint32_t choice = self.choices[slot]
        cdef double best
        if choice == NEVER:
            return False
        self.estimate()
        best = self.cost_of_choice(self.choose_plain()) if self.is_plain else self.form.find_cover(self.costs.data())
        return self.cost_of_choice(choice) > best * WORSE

    cdef double cost_of_choice(self, uint32_t choice) noexcept nogil:
        cdef uint32_t leaf
        cdef double cost = 0
        if not choice & COVER:
            return self.costs[choice]
        for leaf in self.covers[choice ^ COVER]:
            cost += self.costs[leaf]
        return cost

    # Reports.

    cdef size_t structure_bytes(self) noexcept:
        cdef size_t bytes = (
            self.lists.memory_bytes() + (self.choices.capacity() + self.free_covers.capacity()) * sizeof(uint32_t)
            + self.covers.size() * sizeof(vector[uint32_t])
        )
        for index in range(self.covers.size()):
            bytes += self.covers[index].capacity() * sizeof(uint32_t)
        return bytes

    cdef dict structure(self):
        cdef AttributeColumn* column
        cdef size_t place, columns = 0, ranges = 0, leaves = 0
        for place in range(self.lists.column_bound()):
            column = self.lists.column_at(place)
            if column != NULL:
                columns += 1
                ranges += column.range_count()
                leaves += column.leaf_count()
        return {
            "attributes": columns,
            "points": self.lists.points.size(),
            "ranges": ranges,
            "leaves": leaves,
            "always": self.lists.always.size(),
            "moved": self.moved,
        }
