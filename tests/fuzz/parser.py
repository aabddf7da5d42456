"""Any text at all: it is refused well, or says an expression that is what `docs/language.md` promises."""

import re
from collections.abc import Iterator
from typing import Any

import reference
from fuzzing import fuzz, instrumented
from strategies import neighbour

with instrumented():
    from tamis.indexes.columnar import parse_many
    from tamis.indexes.errors import ExpressionError
    from tamis.indexes.expressions import DEFAULT_LIMITS, Expression, parse
    from tamis.indexes.lexer import KEYWORDS, RESERVED_WORDS, SYMBOLS
    from tamis.indexes.limits import Limits

Verdict = Expression | ExpressionError

NARROW = Limits(text_bytes=200, predicates=4, depth=3, set_members=3, pattern_characters=8, pattern_bytes=4096)
"""Limits that short texts reach."""
PLAIN = parse("a = 1")
STRINGS = PLAIN.vocabulary
"""Of all expressions that stand alone."""
REFERENCE_MAX = 1024
"""Code points that the reference reads: it takes 3 microseconds for each."""
TOKENS_FOLLOW = 0xFF
"""With this byte, which no UTF-8 has, begins what is to be read as `TOKENS`, a byte each."""
TOKENS = (
    *("a", "b", "`c d`", "in-stock", "1", "2", "-3", "2.5", "1e300", "9223372036854775807"),
    *('"x"', "'y'", '"xyz"', '""', '"\\u00e9\\n"', "=", "!=", "<", "<=", ">", ">=", "(", ")", ","),
    *KEYWORDS,
    *RESERVED_WORDS,
    # One byte that is repeated makes a text long in one connective, or deep.
    *("a = 1", "exists b", "and not a = 1", "or (b = 'y')", "xor a = 1", "xnor exists b", ", 2", ", 2.5", ", 'z'"),
)


def check(data: bytes) -> None:
    strings = len(STRINGS)
    text = text_of(data)
    verdict = check_text(text, DEFAULT_LIMITS)
    if isinstance(verdict, Expression):
        within = check_text(text, NARROW)
        assert isinstance(within, ExpressionError) or within == verdict, "limits change the meaning"
        del within
    if len(text) <= REFERENCE_MAX:
        check_meaning(text, verdict)
    del verdict
    assert len(STRINGS) == strings, "strings stay that no expression has"


def text_of(data: bytes) -> str:
    """Tokens, or UTF-8; bytes that are no UTF-8 become lone surrogates, or other letters than ASCII's."""
    if data[:1] == bytes([TOKENS_FOLLOW]):
        return " ".join(TOKENS[byte % len(TOKENS)] for byte in data[1:])
    try:
        return data.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return data.decode(errors="surrogateescape") if len(data) % 2 else data.decode("latin-1")


def check_text(text: str, limits: Limits) -> Verdict:
    verdict = parsed(text, limits)
    if isinstance(verdict, ExpressionError):
        check_refusal(verdict, text)
    else:
        check_canonical(verdict, limits)
    check_among_others(text, verdict, limits)
    return verdict


def parsed(text: str, limits: Limits) -> Verdict:
    try:
        return parse(text, limits)
    except ExpressionError as error:
        return error.with_traceback(None)  # which would hold the expression


def check_refusal(error: ExpressionError, text: str) -> None:
    assert 1 <= error.column <= len(text) + 1
    assert error.found
    assert error.found == (text[error.column - 1 :][: len(error.found)] or "end of text")
    assert set(error.expected) <= set(SYMBOLS)
    place, _, reason = str(error).partition(": ")
    assert place == f"column {error.column}"
    assert reason.strip()
    assert error.expected or not re.search(" is expected(; did you mean .*)?\n", reason)


def check_canonical(expression: Expression, limits: Limits) -> None:
    again = parse(expression.text, limits)
    assert again == expression
    assert hash(again) == hash(expression)
    assert again.text == expression.text
    assert again.predicates == expression.predicates


def check_among_others(text: str, verdict: Verdict, limits: Limits) -> None:
    together, errors = parse_many([PLAIN.text, text, PLAIN.text], limits)
    if isinstance(verdict, ExpressionError):
        ((position, error),) = errors
        assert position == 1
        assert told(error) == told(verdict)
        assert list(together) == [PLAIN, PLAIN]
    else:
        assert not errors
        assert list(together) == [PLAIN, verdict, PLAIN]
        assert together[1].text == verdict.text


def told(error: ExpressionError) -> tuple[str, int, str, tuple[str, ...]]:
    return str(error), error.column, error.found, error.expected


def check_meaning(text: str, verdict: Verdict) -> None:
    try:
        node = reference.parse(text)
    except reference.ReferenceError:
        assert isinstance(verdict, ExpressionError), "only the reference refuses it"
        return
    assert isinstance(verdict, Expression), "only the reference takes it"
    assert verdict.text == reference.canonical(node)
    for event in events_near(verdict):
        assert verdict.evaluate(event) is reference.evaluate(node, event), event


def events_near(expression: Expression) -> list[dict[str, Any]]:
    """One with nothing in it, one with operands themselves, and one with values beside operands."""
    exact: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    for predicate in expression.predicates:
        operands = predicate.operands or (True,)
        exact.setdefault(predicate.attribute, operands[0])
        beside[predicate.attribute] = neighbour(operands[-1])
    return [{}, exact, beside]


def seeds() -> Iterator[bytes]:
    for name, key in (("parse", "text"), ("refuse", "text"), ("evaluate", "expression")):
        for text in dict.fromkeys(case[key] for case in reference.cases(name)):
            yield text.encode(errors="surrogatepass")
            tokens = re.sub("([(),])", r" \1 ", text).split()
            if set(tokens) <= set(TOKENS):
                yield bytes([TOKENS_FOLLOW, *map(TOKENS.index, tokens)])


def words() -> Iterator[bytes]:
    for word in (*KEYWORDS, *RESERVED_WORDS, "!=", "<=", ">=", "a = 1", "not a", "(a = 1)"):
        yield f" {word} ".encode()
    for word in (r"\u0041", r"\ud83d\ude00", "9223372036854775808", ".0", "e308", "e-324", "``", "é", "😀"):
        yield word.encode()


if __name__ == "__main__":
    fuzz(check, seeds=seeds(), words=words())
