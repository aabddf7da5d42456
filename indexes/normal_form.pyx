"""Expressions without negations: what engines index.

`not` moves to the predicates, whose operators turn around, so an expression becomes a graph of `and` and `or` over
distinct predicates. There false and unknown need not be told apart: it is true exactly where the expression is. `xor`
and `xnor` need both polarities of their operands; each part of the expression is there at most once in each, so the
graph is never much larger than the text.

From it come the two things that engines put into their structures. `split` writes it as clauses, conjunctions of which
one must be true, if they are few. `find_cover` picks predicates of which at least one is true wherever the expression
is: of an `and` those of its cheapest child, of an `or` those of all its children.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.algorithm cimport binary_search, includes, sort, unique
from libcpp.vector cimport vector

from tamis.indexes.expressions cimport Expression
from tamis.indexes.printing cimport predicate_of
from tamis.indexes.truth cimport is_xnor
from tamis.indexes.words cimport (
    CHAIN, CONJUNCTION, DISJUNCTION, NEGATION, OPERATOR_SHIFT, PREDICATE, WEIGHTED, Kind, count_of, first_child,
    kind_of, node_size, predicate_size,
)

cdef uint32_t NONE = 0xFFFFFFFF
cdef int POSITIVE = 1
cdef int NEGATIVE = 2


cdef inline uint32_t place(Part part) noexcept nogil:
    """Of an inner part, among the nodes."""
    return part & ~<uint32_t>INNER


cdef inline uint32_t hash_of(const uint32_t* words, uint32_t count, uint32_t seed) noexcept nogil:
    cdef uint64_t hash = <uint64_t>seed << 32 | count
    cdef uint32_t index
    for index in range(count):
        hash = (hash ^ words[index]) * <uint64_t>0x9E3779B97F4A7C15
        hash ^= hash >> 29
    return <uint32_t>(hash >> 20)


@cython.final
cdef class NormalForm:
    """The negation-free form of one expression.

    Its parts are numbered: first the distinct predicates, then the nodes, children before parents.
    """

    def __init__(self, Expression expression not None):
        self.expression = expression
        self.build(expression.words)

    @property
    def predicates(self) -> tuple:
        """Without weights, turned around where `not`s enclose them."""
        return tuple([predicate_of(self.leaf(index), self.expression.vocabulary) for index in range(self.leaf_count())])

    @property
    def nodes(self) -> tuple:
        """What each node joins its parts by, `and` or `or`; none if the whole is one predicate."""
        nodes = []
        for inner in self.inners:
            parts = tuple([self.number(self.children[inner.first + child]) for child in range(inner.count)])
            nodes.append(("and" if inner.kind == CONJUNCTION else "or", parts))
        return tuple(nodes)

    @property
    def root(self) -> int:
        """The number of the part that is the whole."""
        return self.number(self.root_part)

    def clauses(self, clauses_max=16):
        """Conjunctions of predicates, by their numbers, of which one holds where the expression does; None if many."""
        if not self.split(clauses_max):
            return None
        starts = list(self.clause_starts)
        leaves = list(self.clause_leaves)
        return [tuple(leaves[start:end]) for start, end in zip(starts, starts[1:])]

    def cover(self, costs):
        """Predicates, by their numbers, of which one holds where the expression does; of little cost altogether.

        `costs` has one for each predicate, infinite if it may not be in the cover; None if there is no cover.
        """
        cdef vector[double] leaf_costs = costs
        if leaf_costs.size() != self.leaf_count():
            raise ValueError(f"there are {self.leaf_count()} predicates, but {leaf_costs.size()} costs")
        if self.find_cover(leaf_costs.data()) == INFINITY:
            return None
        return tuple(self.cover_leaves)

    cdef uint32_t number(self, Part part) noexcept:
        return self.leaf_count() + place(part) if part & INNER else part

    cdef uint32_t leaf_count(self) noexcept nogil:
        return <uint32_t>(self.starts.size() - 1)

    cdef const uint32_t* leaf(self, uint32_t index) noexcept nogil:
        return self.words.data() + self.starts[index]

    cdef uint32_t leaf_size(self, uint32_t index) noexcept nogil:
        return self.starts[index + 1] - self.starts[index]

    cdef int build(self, const uint32_t* node) except -1 nogil:
        cdef Pair whole
        # Filled by `resize` here and below: of `assign` Cython does not know that it may find no memory.
        self.words.clear()
        self.starts.clear()
        self.starts.resize(1, 0)
        self.inners.clear()
        self.children.clear()
        self.buckets.clear()
        self.buckets.resize(16, NONE)
        self.inner_buckets.clear()
        self.inner_buckets.resize(16, NONE)
        self.make(node, POSITIVE, &whole)
        self.root_part = whole.positive
        return 0

    cdef int make(self, const uint32_t* node, int wanted, Pair* made) except -1 nogil:
        cdef Kind kind = kind_of(node[0])
        cdef Pair found
        cdef vector[Part] positives, negatives
        cdef uint32_t at
        made[0] = Pair(NONE, NONE)
        if kind == PREDICATE:
            if wanted & POSITIVE:
                made.positive = self.leaf_part(node, False)
            if wanted & NEGATIVE:
                made.negative = self.leaf_part(node, True)
            return 0
        if kind == NEGATION:
            self.make(node + 1, (wanted & POSITIVE) << 1 | (wanted & NEGATIVE) >> 1, &found)
            made[0] = Pair(found.negative, found.positive)
            return 0
        if kind == CHAIN:
            return self.make_chain(node, wanted, made)
        at = first_child(node)
        for _child in range(count_of(node[0])):
            self.make(node + at, wanted, &found)
            positives.push_back(found.positive)
            negatives.push_back(found.negative)
            at += node_size(node + at)
        if wanted & POSITIVE:
            self.pending.swap(positives)
            made.positive = self.joined(kind)
        if wanted & NEGATIVE:
            self.pending.swap(negatives)
            made.negative = self.joined(DISJUNCTION if kind == CONJUNCTION else CONJUNCTION)
        return 0

    cdef int make_chain(self, const uint32_t* node, int wanted, Pair* made) except -1 nogil:
        cdef uint32_t at = first_child(node), index, count = count_of(node[0])
        cdef Pair left, right
        cdef int now
        self.make(node + at, POSITIVE | NEGATIVE, &left)
        for index in range(1, count):
            at += node_size(node + at)
            self.make(node + at, POSITIVE | NEGATIVE, &right)
            if is_xnor(node, index):
                right = Pair(right.negative, right.positive)
            now = wanted if index == count - 1 else POSITIVE | NEGATIVE
            made[0] = Pair(NONE, NONE)
            if now & POSITIVE:
                made.positive = self.either(left.positive, right.negative, left.negative, right.positive)
            if now & NEGATIVE:
                made.negative = self.either(left.positive, right.positive, left.negative, right.negative)
            left = made[0]
        return 0

    cdef Part either(self, Part a, Part b, Part c, Part d) except? 0 nogil:
        """(a and b) or (c and d)."""
        cdef Part first, second
        self.pending.clear()
        self.pending.push_back(a)
        self.pending.push_back(b)
        first = self.joined(CONJUNCTION)
        self.pending.clear()
        self.pending.push_back(c)
        self.pending.push_back(d)
        second = self.joined(CONJUNCTION)
        self.pending.clear()
        self.pending.push_back(first)
        self.pending.push_back(second)
        return self.joined(DISJUNCTION)

    cdef Part joined(self, Kind kind) except? 0 nogil:
        """The parts that are pending, in one node: children of its own kind are spliced, and each is there once."""
        cdef size_t index, child, count = self.pending.size()
        cdef Inner inner
        for index in range(count):
            if self.pending[index] & INNER:
                inner = self.inners[place(self.pending[index])]
                if inner.kind == kind:
                    self.pending[index] = self.children[inner.first]
                    for child in range(1, inner.count):
                        self.pending.push_back(self.children[inner.first + child])
        sort(self.pending.begin(), self.pending.end())
        self.pending.erase(unique(self.pending.begin(), self.pending.end()), self.pending.end())
        if self.pending.size() == 1:
            return self.pending[0]
        inner = Inner(kind, <uint32_t>self.children.size(), <uint32_t>self.pending.size())
        self.children.insert(self.children.end(), self.pending.begin(), self.pending.end())
        return self.inner_part(inner)

    cdef Part inner_part(self, Inner inner) except? 0 nogil:
        """The node whose children were added last: an equal one if there is one."""
        cdef uint32_t bucket, known
        cdef size_t bucket_count
        self.inners.push_back(inner)
        bucket = self.inner_bucket(inner)
        known = self.inner_buckets[bucket]
        if known != NONE:
            self.inners.pop_back()
            self.children.resize(inner.first)
            return INNER | known
        known = <uint32_t>(self.inners.size() - 1)
        self.inner_buckets[bucket] = known
        if self.inners.size() * 2 > self.inner_buckets.size():
            bucket_count = self.inner_buckets.size()
            self.inner_buckets.clear()
            self.inner_buckets.resize(bucket_count * 4, NONE)
            for bucket in range(known + 1):
                self.inner_buckets[self.inner_bucket(self.inners[bucket])] = bucket
        return INNER | known

    cdef uint32_t inner_bucket(self, Inner inner) noexcept nogil:
        """Where the node is found, or would be put."""
        cdef uint32_t mask = <uint32_t>(self.inner_buckets.size() - 1), known
        cdef uint32_t bucket = mask & hash_of(self.children.data() + inner.first, inner.count, inner.kind)
        cdef Inner other
        while self.inner_buckets[bucket] != NONE:
            known = self.inner_buckets[bucket]
            other = self.inners[known]
            if other.kind == inner.kind and other.count == inner.count and memcmp(
                self.children.data() + other.first, self.children.data() + inner.first, inner.count * sizeof(Part)
            ) == 0:
                break
            bucket = bucket + 1 & mask
        return bucket

    cdef Part leaf_part(self, const uint32_t* node, bint inverted) except? 0 nogil:
        """The leaf of a predicate: an equal one if there is one, whatever its weight."""
        cdef uint32_t size = predicate_size(node) - (2 if node[0] & WEIGHTED else 0)
        cdef uint32_t start = <uint32_t>self.words.size(), bucket, known, index
        cdef size_t bucket_count
        self.words.insert(self.words.end(), node, node + size)
        self.words[start] = node[0] & ~<uint32_t>WEIGHTED ^ <uint32_t>inverted << OPERATOR_SHIFT
        bucket = self.bucket_of(start, size)
        known = self.buckets[bucket]
        if known != NONE:
            self.words.resize(start)
            return known
        index = self.leaf_count()
        self.starts.push_back(start + size)
        self.buckets[bucket] = index
        if self.starts.size() * 2 > self.buckets.size():
            bucket_count = self.buckets.size()
            self.buckets.clear()
            self.buckets.resize(bucket_count * 4, NONE)
            for known in range(index + 1):
                self.buckets[self.bucket_of(self.starts[known], self.leaf_size(known))] = known
        return index

    cdef uint32_t bucket_of(self, uint32_t start, uint32_t size) noexcept nogil:
        """Where the leaf of these words is found, or would be put."""
        cdef uint32_t mask = <uint32_t>(self.buckets.size() - 1), known
        cdef uint32_t bucket = mask & hash_of(self.words.data() + start, size, 0)
        while self.buckets[bucket] != NONE:
            known = self.buckets[bucket]
            if self.leaf_size(known) == size and memcmp(
                self.leaf(known), self.words.data() + start, size * sizeof(uint32_t)
            ) == 0:
                break
            bucket = bucket + 1 & mask
        return bucket

    cdef uint32_t inverse(self, uint32_t leaf) except? 0 nogil:
        """The leaf of the opposite predicate, or NONE."""
        cdef uint32_t start = <uint32_t>self.words.size(), size = self.leaf_size(leaf), index, found
        for index in range(size):
            self.words.push_back(self.words[self.starts[leaf] + index])
        self.words[start] ^= <uint32_t>1 << OPERATOR_SHIFT
        found = self.buckets[self.bucket_of(start, size)]
        self.words.resize(start)
        return found

    # Clauses.

    cdef bint split(self, uint32_t clauses_max) except -1 nogil:
        cdef vector[vector[uint32_t]] found
        cdef size_t index
        self.clause_leaves.clear()
        self.clause_starts.clear()
        self.clause_starts.resize(1, 0)
        if self.clause_count(clauses_max) > clauses_max:
            return False
        self.expand(self.root_part, &found)
        self.absorb(&found)
        for index in range(found.size()):
            self.clause_leaves.insert(self.clause_leaves.end(), found[index].begin(), found[index].end())
            self.clause_starts.push_back(<uint32_t>self.clause_leaves.size())
        return True

    cdef uint64_t clause_count(self, uint32_t clauses_max) except? 0 nogil:
        """How many clauses the root multiplies out to, counted no further than one above the bound."""
        cdef uint64_t count, of_child, most = <uint64_t>clauses_max + 1
        cdef size_t index
        cdef uint32_t child
        cdef Part part
        self.counts.clear()
        for index in range(self.inners.size()):
            count = 1 if self.inners[index].kind == CONJUNCTION else 0
            for child in range(self.inners[index].count):
                part = self.children[self.inners[index].first + child]
                of_child = self.counts[place(part)] if part & INNER else 1
                count = count * of_child if self.inners[index].kind == CONJUNCTION else count + of_child
                count = min(count, most)
            self.counts.push_back(count)
        return self.counts[place(self.root_part)] if self.root_part & INNER else 1

    cdef int expand(self, Part part, vector[vector[uint32_t]]* found) except -1 nogil:
        """The clauses of a part, without those that contradict themselves."""
        cdef vector[vector[uint32_t]] own, next, product
        cdef vector[uint32_t] clause
        cdef Inner inner
        cdef uint32_t child
        cdef size_t left, right
        found.clear()
        if not part & INNER:
            clause.push_back(part)
            found.push_back(clause)
            return 0
        inner = self.inners[place(part)]
        if inner.kind == DISJUNCTION:
            for child in range(inner.count):
                self.expand(self.children[inner.first + child], &next)
                found.insert(found.end(), next.begin(), next.end())
            return 0
        for child in range(inner.count):  # parts ascend, so the leaves come first
            if self.children[inner.first + child] & INNER:
                break
            clause.push_back(self.children[inner.first + child])
        if not self.contradicts(&clause):
            own.push_back(clause)
        for child in range(<uint32_t>clause.size(), inner.count):
            self.expand(self.children[inner.first + child], &next)
            product.clear()
            for left in range(own.size()):
                for right in range(next.size()):
                    clause.assign(own[left].begin(), own[left].end())
                    clause.insert(clause.end(), next[right].begin(), next[right].end())
                    sort(clause.begin(), clause.end())
                    clause.erase(unique(clause.begin(), clause.end()), clause.end())
                    if not self.contradicts(&clause):
                        product.push_back(clause)
            own.swap(product)
        found.swap(own)
        return 0

    cdef bint contradicts(self, vector[uint32_t]* clause) except -1 nogil:
        cdef size_t index
        for index in range(clause.size()):
            if binary_search(clause.begin(), clause.end(), self.inverse(clause[0][index])):
                return True
        return False

    cdef int absorb(self, vector[vector[uint32_t]]* found) except -1 nogil:
        """Drop the clauses that hold all of another one: where they are true, it is."""
        cdef vector[vector[uint32_t]] kept
        cdef size_t index, other
        cdef bint needed
        for index in range(found.size()):
            needed = True
            for other in range(found.size()):
                if other == index or not holds_all(&found[0][index], &found[0][other]):
                    continue
                # Of two that are equal the first one stays.
                if found[0][index].size() > found[0][other].size() or other < index:
                    needed = False
                    break
            if needed:
                kept.push_back(found[0][index])
        found.swap(kept)
        return 0

    # Covers.

    cdef double find_cover(self, const double* leaf_costs) except -1 nogil:
        cdef double cost, of_child
        cdef size_t index
        cdef uint32_t child
        cdef Part part
        self.costs.clear()
        self.cover_leaves.clear()
        for index in range(self.inners.size()):
            cost = INFINITY if self.inners[index].kind == CONJUNCTION else 0
            for child in range(self.inners[index].count):
                part = self.children[self.inners[index].first + child]
                of_child = self.cost_of(part, leaf_costs)
                cost = min(cost, of_child) if self.inners[index].kind == CONJUNCTION else cost + of_child
            self.costs.push_back(cost)
        cost = self.cost_of(self.root_part, leaf_costs)
        if cost != INFINITY:
            self.collect(leaf_costs)
        return cost

    cdef double cost_of(self, Part part, const double* leaf_costs) noexcept nogil:
        return self.costs[place(part)] if part & INNER else leaf_costs[part]

    cdef int collect(self, const double* leaf_costs) except -1 nogil:
        cdef Inner inner
        cdef uint32_t child
        cdef Part part, best
        self.covered.clear()
        self.covered.resize(self.inners.size(), False)
        self.chosen.clear()
        self.chosen.resize(self.inners.size(), NONE)
        self.pending.clear()
        self.pending.resize(1, self.root_part)
        while not self.pending.empty():
            part = self.pending.back()
            self.pending.pop_back()
            if not part & INNER:
                self.cover_leaves.push_back(part)
                continue
            if self.covered[place(part)]:
                continue
            self.covered[place(part)] = True
            inner = self.inners[place(part)]
            best = self.children[inner.first]
            for child in range(inner.count):
                if inner.kind == DISJUNCTION:
                    self.pending.push_back(self.children[inner.first + child])
                elif self.cost_of(self.children[inner.first + child], leaf_costs) < self.cost_of(best, leaf_costs):
                    best = self.children[inner.first + child]
            if inner.kind == CONJUNCTION:
                self.pending.push_back(best)
                self.chosen[place(part)] = best
        sort(self.cover_leaves.begin(), self.cover_leaves.end())
        self.cover_leaves.erase(
            unique(self.cover_leaves.begin(), self.cover_leaves.end()), self.cover_leaves.end()
        )
        return 0

    cdef int mark_cover(self, const uint64_t* leaf_bits) except -1 nogil:
        cdef Inner inner
        cdef uint64_t bits
        cdef size_t index
        cdef uint32_t child
        cdef Part part
        self.required.clear()
        for index in range(self.inners.size()):
            inner = self.inners[index]
            bits = 0 if inner.kind == CONJUNCTION else <uint64_t>-1
            for child in range(inner.count):
                part = self.children[inner.first + child]
                if inner.kind == CONJUNCTION:
                    bits |= self.required[place(part)] if part & INNER else leaf_bits[part]
                else:
                    bits &= self.required[place(part)] if part & INNER else leaf_bits[part]
            self.required.push_back(bits)
        self.contexts.clear()
        self.contexts.resize(self.inners.size(), <uint64_t>-1)
        self.leaf_contexts.clear()
        self.leaf_contexts.resize(self.leaf_count(), <uint64_t>-1)
        self.narrow(self.root_part, 0)
        for index in range(self.inners.size(), 0, -1):  # parents first
            if not self.covered[index - 1]:
                continue
            inner = self.inners[index - 1]
            bits = self.contexts[index - 1] | self.required[index - 1]
            if inner.kind == CONJUNCTION:
                self.narrow(self.chosen[index - 1], bits)
            else:
                for child in range(inner.count):
                    self.narrow(self.children[inner.first + child], bits)
        self.cover_bits.clear()
        for index in range(self.cover_leaves.size()):
            self.cover_bits.push_back(
                self.leaf_contexts[self.cover_leaves[index]] | leaf_bits[self.cover_leaves[index]]
            )
        return 0

    cdef void narrow(self, Part part, uint64_t bits) noexcept nogil:
        """A part that may be reached in several ways has what it has in all of them."""
        if part & INNER:
            self.contexts[place(part)] &= bits
        else:
            self.leaf_contexts[part] &= bits


cdef inline bint holds_all(vector[uint32_t]* clause, vector[uint32_t]* other) noexcept nogil:
    return includes(clause.begin(), clause.end(), other.begin(), other.end())
