"""Boolean expressions over event attributes: what a subscriber writes, in memory.

`parse` makes an `Expression` of a text, and its canonical text parses to an equal one. `evaluate` is the plain
reference for what every engine answers: three-valued, without any index.
"""

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.math cimport isnan
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from collections import namedtuple
from collections.abc import Mapping

from tamis.indexes.errors import EventError
from tamis.indexes.limits import Limits
from tamis.indexes.lexer import FAILURES as _FAILURES
from tamis.indexes.patterns import PatternError, check_pattern, matches
from tamis.indexes.refusal import refusal
from tamis.indexes.spelling import literal_text, name_text

from tamis.indexes.numbers cimport Number, compared, number_of_double, number_of_long
from tamis.indexes.parser cimport Parser, Pattern
from tamis.indexes.vocabulary cimport StringId, Vocabulary
from tamis.indexes.words cimport (
    BETWEEN, BOOLEAN, CHAIN, CONJUNCTION, DISJUNCTION, DOUBLE, ENDS_WITH, EQUAL, EXISTS, IN, LESS, LESS_EQUAL, LONG,
    MATCHES, MISSING, MIXED, NEGATION, NOTHING, PREDICATE, STARTS_WITH, STRING, WEIGHTED, Cursor, Kind, Type,
    count_of, double_at, first_child, first_type, kind_of, long_at, next_string, node_size, operator_of,
    predicate_size, second_type, words_of,
)

Predicate = namedtuple("Predicate", ["attribute", "operator", "operands", "weight"], defaults=[1.0])

# In the order of the enumeration `Operator`.
OPERATORS = (
    *("=", "!=", "<", ">=", "<=", ">", "between", "not between", "in", "not in", "starts with", "not starts with"),
    *("ends with", "not ends with", "contains", "not contains", "matches", "not matches", "exists", "missing"),
)
# The longest that a canonical form can be, as a multiple of its text: `"\x01"` becomes `"\u0001"`.
GROWTH = 6
# What is loaded, and not written anew, was checked when it was written.
UNBOUNDED = Limits(2**28 - 1, 2**28 - 1, 1000, 2**28 - 1, 2**28 - 1, 2**28 - 1)

# The strings of all expressions that stand alone; the GIL keeps its writers apart.
cdef Vocabulary STRINGS = Vocabulary()
cdef Parser DEFAULT_PARSER = Parser(STRINGS, Limits())
DEFAULT_LIMITS = Limits()


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
        self.words = own
        self.size = <uint32_t>size
        self.vocabulary = vocabulary
        return 0

    @property
    def text(self) -> str:
        """The canonical text: one spelling for each expression, which parses to it."""
        parts = []
        self.print_node(self.words, LOOSEST, parts)
        return "".join(parts)

    @property
    def predicates(self) -> tuple:
        """Its predicates from left to right, as they are written."""
        found = []
        cdef uint32_t at = 0
        while at < self.size:
            if kind_of(self.words[at]) == PREDICATE:
                found.append(self.predicate(self.words + at))
                at += predicate_size(self.words + at)
            elif kind_of(self.words[at]) == NEGATION:
                at += 1
            else:
                at += first_child(self.words + at)
        return tuple(found)

    def evaluate(self, event, /):
        """True, False, or None if an event leaves it open: its attributes are missing or of another family."""
        if not isinstance(event, Mapping):
            raise TypeError(f"an event is a mapping, not {type(event).__name__}")
        for name, value in event.items():
            check_value(name, value)
        cdef Truth truth = self.truth(self.words, event)
        return None if truth == UNKNOWN else truth == TRUE

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

    cdef str string(self, StringId id):
        cdef string_view utf8 = self.vocabulary.table.view(id)
        return PyUnicode_DecodeUTF8(utf8.data(), <Py_ssize_t>utf8.size(), NULL)

    cdef str attribute(self, StringId id):
        if self.names is None:
            self.names = {}
        name = self.names.get(id)
        if name is None:
            name = self.names[id] = self.string(id)
        return name

    cdef object constant(self, const uint32_t* at, Type type):
        if type == STRING:
            return self.string(at[0])
        if type == BOOLEAN:
            return at[0] == 1
        if type == DOUBLE:
            return double_at(at)
        return long_at(at, type)

    cdef object predicate(self, const uint32_t* node):
        relation = operator_of(node[0])
        cdef Type first = first_type(node[0]), second = second_type(node[0]), type
        cdef const uint32_t* at = node + 2
        operands = []
        if relation | 1 == IN | 1:
            at += 1
            for _member in range(node[2]):
                type = <Type>at[0] if first == MIXED else first
                operands.append(self.constant(at + (first == MIXED), type))
                at += words_of(first)
        else:
            for type in (first, second):
                if type != NOTHING:
                    operands.append(self.constant(at, type))
                    at += words_of(type)
        weight = double_at(at) if node[0] & WEIGHTED else 1.0
        return Predicate(self.string(node[1]), OPERATORS[relation], tuple(operands), weight)

    cdef int print_node(self, const uint32_t* node, Binding place, list parts) except -1:
        cdef Kind kind = kind_of(node[0])
        cdef Binding own, inner
        cdef uint32_t index, at
        if kind == PREDICATE:
            parts.append(predicate_text(self.predicate(node)))
            return 0
        if kind == NEGATION:
            parts.append("not ")
            return self.print_node(node + 1, TIGHTEST, parts)
        own = LOOSEST if kind == DISJUNCTION else IN_CHAIN if kind == CHAIN else IN_CONJUNCTION
        # What is nested in its own kind was spliced, except at the right of a chain, where it keeps its brackets.
        inner = <Binding>(own + 1)
        if own < place:
            parts.append("(")
        at = first_child(node)
        for index in range(count_of(node[0])):
            if index > 0:
                if kind == CHAIN:
                    parts.append(" xnor " if is_xnor(node, index) else " xor ")
                else:
                    parts.append(" and " if kind == CONJUNCTION else " or ")
            self.print_node(node + at, inner, parts)
            at += node_size(node + at)
        if own < place:
            parts.append(")")
        return 0

    cdef Truth truth(self, const uint32_t* node, event) except *:
        cdef Kind kind = kind_of(node[0])
        cdef Truth found, result
        cdef uint32_t index, at
        if kind == PREDICATE:
            return self.predicate_truth(node, event)
        if kind == NEGATION:
            return negated(self.truth(node + 1, event))
        at = first_child(node)
        result = TRUE if kind == CONJUNCTION else FALSE
        for index in range(count_of(node[0])):
            found = self.truth(node + at, event)
            at += node_size(node + at)
            if kind == CONJUNCTION:
                if found == FALSE:
                    return FALSE
                result = UNKNOWN if found == UNKNOWN else result
            elif kind == DISJUNCTION:
                if found == TRUE:
                    return TRUE
                result = UNKNOWN if found == UNKNOWN else result
            elif found == UNKNOWN:
                return UNKNOWN
            elif index == 0:
                result = found
            else:
                result = TRUE if (found != result) != is_xnor(node, index) else FALSE
        return result

    cdef Truth predicate_truth(self, const uint32_t* node, event) except *:
        cdef int relation = operator_of(node[0])
        cdef int positive = relation & ~1
        held = event.get(self.attribute(node[1]))  # keeps a string's bytes: the mapping may have made it just now
        cdef Value value = value_of(held)
        cdef bint holds
        if relation == EXISTS or relation == MISSING:
            return TRUE if (value.type == NOTHING) == (relation == MISSING) else FALSE
        if value.type == NOTHING or not same_family(value.type, first_type(node[0])):
            return UNKNOWN
        if positive == EQUAL:
            holds = self.order(value, node + 2, first_type(node[0])) == 0
        elif positive == LESS:
            holds = self.order(value, node + 2, first_type(node[0])) < 0
        elif positive == LESS_EQUAL:
            holds = self.order(value, node + 2, first_type(node[0])) <= 0
        elif positive == BETWEEN:
            holds = self.order(value, node + 2, first_type(node[0])) >= 0 and self.order(
                value, node + 2 + words_of(first_type(node[0])), second_type(node[0])
            ) <= 0
        elif positive == IN:
            holds = self.is_member(value, node)
        elif positive == MATCHES:
            holds = matches(self.string(node[2]), value.data[:value.size])
        else:
            holds = occurs(self.vocabulary.table.view(node[2]), value, positive)
        return TRUE if holds != (relation & 1) else FALSE

    cdef int order(self, const Value& value, const uint32_t* at, Type type) noexcept:
        """Of an event's value and a constant of its family: negative, zero or positive."""
        cdef string_view constant
        cdef int sign
        if type == STRING:
            constant = self.vocabulary.table.view(at[0])
            sign = memcmp(value.data, constant.data(), min(value.size, constant.size()))
            return sign if sign != 0 else (value.size > constant.size()) - (value.size < constant.size())
        return compared(value.number, number_at(at, type))

    cdef bint is_member(self, const Value& value, const uint32_t* node) noexcept:
        """By bisection: the members ascend."""
        cdef Type type = first_type(node[0])
        cdef uint32_t width = words_of(type)
        cdef uint32_t low = 0, high = node[2], middle
        cdef const uint32_t* member
        cdef int sign
        while low < high:
            middle = (low + high) // 2
            member = node + 3 + middle * width
            if type == MIXED:
                sign = self.order(value, member + 1, <Type>member[0])
            else:
                sign = self.order(value, member, type)
            if sign == 0:
                return True
            if sign < 0:
                high = middle
            else:
                low = middle + 1
        return False


def predicate_text(predicate):
    """The canonical text of one predicate."""
    name = name_text(predicate.attribute)
    operands = [literal_text(operand) for operand in predicate.operands]
    if not operands:
        text = f"{predicate.operator} {name}"
    elif predicate.operator.endswith("between"):
        text = f"{name} {predicate.operator} {operands[0]} and {operands[1]}"
    elif predicate.operator in ("in", "not in"):
        text = f"{name} {predicate.operator} ({', '.join(operands)})"
    else:
        text = f"{name} {predicate.operator} {operands[0]}"
    return text if predicate.weight == 1 else f"{text} weight {literal_text(predicate.weight)}"


cdef inline bint is_xnor(const uint32_t* chain, uint32_t index) noexcept:
    """Whether the connective before a chain's operand, counted from 0, is `xnor`."""
    return chain[2 + (index - 1) // 32] >> (index - 1) % 32 & 1


cdef inline Truth negated(Truth truth) noexcept:
    return UNKNOWN if truth == UNKNOWN else FALSE if truth == TRUE else TRUE


cdef inline bint same_family(Type value, Type constant) noexcept:
    if value == STRING or value == BOOLEAN:
        return value == constant
    return constant != STRING and constant != BOOLEAN


cdef inline Number number_at(const uint32_t* at, Type type) noexcept:
    if type == DOUBLE:
        return number_of_double(double_at(at))
    return number_of_long(at[0] if type == BOOLEAN else long_at(at, type))


cdef bint occurs(string_view part, const Value& value, int relation) noexcept:
    if part.size() > value.size:
        return False
    if relation == STARTS_WITH:
        return memcmp(value.data, part.data(), part.size()) == 0
    if relation == ENDS_WITH:
        return memcmp(value.data + value.size - part.size(), part.data(), part.size()) == 0
    return string_view(value.data, value.size).find(part) != <size_t>-1


cdef int check_value(name, value) except -1:
    """Refuse, by the attribute's name, what no event may hold."""
    cdef Py_ssize_t size = 0
    if not isinstance(name, str):
        raise EventError(f"an attribute's name is a str, not {type(name).__name__}: {name!r}")
    try:
        PyUnicode_AsUTF8AndSize(name, &size)
    except UnicodeEncodeError:
        raise EventError(f"attribute {name!r}: its name has a lone surrogate, which no UTF-8 can hold") from None
    try:
        value_of(value)
    except OverflowError:
        raise EventError(f"attribute {name!r}: {value} does not fit a long, which ends at 2**63 - 1") from None
    except UnicodeEncodeError:
        raise EventError(f"attribute {name!r}: its value has a lone surrogate, which no UTF-8 can hold") from None
    except TypeError:
        raise EventError(
            f"attribute {name!r}: a value is a str, int, float, bool or None, not {type(value).__name__}"
        ) from None
    return 0


cdef Value value_of(value) except *:
    cdef Value result
    cdef Py_ssize_t size = 0
    cdef double real
    result.type = NOTHING
    if value is None:
        return result
    if isinstance(value, bool):
        result.type = BOOLEAN
        result.number = number_of_long(value)
    elif isinstance(value, int):
        result.type = LONG
        result.number = number_of_long(<int64_t>value)
    elif isinstance(value, float):
        real = value
        if not isnan(real):
            result.type = DOUBLE
            result.number = number_of_double(real)
    elif isinstance(value, str):
        result.type = STRING
        result.data = PyUnicode_AsUTF8AndSize(value, &size)
        result.size = size
    else:
        raise TypeError
    return result
