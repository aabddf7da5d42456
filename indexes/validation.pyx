"""Whether words that come from a file are what the parser makes: whoever walks them later checks nothing any more.

Equal words are equal canonical texts, so all that the parser sees to is asked for: spliced connectives, numbers in
their one form, members that ascend, no unused bits.
"""

cimport cython
from libc.math cimport floor, isfinite
from libc.stdint cimport INT32_MAX, INT32_MIN, UINT32_MAX, int64_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.string_view cimport string_view

from tamis.indexes.numbers cimport compared
from tamis.indexes.truth cimport number_at, same_family
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, CHAIN, CONJUNCTION, COUNT_SHIFT, DISJUNCTION, DOUBLE, EQUAL, EXISTS, IN, LONG, MATCHES,
    MISSING, MIXED, NEGATION, NOTHING, PREDICATE, SHORT, STARTS_WITH, STRING, WEIGHTED, Type, chain_bits,
    double_at, first_type, long_at, operator_of, second_type, words_of,
)

# The bound on `Limits.depth`. As in a text, each `not` counts one, and each group.
cdef int DEPTH_MAX = 1000
cdef int NO_PARENT = -1


@cython.final
cdef class Validation:
    cdef bint expression(self, uint64_t start, uint64_t end) except -1 nogil:
        cdef uint64_t ended
        if end <= start:
            return self.refuse("it has no words")
        if end - start >= <uint64_t>1 << 28:
            return self.refuse("it has too many words")
        ended = self.node(start, end, 0, NO_PARENT, True)
        if ended == 0:
            return False
        return ended == end or self.refuse("words are left over behind it")

    cdef uint64_t refuse(self, const char* fault) noexcept nogil:
        self.fault = fault
        return 0

    cdef uint64_t node(self, uint64_t at, uint64_t end, int depth, int parent, bint first) except? 0 nogil:
        cdef uint32_t header, count, index, bits
        cdef uint64_t child
        cdef int kind
        if at >= end:
            return self.refuse("it ends within a node")
        header = self.words[at]
        kind = header & 15
        if kind == PREDICATE:
            return self.predicate(at, end)
        depth += kind == NEGATION or is_grouped(kind, parent, first)
        if depth > DEPTH_MAX:
            return self.refuse("it is nested too deeply")
        if kind == NEGATION:
            if header != NEGATION:
                return self.refuse("a negation has unused bits")
            return self.node(at + 1, end, depth, NEGATION, True)
        if kind != CONJUNCTION and kind != DISJUNCTION and kind != CHAIN:
            return self.refuse("a node is of no kind")
        if kind == parent and (kind != CHAIN or first):
            return self.refuse("a connective is nested in its own kind")
        if end - at < 2:
            return self.refuse("it ends within a node")
        count = header >> COUNT_SHIFT
        if count < 2:
            return self.refuse("a connective has too few operands")
        child = at + 2
        if kind == CHAIN:
            bits = chain_bits(count)
            if end - child < bits:
                return self.refuse("it ends within a node")
            child += bits
            if (count - 1) % 32 and self.words[child - 1] >> (count - 1) % 32:
                return self.refuse("a chain has unused bits")
        for index in range(count):
            child = self.node(child, end, depth, kind, index == 0)
            if child == 0:
                return 0
        if child - at != self.words[at + 1]:
            return self.refuse("a connective tells a wrong size")
        return child

    cdef uint64_t predicate(self, uint64_t at, uint64_t end) except? 0 nogil:
        cdef uint32_t header = self.words[at], count
        cdef Type first = first_type(header), second = second_type(header)
        cdef int relation = operator_of(header), positive = relation & ~1
        cdef uint64_t size
        cdef double weight
        if header >> 16 or relation > MISSING:
            return self.refuse("a predicate has an unknown operator")
        if end - at < 2:
            return self.refuse("it ends within a predicate")
        if positive == EXISTS:
            if first != NOTHING or second != NOTHING:
                return self.refuse("exists or missing has an operand")
        elif positive == BETWEEN:
            if not is_scalar(first) or not is_scalar(second) or first == BOOLEAN or second == BOOLEAN:
                return self.refuse("a range has wrong operands")
            if not same_family(first, second):
                return self.refuse("a range has operands of two families")
        elif second != NOTHING:
            return self.refuse("a predicate has too many operands")
        elif STARTS_WITH <= positive <= MATCHES:
            if first != STRING:
                return self.refuse("a predicate on strings has another operand")
        elif not (first == MIXED and positive == IN or is_scalar(first)):
            return self.refuse("a predicate has no operand")
        elif first == BOOLEAN and positive != EQUAL and positive != IN:
            return self.refuse("booleans have no order")
        size = 2 + words_of(first) + words_of(second) + (2 if header & WEIGHTED else 0)
        if positive == IN:
            if end - at < 3:
                return self.refuse("it ends within a predicate")
            count = self.words[at + 2]
            size = 3 + <uint64_t>count * words_of(first) + (2 if header & WEIGHTED else 0)
        if end - at < size:
            return self.refuse("it ends within a predicate")
        if not self.refer(self.words[at + 1]):
            return 0
        if self.string(self.words[at + 1]).size() == 0:
            return self.refuse("an attribute has no name")
        if positive == IN:
            if not self.members(at + 3, count, first):
                return 0
        elif first != NOTHING:
            if not self.constant(at + 2, first):
                return 0
            if second != NOTHING:
                if not self.constant(at + 2 + words_of(first), second):
                    return 0
                if self.order(at + 2, first, at + 2 + words_of(first), second) > 0:
                    return self.refuse("a range is empty")
        if positive == MATCHES and not self.is_pattern[self.words[at + 2]]:
            self.is_pattern[self.words[at + 2]] = True
            self.patterns.push_back(self.words[at + 2])
        if header & WEIGHTED:
            weight = double_at(self.words + at + size - 2)
            if not isfinite(weight) or weight <= 0 or weight == 1:
                return self.refuse("a weight is not above zero, not finite, or 1")
        return at + size

    cdef bint members(self, uint64_t at, uint32_t count, Type type) noexcept nogil:
        cdef uint32_t index, width = words_of(type), doubles = 0, wide = 0
        cdef uint64_t member
        cdef Type own = type, before = type
        cdef int64_t whole
        if count < 1:
            return self.refuse("a set is empty")
        for index in range(count):
            member = at + <uint64_t>index * width
            if type == MIXED:
                own = <Type>self.words[member]
                if own != LONG and own != DOUBLE:
                    return self.refuse("a set has a member of no type")
                member += 1
            if own == LONG:
                whole = long_at(self.words + member, LONG)
                wide += not INT32_MIN <= whole <= INT32_MAX
            elif not self.constant(member, own):
                return False
            doubles += own == DOUBLE
            if index > 0 and self.order(member - width, before, member, own) >= 0:
                return self.refuse("the members of a set do not ascend")
            before = own
        if type == MIXED and (doubles == 0 or doubles == count) or type == LONG and wide == 0:
            return self.refuse("a set is wider than its members")
        return True

    cdef bint constant(self, uint64_t at, Type type) noexcept nogil:
        cdef int64_t whole
        cdef double real
        if type == STRING:
            return self.refer(self.words[at])
        if type == BOOLEAN and self.words[at] > 1:
            return self.refuse("a boolean is neither false nor true")
        if type == LONG:
            whole = long_at(self.words + at, LONG)
            if INT32_MIN <= whole <= INT32_MAX:
                return self.refuse("a long is wider than it need be")
        if type == DOUBLE:
            real = double_at(self.words + at)
            if not isfinite(real):
                return self.refuse("a double is not finite")
            if -9223372036854775808.0 <= real < 9223372036854775808.0 and floor(real) == real:
                return self.refuse("a double is a long")
        return True

    cdef bint refer(self, uint32_t string) noexcept nogil:
        if string >= self.strings:
            return self.refuse("it mentions a string that is not there")
        if self.references[string] == UINT32_MAX:
            return self.refuse("it mentions a string too often")
        self.references[string] += 1
        return True

    cdef string_view string(self, uint32_t id) noexcept nogil:
        cdef uint64_t start = self.string_starts[id]
        return string_view(self.string_bytes + start, self.string_starts[id + 1] - start)

    cdef int order(self, uint64_t at, Type type, uint64_t other, Type other_type) noexcept nogil:
        cdef string_view a, b
        cdef int sign
        if type != STRING:
            return compared(number_at(self.words + at, type), number_at(self.words + other, other_type))
        a = self.string(self.words[at])
        b = self.string(self.words[other])
        sign = memcmp(a.data(), b.data(), min(a.size(), b.size()))
        return sign if sign != 0 else (a.size() > b.size()) - (a.size() < b.size())


cdef inline bint is_grouped(int kind, int parent, bint first) noexcept nogil:
    """Whether the text of a connective stands in parentheses."""
    if parent == NEGATION:
        return kind == CONJUNCTION or kind == DISJUNCTION or kind == CHAIN
    if parent == CONJUNCTION:
        return kind == DISJUNCTION or kind == CHAIN
    return parent == CHAIN and (kind == DISJUNCTION or kind == CHAIN and not first)


cdef inline bint is_scalar(Type type) noexcept nogil:
    return type == SHORT or type == LONG or type == DOUBLE or type == STRING or type == BOOLEAN
