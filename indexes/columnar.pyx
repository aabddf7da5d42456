"""Many expressions in columns: all their words end to end, their strings in one vocabulary."""

cimport cython
from cpython.number cimport PyNumber_Index
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint32_t, uint64_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from tamis.indexes.errors import ExpressionError
from tamis.indexes.expressions import DEFAULT_LIMITS, parse
from tamis.indexes.expressions import GROWTH as _GROWTH

from tamis.indexes.expressions cimport translated
from tamis.indexes.parser cimport Parser
from tamis.indexes.vocabulary cimport Vocabulary
from tamis.indexes.words cimport Cursor, next_string


@cython.final
cdef class Expressions:
    """Expressions in the order they came, by position; made by `parse_many`, or of a snapshot that is mapped."""

    def __cinit__(self):
        self.vocabulary = Vocabulary()
        self.own_starts.push_back(0)
        self.own()

    cdef int own(self) except -1:
        """Point to the vectors, after they changed."""
        self.words = self.own_words.data()
        self.starts = self.own_starts.data()
        self.count = self.own_starts.size() - 1
        return 0

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        cdef Py_ssize_t count = len(self)
        cdef Py_ssize_t place = PyNumber_Index(index)
        if place < 0:
            place += count
        if not 0 <= place < count:
            raise IndexError(f"there are {count} expressions, none at {index}")
        cdef uint64_t start = self.starts[place]
        return translated(self.vocabulary, self.words + start, self.starts[place + 1] - start)

    def __iter__(self):
        for place in range(len(self)):
            yield self[place]

    def memory_bytes(self) -> dict:
        """All that is allocated, by part; what a file that is mapped holds is not."""
        return {
            "words": self.own_words.capacity() * sizeof(uint32_t),
            "starts": self.own_starts.capacity() * sizeof(uint64_t),
            "strings": self.vocabulary.memory_bytes(),
        }

    cdef int keep(self, const vector[bint]& unwanted) except -1:
        """Drop those that are unwanted, by position."""
        cdef Cursor cursor
        cdef size_t index, place, kept = 0, count = self.own_starts.size() - 1
        cdef uint64_t start, size, end = 0
        for index in range(count):
            start = self.own_starts[index]
            size = self.own_starts[index + 1] - start
            if unwanted[index]:
                cursor = Cursor(0, 0)
                while next_string(self.own_words.data() + start, size, &cursor, &place):
                    self.vocabulary.table.release(self.own_words[start + place])
                continue
            for place in range(size):
                self.own_words[end + place] = self.own_words[start + place]
            self.own_starts[kept] = end
            end += size
            kept += 1
        self.own_starts[kept] = end
        self.own_starts.resize(kept + 1)
        self.own_words.resize(end)
        return self.own()


def parse_many(texts, limits=DEFAULT_LIMITS):
    """The expressions of the texts that say one, in order, and the position and error of each that does not.

    Other threads run meanwhile.
    """
    cdef tuple kept = tuple(texts)  # holds the texts, whatever happens to the caller's list
    cdef Expressions result = Expressions()
    cdef Parser parser = Parser(result.vocabulary, limits)
    cdef vector[string_view] views
    cdef vector[size_t] refused, suspects, suspect_texts
    cdef vector[bint] unwanted
    cdef size_t index, long_from = limits.text_bytes // _GROWTH
    errors = []
    views.reserve(len(kept))
    for text in kept:
        views.push_back(view_of(text))
    with nogil:
        for index in range(views.size()):
            if views[index].data() == NULL or not parser.parse(views[index].data(), views[index].size()):
                refused.push_back(index)
                continue
            if parser.patterns.size() > 0 or views[index].size() > long_from:
                suspects.push_back(result.own_starts.size() - 1)
                suspect_texts.push_back(index)
            result.own_words.insert(result.own_words.end(), parser.words.begin(), parser.words.end())
            result.own_starts.push_back(result.own_words.size())
    result.own_words.shrink_to_fit()
    result.own_starts.shrink_to_fit()
    result.own()
    for index in refused:
        errors.append((index, error_of(kept[index], limits)))
    if not suspects.empty():
        # What needs more than the parser: RE2 must take the patterns, and the canonical form may be too long.
        unwanted.resize(result.own_starts.size() - 1, False)
        for index in range(suspects.size()):
            error = error_of(kept[suspect_texts[index]], limits)
            if error is not None:
                errors.append((suspect_texts[index], error))
                unwanted[suspects[index]] = True
        result.keep(unwanted)
        errors.sort(key=lambda pair: pair[0])
    return result, errors


cdef string_view view_of(text) except *:
    """A str's UTF-8, which it keeps itself; nothing if it has none."""
    cdef Py_ssize_t size = 0
    cdef const char* utf8
    if not isinstance(text, str):
        raise TypeError(f"an expression is a str, not {type(text).__name__}")
    try:
        utf8 = PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        return string_view()
    return string_view(utf8, size)


cdef object error_of(text, limits):
    """Why a text is refused, or None."""
    try:
        parse(text, limits)
    except ExpressionError as error:
        return error
    return None
