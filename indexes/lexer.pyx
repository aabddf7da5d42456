"""The tokens of a text: names and keywords, constants, punctuation."""

from libc.math cimport isinf
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.numbers cimport Number, number_of_double, number_of_long
from tamis.indexes.words cimport DOUBLE, LONG, SHORT, STRING, Type


cdef extern from "characters.hpp" namespace "tamis" nogil:
    double nearest_double(const char* begin, const char* end) except +


KEYWORDS = (
    *("and", "or", "not", "xor", "xnor", "between", "in", "starts", "ends", "with", "contains", "matches"),
    *("exists", "missing", "weight", "true", "false"),
)
RESERVED_WORDS = ("any", "all", "none", "has", "within", "like", "null", "is")
SYMBOLS = (
    *KEYWORDS,
    *("a reserved word", "=", "!=", "<", "<=", ">", ">=", "(", ")", ","),
    *("an attribute", "a number", "a string", "end of text"),
)

# In the order of the enumeration `Failure`.
FAILURES = (
    *("syntax", "unknown character", "open string", "open name", "bad escape", "surrogate", "empty name"),
    *("reserved name", "bad number", "long overflow", "double overflow", "mixed families", "empty range"),
    *("bad weight", "too long", "too many predicates", "too deep", "too many members", "pattern too long"),
)

cdef uint64_t LARGEST = <uint64_t>INT64_MAX
cdef uint64_t LARGEST_TENTH = LARGEST // 10


cdef class Lexer:
    """Reads one token after the other; what they say is in its fields."""

    cdef int begin(self, const char* text, size_t length) except -1 nogil:
        self.text = text
        self.length = length
        self.at = 0
        return 0

    cdef bint fail_at(self, Failure failure, size_t start, size_t end) noexcept nogil:
        self.failure = failure
        self.failed_start = start
        self.failed_end = end
        return False

    cdef bint fail(self, Failure failure) noexcept nogil:
        return self.fail_at(failure, self.start, self.at)

    cdef bint next(self) except -1 nogil:
        cdef char byte
        while self.at < self.length and is_space(self.text[self.at]):
            self.at += 1
        self.start = self.at
        if self.at == self.length:
            self.symbol = THE_END
            return True
        byte = self.text[self.at]
        if starts_name(byte):
            return self.lex_name()
        if is_digit(byte) or byte == c"-" or byte == c"+":
            return self.lex_number()
        if byte == c'"' or byte == c"'":
            return self.lex_string(byte)
        if byte == c"`":
            return self.lex_quoted_name()
        return self.lex_punctuation()

    cdef bint lex_name(self) noexcept nogil:
        self.at += 1
        while self.at < self.length and continues_name(self.text[self.at]):
            self.at += 1
        self.name = self.text + self.start
        self.name_size = self.at - self.start
        self.symbol = keyword(self.name, self.name_size)
        return True

    cdef bint lex_quoted_name(self) except -1 nogil:
        cdef size_t start = self.pool.size()
        while True:
            self.at += 1
            if self.at == self.length:
                return self.fail(OPEN_NAME)
            if self.text[self.at] == c"`":
                if self.at + 1 == self.length or self.text[self.at + 1] != c"`":
                    break
                self.at += 1
            self.pool.push_back(self.text[self.at])
        self.at += 1
        if self.pool.size() == start:
            return self.fail(EMPTY_NAME)
        self.name = self.pool.data() + start
        self.name_size = self.pool.size() - start
        self.symbol = ATTRIBUTE
        return True

    cdef bint lex_string(self, char quote) except -1 nogil:
        self.literal.type = STRING
        self.literal.start = self.pool.size()
        self.at += 1
        while True:
            if self.at == self.length:
                return self.fail(OPEN_STRING)
            if self.text[self.at] == quote:
                break
            if self.text[self.at] == c"\\":
                if not self.lex_escape():
                    return False
            else:
                self.pool.push_back(self.text[self.at])
                self.at += 1
        self.at += 1
        self.literal.size = self.pool.size() - self.literal.start
        self.symbol = A_STRING
        return True

    cdef bint lex_escape(self) except -1 nogil:
        cdef size_t start = self.at
        cdef char byte
        cdef int64_t code, low
        if start + 1 == self.length:
            self.at = self.length
            return self.fail(OPEN_STRING)
        byte = self.text[start + 1]
        self.at = start + 2
        if byte == c"n":
            self.pool.push_back(10)
        elif byte == c"t":
            self.pool.push_back(9)
        elif byte == c"r":
            self.pool.push_back(13)
        elif byte == c"\\" or byte == c'"' or byte == c"'":
            self.pool.push_back(byte)
        elif byte == c"u":
            code = hexadecimal(self.text, start + 2, self.length)
            if code < 0:
                return self.fail_at(BAD_ESCAPE, start, self.at)
            self.at = start + 6
            if 0xD800 <= code < 0xDC00 and self.at + 1 < self.length and self.text[self.at] == c"\\" \
                    and self.text[self.at + 1] == c"u":
                low = hexadecimal(self.text, self.at + 2, self.length)
                if 0xDC00 <= low < 0xE000:
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                    self.at += 6
            if 0xD800 <= code < 0xE000:
                return self.fail_at(LONE_SURROGATE, start, self.at)
            put_utf8(self.pool, <uint32_t>code)
        else:
            while self.at < self.length and self.text[self.at] & 0xC0 == 0x80:
                self.at += 1
            return self.fail_at(BAD_ESCAPE, start, self.at)
        return True

    cdef bint lex_number(self) except -1 nogil:
        cdef const char* text = self.text
        cdef size_t digits
        cdef bint whole = True
        cdef bint negative = text[self.at] == c"-"
        cdef uint64_t magnitude = 0
        cdef double real
        if negative or text[self.at] == c"+":
            self.at += 1
        digits = self.at
        while self.at < self.length and is_digit(text[self.at]):
            self.at += 1
        cdef size_t digits_end = self.at
        if digits == digits_end:
            return self.fail(BAD_NUMBER)
        if text[digits] == c"0":
            self.at = digits + 1
        if self.at + 1 < self.length and text[self.at] == c"." and is_digit(text[self.at + 1]):
            whole = False
            self.at += 1
            self.skip_digits()
        if self.at < self.length and (text[self.at] == c"e" or text[self.at] == c"E"):
            digits_end = self.at
            self.at += 1
            if self.at < self.length and (text[self.at] == c"-" or text[self.at] == c"+"):
                self.at += 1
            if self.at < self.length and is_digit(text[self.at]):
                whole = False
                self.skip_digits()
            else:
                self.at = digits_end
        if self.at < self.length and continues_name(text[self.at]):
            while self.at < self.length and continues_name(text[self.at]):
                self.at += 1
            return self.fail(BAD_NUMBER)
        if whole:
            while digits < self.at:
                if magnitude > LARGEST_TENTH:
                    return self.fail(LONG_OVERFLOW)
                magnitude = 10 * magnitude + <uint64_t>(text[digits] - c"0")
                digits += 1
            if magnitude > LARGEST + negative:
                return self.fail(LONG_OVERFLOW)
            self.literal.number = number_of_long(<int64_t>(0 - magnitude if negative else magnitude))
        else:
            real = nearest_double(text + digits, text + self.at)
            if isinf(real):
                return self.fail(DOUBLE_OVERFLOW)
            self.literal.number = number_of_double(-real if negative else real)
        self.literal.type = type_of_number(self.literal.number)
        self.symbol = A_NUMBER
        return True

    cdef void skip_digits(self) noexcept nogil:
        while self.at < self.length and is_digit(self.text[self.at]):
            self.at += 1

    cdef bint lex_punctuation(self) noexcept nogil:
        cdef char byte = self.text[self.at]
        cdef bint equals = self.at + 1 < self.length and self.text[self.at + 1] == c"="
        self.at += 1
        if byte == c"(":
            self.symbol = OPEN
        elif byte == c")":
            self.symbol = CLOSE
        elif byte == c",":
            self.symbol = COMMA
        elif byte == c"=":
            self.symbol = EQUALS
        elif byte == c"<":
            self.symbol = LESS_EQUALS if equals else LESS_SIGN
            self.at += equals
        elif byte == c">":
            self.symbol = GREATER_EQUALS if equals else GREATER_SIGN
            self.at += equals
        elif byte == c"!" and equals:
            self.symbol = NOT_EQUALS
            self.at += 1
        else:
            while self.at < self.length and self.text[self.at] & 0xC0 == 0x80:
                self.at += 1
            return self.fail(UNKNOWN_CHARACTER)
        return True


cdef inline Type type_of_number(Number number) noexcept nogil:
    if number.is_double:
        return DOUBLE
    return SHORT if INT32_MIN <= number.whole <= INT32_MAX else LONG


cdef inline bint is_space(char byte) noexcept nogil:
    return byte == c" " or byte == c"\t" or byte == c"\n" or byte == c"\r"


cdef inline bint is_digit(char byte) noexcept nogil:
    return c"0" <= byte <= c"9"


cdef inline bint starts_name(char byte) noexcept nogil:
    return c"a" <= byte <= c"z" or c"A" <= byte <= c"Z" or byte == c"_" or byte == c"$"


cdef inline bint continues_name(char byte) noexcept nogil:
    return (
        c"a" <= byte <= c"z" or c"A" <= byte <= c"Z" or is_digit(byte)
        or byte == c"_" or byte == c"." or byte == c"-" or byte == c"/"
    )


cdef inline bint spells(const char* text, const char* word, size_t size) noexcept nogil:
    """Whether it is this keyword in any case; a keyword is of small letters only."""
    cdef size_t index
    for index in range(size):
        if (text[index] | 0x20) != word[index]:
            return False
    return True


cdef int keyword(const char* text, size_t size) noexcept nogil:
    """The symbol of a bare word."""
    if size == 2:
        if spells(text, "or", 2):
            return OR
        if spells(text, "in", 2):
            return IN_WORD
        if spells(text, "is", 2):
            return RESERVED
    elif size == 3:
        if spells(text, "and", 3):
            return AND
        if spells(text, "not", 3):
            return NOT
        if spells(text, "xor", 3):
            return XOR
        if spells(text, "any", 3) or spells(text, "all", 3) or spells(text, "has", 3):
            return RESERVED
    elif size == 4:
        if spells(text, "xnor", 4):
            return XNOR
        if spells(text, "with", 4):
            return WITH
        if spells(text, "ends", 4):
            return ENDS
        if spells(text, "true", 4):
            return TRUE_WORD
        if spells(text, "none", 4) or spells(text, "like", 4) or spells(text, "null", 4):
            return RESERVED
    elif size == 5:
        if spells(text, "false", 5):
            return FALSE_WORD
    elif size == 6:
        if spells(text, "exists", 6):
            return EXISTS_WORD
        if spells(text, "starts", 6):
            return STARTS
        if spells(text, "weight", 6):
            return WEIGHT
        if spells(text, "within", 6):
            return RESERVED
    elif size == 7:
        if spells(text, "between", 7):
            return BETWEEN_WORD
        if spells(text, "matches", 7):
            return MATCHES_WORD
        if spells(text, "missing", 7):
            return MISSING_WORD
    elif size == 8:
        if spells(text, "contains", 8):
            return CONTAINS_WORD
    return ATTRIBUTE


cdef int64_t hexadecimal(const char* text, size_t at, size_t length) noexcept nogil:
    """The value of four digits, or -1."""
    cdef int64_t value = 0
    cdef size_t index
    cdef char byte
    if length - at < 4 or at > length:
        return -1
    for index in range(at, at + 4):
        byte = text[index]
        if is_digit(byte):
            value = 16 * value + (byte - c"0")
        elif c"a" <= byte | 0x20 <= c"f":
            value = 16 * value + ((byte | 0x20) - c"a" + 10)
        else:
            return -1
    return value


cdef int put_utf8(vector[char]& pool, uint32_t code) except -1 nogil:
    if code < 0x80:
        pool.push_back(<char>code)
        return 0
    if code < 0x800:
        pool.push_back(<char>(0xC0 | code >> 6))
    else:
        if code < 0x10000:
            pool.push_back(<char>(0xE0 | code >> 12))
        else:
            pool.push_back(<char>(0xF0 | code >> 18))
            pool.push_back(<char>(0x80 | code >> 12 & 0x3F))
        pool.push_back(<char>(0x80 | code >> 6 & 0x3F))
    pool.push_back(<char>(0x80 | code & 0x3F))
