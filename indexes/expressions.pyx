"""Boolean expressions over event attributes: what a subscriber writes, in memory.

`parse` makes an `Expression` of a text, and its canonical text parses to an equal one. `evaluate` is the plain
reference for what every engine answers: three-valued, without any index.
"""

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy
from libcpp.vector cimport vector

from types import MappingProxyType

from tamis.indexes.limits import Limits
from tamis.indexes.lexer import FAILURES as _FAILURES
from tamis.indexes.patterns import PatternError, check_pattern
from tamis.indexes.refusal import refusal

from tamis.indexes.evaluation cimport explanation_of, score_of, truth_of
from tamis.indexes.event_values cimport check_event
from tamis.indexes.parser cimport Parser, Pattern
from tamis.indexes.printing cimport node_text, predicate_of
from tamis.indexes.truth cimport TRUE, UNKNOWN, Truth
from tamis.indexes.vocabulary cimport Vocabulary
from tamis.indexes.words cimport Cursor, first_child, kind_of, next_string, predicate_size, NEGATION, PREDICATE

# The longest that a canonical form can be, as a multiple of its text: `"\x01"` becomes `"\u0001"`.
GROWTH = 6
# What is loaded, and not written anew, was checked when it was written.
UNBOUNDED = Limits(2**28 - 1, 2**28 - 1, 1000, 2**28 - 1, 2**28 - 1, 2**28 - 1)

# The strings of all expressions that stand alone; the GIL keeps its writers apart.
cdef Vocabulary STRINGS = Vocabulary()
cdef Parser DEFAULT_PARSER = Parser(STRINGS, Limits())
DEFAULT_LIMITS = Limits()
cdef object EMPTY = MappingProxyType({})


def parse(text, limits=DEFAULT_LIMITS):
    """The expression that a text says; `ExpressionError`, with the place, if it says none."""
    if not isinstance(text, str):
        raise TypeError(f"an expression is a str, not {type(text).__name__}")
    cdef Parser parser = DEFAULT_PARSER if limits is DEFAULT_LIMITS else Parser(STRINGS, limits)
    cdef Py_ssize_t size = 0
    cdef const char* utf8
    # From here until the words are its own, no Python code may run: another thread, or a finalizer, could parse too.
    cdef Expression expression = Expression.__new__(Expression)
    cdef vector[Pattern] patterns
    try:
        utf8 = PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError as error:
        raise refusal("surrogate", text, error.start, error.start + 1) from None
    if not parser.parse(utf8, size):
        raise failure_of(parser, text, utf8)
    patterns.swap(parser.patterns)
    take(expression, parser)
    check_patterns(expression.vocabulary, patterns, text, utf8, limits)
    if size > limits.text_bytes // GROWTH:
        canonical = len(expression.text.encode())
        if canonical > limits.text_bytes:
            raise refusal("canonical_too_long", text, 0, len(text), bound=limits.text_bytes, size=canonical)
    return expression


def _stored(text):
    """An expression whose canonical text was written before; limits do not apply any more."""
    return parse(text, UNBOUNDED)


cdef int take(Expression expression, Parser parser) except -1:
    """Give it what was parsed last, and the references that the parser took."""
    try:
        expression.adopt(parser.vocabulary, parser.words.data(), parser.words.size())
    except MemoryError:
        parser.forget()
        raise
    parser.taken.clear()
    return 0


cdef Expression translated(Vocabulary vocabulary, const uint32_t* words, size_t size):
    """An expression that stands alone, of words under another vocabulary."""
    cdef vector[uint32_t] own
    cdef Cursor cursor = Cursor(0, 0)
    cdef size_t place = 0, done = 0
    cdef Expression expression = Expression.__new__(Expression)
    own.assign(words, words + size)
    try:
        while next_string(words, size, &cursor, &place):
            own[place] = STRINGS.table.intern(vocabulary.table.view(words[place]))
            done += 1
        expression.adopt(STRINGS, own.data(), size)
    except BaseException:
        cursor = Cursor(0, 0)
        while done > 0 and next_string(words, size, &cursor, &place):
            STRINGS.table.release(own[place])
            done -= 1
        raise
    return expression


cdef object failure_of(Parser parser, str text, const char* utf8):
    cdef int failure = parser.failure
    cdef uint64_t symbols = parser.expected
    cdef size_t failed_start = parser.failed_start, failed_end = min(parser.failed_end, parser.length)
    expected = [index for index in range(64) if symbols >> index & 1]
    start, end = columns(utf8, failed_start, failed_end)
    return refusal(_FAILURES[failure], text, start, end, expected=expected, bound=parser.bounds.text_bytes)


cdef tuple columns(const char* utf8, size_t start, size_t end):
    """Offsets in code points of two offsets in bytes."""
    cdef size_t index
    cdef Py_ssize_t before = 0, within = 0
    for index in range(end):
        if (utf8[index] & 0xC0) != 0x80:
            if index < start:
                before += 1
            else:
                within += 1
    return before, before + within


cdef int check_patterns(
    Vocabulary vocabulary, const vector[Pattern]& patterns, str text, const char* utf8, limits
) except -1:
    cdef size_t index
    for index in range(patterns.size()):
        try:
            check_pattern(vocabulary.text(patterns[index].id), limits)
        except PatternError as error:
            start, end = columns(utf8, patterns[index].start, patterns[index].end)
            raise refusal("pattern", text, start, end, reason=str(error)) from None
    return 0


@cython.final
@cython.no_gc  # it refers to nothing that could refer back, and gives its strings back when it goes, so it needs all
cdef class Expression:
    """A parsed expression. It never changes; equal ones have equal canonical texts."""

    def __init__(self):
        raise TypeError("an Expression is made by parse(text)")

    def __dealloc__(self):
        cdef Cursor cursor = Cursor(0, 0)
        cdef size_t place = 0
        if self.words == NULL:
            return
        while next_string(self.words, self.size, &cursor, &place):
            self.vocabulary.table.release(self.words[place])
        free(self.words)

    cdef int adopt(self, Vocabulary vocabulary, const uint32_t* words, size_t size) except -1:
        """Copy the words, and take over a reference to each string that they name."""
        cdef uint32_t* own = <uint32_t*>malloc(size * sizeof(uint32_t))
        if own == NULL:
            raise MemoryError
        memcpy(own, words, size * sizeof(uint32_t))
        self.names = {}
        self.words = own
        self.size = <uint32_t>size
        self.vocabulary = vocabulary
        return 0

    @property
    def text(self) -> str:
        """The canonical text: one spelling for each expression, which parses to it."""
        return node_text(self.words, self.vocabulary)

    @property
    def predicates(self) -> tuple:
        """Its predicates from left to right, as they are written."""
        found = []
        cdef uint32_t at = 0
        while at < self.size:
            if kind_of(self.words[at]) == PREDICATE:
                found.append(predicate_of(self.words + at, self.vocabulary))
                at += predicate_size(self.words + at)
            elif kind_of(self.words[at]) == NEGATION:
                at += 1
            else:
                at += first_child(self.words + at)
        return tuple(found)

    def evaluate(self, event, /):
        """True, False, or None if an event leaves it open: its attributes are missing or of another family."""
        check_event(event)
        cdef Truth truth = truth_of(self.words, self.vocabulary, self.names, event)
        return None if truth == UNKNOWN else truth == TRUE

    def score(self, event, /, weights=EMPTY) -> float:
        """How much of the expression the event fulfils.

        The sum, over the predicates in the order of the text, of a predicate's weight times the event's weight of
        its attribute (1 unless given), for those that are true, or under an odd number of `not`s false.
        """
        check_event(event)
        return score_of(self.words, self.vocabulary, self.names, event, weights)

    def explain(self, event, /):
        """What each part of the expression comes to, and what the event holds there."""
        check_event(event)
        return explanation_of(self.words, self.vocabulary, self.names, event)

    def memory_bytes(self) -> int:
        """Of its own; strings are shared with others."""
        return sizeof(Expression) + self.size * sizeof(uint32_t)

    def __eq__(self, other):
        if not isinstance(other, Expression):
            return NotImplemented
        cdef Expression theirs = other
        return self.size == theirs.size and memcmp(self.words, theirs.words, self.size * sizeof(uint32_t)) == 0

    def __hash__(self):
        return hash((<const char*>self.words)[:self.size * sizeof(uint32_t)])

    def __repr__(self):
        return f"parse({self.text!r})"

    def __reduce__(self):
        return _stored, (self.text,)
