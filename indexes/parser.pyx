"""From a text to the words of an expression, in one pass and without the GIL.

Operands of one level collect in a frame, a group in brackets opens the next frame, so nothing recurses. A node's header
goes in front of its children once they are all there; nested `and` in `and`, `or` in `or`, and a chain at the left end
of a chain are spliced on the way, so the words are those of the canonical text.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp, memcpy
from libcpp.algorithm cimport sort
from libcpp.string_view cimport string_view

from tamis.indexes.lexer cimport (
    AND, ATTRIBUTE, A_NUMBER, A_STRING, BAD_WEIGHT, BETWEEN_WORD, CLOSE, COMMA, CONTAINS_WORD, EMPTY_RANGE, ENDS,
    EQUALS, EXISTS_WORD, FALSE_WORD, GREATER_EQUALS, GREATER_SIGN, IN_WORD, LESS_EQUALS, LESS_SIGN, MATCHES_WORD,
    MISSING_WORD, MIXED_FAMILIES, NOT, NOT_EQUALS, OPEN, OR, PATTERN_TOO_LONG, RESERVED, RESERVED_NAME, STARTS,
    SYNTAX, THE_END, TOO_DEEP, TOO_LONG, TOO_MANY_MEMBERS, TOO_MANY_PREDICATES, TRUE_WORD, WEIGHT, WITH, XNOR, XOR,
    Lexer, Literal,
)
from tamis.indexes.numbers cimport compared, number_of_long
from tamis.indexes.vocabulary cimport NO_STRING, StringId, Vocabulary
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, CHAIN, CONJUNCTION, CONTAINS, COUNT_SHIFT, DISJUNCTION, DOUBLE, ENDS_WITH, EQUAL, EXISTS,
    FIRST_SHIFT, GREATER, GREATER_EQUAL, IN, LESS, LESS_EQUAL, LONG, MATCHES, MISSING, MIXED, NEGATION, NOT_EQUAL,
    OPERATOR_SHIFT, PREDICATE, SECOND_SHIFT, SHORT, STARTS_WITH, STRING, WEIGHTED, Kind, Type, chain_bits, count_of,
    first_child, kind_of,
)


cdef uint64_t ONE = 1
cdef uint64_t STRINGS = ONE << A_STRING
cdef uint64_t NUMBERS = ONE << A_NUMBER
cdef uint64_t BOOLEANS = ONE << TRUE_WORD | ONE << FALSE_WORD
cdef uint64_t OPERANDS = ONE << ATTRIBUTE | ONE << NOT | ONE << EXISTS_WORD | ONE << MISSING_WORD | ONE << OPEN
cdef uint64_t NEGATABLE = (
    ONE << BETWEEN_WORD | ONE << IN_WORD | ONE << STARTS | ONE << ENDS | ONE << CONTAINS_WORD | ONE << MATCHES_WORD
)
cdef uint64_t COMPARISONS = (
    ONE << EQUALS | ONE << NOT_EQUALS | ONE << LESS_SIGN | ONE << LESS_EQUALS | ONE << GREATER_SIGN
    | ONE << GREATER_EQUALS
)
cdef uint64_t CONNECTIVES = ONE << AND | ONE << OR | ONE << XOR | ONE << XNOR


@cython.final
cdef class Parser(Lexer):
    """Parses one text after the other; strings go to the vocabulary, with a reference for each occurrence."""

    def __cinit__(self, Vocabulary vocabulary not None, limits):
        self.vocabulary = vocabulary
        self.bounds = Bounds(
            limits.text_bytes, limits.predicates, limits.depth, limits.set_members, limits.pattern_characters
        )

    cdef bint parse(self, const char* text, size_t length) except -1 nogil:
        cdef bint done = False
        self.begin(text, length)
        self.pool.clear()
        self.depth = 0
        self.predicates = 0
        self.expected = 0
        self.words.clear()
        self.taken.clear()
        self.patterns.clear()
        self.frames.clear()
        self.connectives.clear()
        if length > self.bounds.text_bytes:
            return self.fail_at(TOO_LONG, self.bounds.text_bytes, length)
        try:
            done = self.run()
        finally:
            if not done:
                self.forget()
        return done

    cdef void forget(self) noexcept nogil:
        cdef StringId id
        for id in self.taken:
            self.vocabulary.table.release(id)
        self.taken.clear()

    cdef bint want(self, uint64_t expected) noexcept nogil:
        self.expected = expected
        if self.symbol == RESERVED and expected >> ATTRIBUTE & 1:
            return self.fail(RESERVED_NAME)
        return self.fail(SYNTAX)

    # Levels: groups, and in each `or`, then chains of `xor` and `xnor`, then `and`, then `not`.

    cdef bint run(self) except -1 nogil:
        self.open_frame()
        if not self.next():
            return False
        while True:
            if not self.operand():
                return False
            while self.symbol == CLOSE and self.frames.size() > 1:
                self.close_frame()
                self.frames.pop_back()
                self.depth -= 1
                self.operand_done()
                self.may_weigh = False
                if not self.next():
                    return False
            if self.symbol == AND:
                self.and_follows()
            elif self.symbol == XOR or self.symbol == XNOR:
                self.chain_follows(self.symbol == XNOR)
            elif self.symbol == OR:
                self.or_follows()
            elif self.symbol == THE_END and self.frames.size() == 1:
                self.close_frame()
                return True
            else:
                return self.want(
                    CONNECTIVES
                    | (ONE << WEIGHT if self.may_weigh else 0)
                    | (ONE << THE_END if self.frames.size() == 1 else ONE << CLOSE)
                )
            if not self.next():
                return False

    cdef bint operand(self) except -1 nogil:
        """The `not`s and brackets before a predicate, and the predicate; the token after it is in hand then."""
        cdef Frame* frame
        while True:
            if self.symbol == NOT:
                self.words.push_back(NEGATION)
                frame = &self.frames.back()
                frame.negations += 1
            elif self.symbol == OPEN:
                self.open_frame()
            else:
                break
            if not self.deepen() or not self.next():
                return False
        if not self.predicate():
            return False
        self.pool.clear()  # and no sooner: an attribute in backticks is in it before its predicate begins
        self.operand_done()
        return True

    cdef bint deepen(self) noexcept nogil:
        self.depth += 1
        return self.depth <= self.bounds.depth or self.fail(TOO_DEEP)

    cdef int open_frame(self) except -1 nogil:
        cdef uint32_t start = <uint32_t>self.words.size()
        self.frames.push_back(Frame(start, 0, start, 0, self.connectives.size(), start, 0, start, 0))

    cdef int operand_done(self) except -1 nogil:
        cdef Frame* frame = &self.frames.back()
        self.depth -= frame.negations
        frame.negations = 0
        if frame.and_count == 0:
            frame.and_count = 1
        else:
            frame.and_count += self.spliced(CONJUNCTION, frame.operand_start)

    cdef int and_follows(self) except -1 nogil:
        cdef Frame* frame = &self.frames.back()
        if frame.and_count == 1:
            frame.and_count = self.spliced(CONJUNCTION, frame.and_start)
        frame.operand_start = <uint32_t>self.words.size()

    cdef int close_conjunction(self) except -1 nogil:
        cdef Frame* frame = &self.frames.back()
        if frame.and_count > 1:
            self.wrap(CONJUNCTION, frame.and_start, frame.and_count)
        frame.and_count = 0
        frame.chain_count += 1

    cdef int chain_follows(self, bint xnor) except -1 nogil:
        cdef Frame* frame = &self.frames.back()
        self.close_conjunction()
        if frame.chain_count == 1:
            frame.chain_count = self.spliced(CHAIN, frame.chain_start)
        self.connectives.push_back(xnor)
        frame.and_start = frame.operand_start = <uint32_t>self.words.size()

    cdef int close_chain(self) except -1 nogil:
        cdef Frame* frame = &self.frames.back()
        self.close_conjunction()
        if frame.chain_count > 1:
            self.wrap(CHAIN, frame.chain_start, frame.chain_count)
            self.connectives.resize(frame.chain_first)
        frame.chain_count = 0
        if frame.or_count == 0:
            frame.or_count = 1
        else:
            frame.or_count += self.spliced(DISJUNCTION, frame.chain_start)

    cdef int or_follows(self) except -1 nogil:
        cdef Frame* frame = &self.frames.back()
        self.close_chain()
        if frame.or_count == 1:
            frame.or_count = self.spliced(DISJUNCTION, frame.or_start)
        frame.chain_start = frame.and_start = frame.operand_start = <uint32_t>self.words.size()

    cdef int close_frame(self) except -1 nogil:
        cdef Frame* frame = &self.frames.back()
        self.close_chain()
        if frame.or_count > 1:
            self.wrap(DISJUNCTION, frame.or_start, frame.or_count)

    cdef uint32_t spliced(self, Kind kind, uint32_t start) except? 0 nogil:
        """How many operands the node there is for an enclosing one of this kind, which takes over its children."""
        cdef const uint32_t* node = &self.words[start]
        cdef uint32_t count, index
        if kind_of(node[0]) != kind:
            return 1
        count = count_of(node[0])
        if kind == CHAIN:
            for index in range(count - 1):
                self.connectives.push_back(node[2 + index // 32] >> index % 32 & 1)
        self.words.erase(self.words.begin() + start, self.words.begin() + start + first_child(node))
        return count

    cdef int wrap(self, Kind kind, uint32_t start, uint32_t count) except -1 nogil:
        cdef uint32_t header = 2 + (chain_bits(count) if kind == CHAIN else 0)
        cdef size_t first = self.frames.back().chain_first
        cdef uint32_t index
        self.words.insert(self.words.begin() + start, header, <uint32_t>0)
        self.words[start] = kind | count << COUNT_SHIFT
        self.words[start + 1] = <uint32_t>(self.words.size() - start)
        if kind == CHAIN:
            for index in range(count - 1):
                self.words[start + 2 + index // 32] |= <uint32_t>self.connectives[first + index] << index % 32

    # Predicates.

    cdef bint predicate(self) except -1 nogil:
        cdef size_t header = self.words.size()
        cdef int relation
        cdef bint negated = False
        self.predicates += 1
        if self.predicates > self.bounds.predicates:
            return self.fail(TOO_MANY_PREDICATES)
        self.words.push_back(PREDICATE)
        if self.symbol == EXISTS_WORD or self.symbol == MISSING_WORD:
            relation = EXISTS if self.symbol == EXISTS_WORD else MISSING
            if not self.next() or not self.attribute(ONE << ATTRIBUTE):
                return False
            self.words[header] |= relation << OPERATOR_SHIFT
            return self.weight(header)
        if not self.attribute(OPERANDS):
            return False
        if self.symbol == NOT:
            negated = True
            if not self.next():
                return False
            if not NEGATABLE >> self.symbol & 1:
                return self.want(NEGATABLE)
        if self.symbol == EQUALS:
            relation = EQUAL
        elif self.symbol == NOT_EQUALS:
            relation = NOT_EQUAL
        elif self.symbol == LESS_SIGN:
            relation = LESS
        elif self.symbol == LESS_EQUALS:
            relation = LESS_EQUAL
        elif self.symbol == GREATER_SIGN:
            relation = GREATER
        elif self.symbol == GREATER_EQUALS:
            relation = GREATER_EQUAL
        elif self.symbol == BETWEEN_WORD:
            relation = BETWEEN
        elif self.symbol == IN_WORD:
            relation = IN
        elif self.symbol == STARTS:
            relation = STARTS_WITH
        elif self.symbol == ENDS:
            relation = ENDS_WITH
        elif self.symbol == CONTAINS_WORD:
            relation = CONTAINS
        elif self.symbol == MATCHES_WORD:
            relation = MATCHES
        else:
            return self.want(COMPARISONS | NEGATABLE | ONE << NOT)
        self.words[header] |= (relation + negated) << OPERATOR_SHIFT
        if not self.next():
            return False
        if relation < BETWEEN:
            if not self.comparison(relation):
                return False
        elif relation == BETWEEN:
            if not self.range_(relation):
                return False
        elif relation == IN:
            if not self.set_(relation):
                return False
        elif not self.string_test(relation):
            return False
        return self.weight(header)

    cdef bint attribute(self, uint64_t expected) except -1 nogil:
        if self.symbol != ATTRIBUTE:
            return self.want(expected)
        self.words.push_back(self.intern(self.name, self.name_size))
        return self.next()

    cdef bint comparison(self, int relation) except -1 nogil:
        cdef uint64_t expected = NUMBERS | STRINGS
        if relation == EQUAL or relation == NOT_EQUAL:
            expected |= BOOLEANS
        cdef size_t header = self.words.size() - 2
        if not self.value(expected):
            return False
        self.words[header] |= self.literal.type << FIRST_SHIFT
        self.put(&self.literal)
        return self.next()

    cdef bint range_(self, int relation) except -1 nogil:
        cdef size_t header = self.words.size() - 2
        cdef Literal low
        if not self.value(NUMBERS | STRINGS):
            return False
        low = self.literal
        if not self.next():
            return False
        if self.symbol != AND:
            return self.want(ONE << AND)
        if not self.next() or not self.value(NUMBERS | STRINGS):
            return False
        if (low.type == STRING) != (self.literal.type == STRING):
            return self.fail(MIXED_FAMILIES)
        low.data = self.pool.data() + low.start
        if before(self.literal, low):
            return self.fail(EMPTY_RANGE)
        self.words[header] |= low.type << FIRST_SHIFT | self.literal.type << SECOND_SHIFT
        self.put(&low)
        self.put(&self.literal)
        return self.next()

    cdef bint set_(self, int relation) except -1 nogil:
        cdef size_t index
        if self.symbol != OPEN:
            return self.want(ONE << OPEN)
        self.members.clear()
        while True:
            if not self.next() or not self.value(NUMBERS | STRINGS | BOOLEANS):
                return False
            if self.members.size() == self.bounds.set_members:
                return self.fail(TOO_MANY_MEMBERS)
            if not self.members.empty() and family_of(self.literal.type) != family_of(self.members[0].type):
                return self.fail(MIXED_FAMILIES)
            self.members.push_back(self.literal)
            if not self.next():
                return False
            if self.symbol == CLOSE:
                break
            if self.symbol != COMMA:
                return self.want(ONE << COMMA | ONE << CLOSE)
        for index in range(self.members.size()):
            self.members[index].data = self.pool.data() + self.members[index].start
        sort(self.members.begin(), self.members.end(), &before)
        self.put_members()
        return self.next()

    cdef bint string_test(self, int relation) except -1 nogil:
        cdef size_t header = self.words.size() - 2
        cdef size_t index, characters
        if relation == STARTS_WITH or relation == ENDS_WITH:
            if self.symbol != WITH:
                return self.want(ONE << WITH)
            if not self.next():
                return False
        if not self.value(STRINGS):
            return False
        if relation == MATCHES:
            characters = 0
            for index in range(self.literal.size):
                characters += (self.literal.data[index] & 0xC0) != 0x80
            if characters > self.bounds.pattern_characters:
                return self.fail(PATTERN_TOO_LONG)
        self.words[header] |= STRING << FIRST_SHIFT
        self.put(&self.literal)
        if relation == MATCHES:
            self.patterns.push_back(Pattern(self.words.back(), self.start, self.at))
        return self.next()

    cdef bint weight(self, size_t header) except -1 nogil:
        cdef double weight
        self.may_weigh = True
        if self.symbol != WEIGHT:
            return True
        self.may_weigh = False
        if not self.next() or not self.value(NUMBERS):
            return False
        weight = self.literal.number.real if self.literal.number.is_double else <double>self.literal.number.whole
        if not weight > 0:
            return self.fail(BAD_WEIGHT)
        if weight != 1:
            self.words[header] |= WEIGHTED
            self.put_wide(&weight)
        return self.next()

    cdef bint value(self, uint64_t expected) except -1 nogil:
        """The token in hand as `literal`; it must be one of those expected."""
        if not expected >> self.symbol & 1:
            return self.want(expected)
        if self.symbol == A_STRING:
            self.literal.data = self.pool.data() + self.literal.start
        elif self.symbol != A_NUMBER:
            self.literal.type = BOOLEAN
            self.literal.number = number_of_long(self.symbol == TRUE_WORD)
        return True

    cdef int put(self, Literal* literal) except -1 nogil:
        if literal.type == STRING:
            self.words.push_back(self.intern(literal.data, literal.size))
        elif literal.type == DOUBLE:
            self.put_wide(&literal.number.real)
        elif literal.type == LONG:
            self.put_wide(&literal.number.whole)
        else:
            self.words.push_back(<uint32_t>literal.number.whole)

    cdef int put_members(self) except -1 nogil:
        """Count, type and members of the set in hand, which is sorted; without duplicates."""
        cdef size_t header = self.words.size() - 2
        cdef size_t index, count = 0
        cdef Type type = self.members[0].type
        for index in range(self.members.size()):
            if index == 0 or before(self.members[count - 1], self.members[index]):
                self.members[count] = self.members[index]
                type = common_type(type, self.members[index].type)
                count += 1
        self.words[header] |= type << FIRST_SHIFT
        self.words.push_back(<uint32_t>count)
        for index in range(count):
            if type == MIXED or type == LONG:
                if self.members[index].type == SHORT:
                    self.members[index].type = LONG
                if type == MIXED:
                    self.words.push_back(self.members[index].type)
            self.put(&self.members[index])

    cdef int put_wide(self, const void* value) except -1 nogil:
        cdef size_t end = self.words.size()
        self.words.resize(end + 2)
        memcpy(&self.words[end], value, 8)

    cdef uint32_t intern(self, const char* data, size_t size) except? 0 nogil:
        self.taken.push_back(NO_STRING)  # room first, so that no reference is lost for want of memory
        self.taken[self.taken.size() - 1] = self.vocabulary.table.intern(string_view(data, size))
        return self.taken.back()


cdef inline int family_of(Type type) noexcept nogil:
    return LONG if type == SHORT or type == DOUBLE else type


cdef inline Type common_type(Type a, Type b) noexcept nogil:
    """Of two members of one set: the narrowest that holds both."""
    if a == b:
        return a
    return MIXED if a == DOUBLE or b == DOUBLE or a == MIXED else LONG


cdef bint before(const Literal& a, const Literal& b) noexcept nogil:
    """The order of literals of one family: of numbers by value, of strings by bytes, false before true."""
    cdef int sign = 0
    cdef size_t common = min(a.size, b.size)
    if a.type != STRING:
        return compared(a.number, b.number) < 0
    if common > 0:  # an empty string may have no address
        sign = memcmp(a.data, b.data, common)
    return sign < 0 or sign == 0 and a.size < b.size
