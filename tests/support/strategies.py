"""Random expressions, events that often touch their operands, and texts that only look different."""

import itertools
import math
import re
import string
from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from reference import And, Chain, Node, Not, Or, Predicate, Value, attribute_name, literal, occurrences

NAMES = ("a", "b", "price", "$topic", "a.b/c-d_e", "Not", "null", "in", "1st", "a b", "`", "naïve", "日本 😀")

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_LONGS = (0, 1, -1, 2, 3, 5, 100, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1)
_LONG_EDGES = (_INT64_MIN, _INT64_MIN + 1, _INT64_MAX, _INT64_MAX - 1, _INT64_MAX - 511, _INT64_MAX - 512)
_DOUBLES = (0.0, -0.0, 0.5, 1.0, 1.5, 0.1, 0.1 + 0.2, 2.5, 5.0, -5.5, 1e22, 1e-7, 5e-324, 2.2250738585072014e-308)
_DOUBLE_EDGES = (2.0**53, 2.0**63, -(2.0**63), 9223372036854774784.0, 1.7976931348623157e308, -1.7976931348623157e308)
_STRINGS = ("", "a", "ab", "abc", "b", "A", "true", "1", "é", "e\u0301", "\ue000", "\U00010000", "\U0010ffff", "日本")
_AWKWARD_STRINGS = ('"', "'", "\\", "\\n", "\n", "\r\n", "\t", "\0", "\x1f", "\x7f", "\u2028", "\"\\'", "a\0b", "`")
_PATTERNS = ("", "a", "^a", "b$", "^$", "a.*c", "[[:alpha:]]", r"\d+", "(?i)AB", "^.$", r"\pL", r"\bab\b", "(?s)^.{2}$")
_WEIGHTS = (1.0, 1.0, 2.0, 0.4, 0.5, 3.0, 1e-9, 5e-324, 1e300, 2.0**53)

_unicode = st.characters(exclude_categories=["Cs"])


def _numbers() -> SearchStrategy[int | float]:
    known = st.sampled_from((*_LONGS, *_LONG_EDGES, *_DOUBLES, *_DOUBLE_EDGES))
    return st.one_of(
        known, known, st.integers(_INT64_MIN, _INT64_MAX), st.floats(allow_nan=False, allow_infinity=False)
    )


def _strings() -> SearchStrategy[str]:
    known = st.sampled_from((*_STRINGS, *_AWKWARD_STRINGS))
    return st.one_of(known, known, st.text("ab", max_size=4), st.text(_unicode, max_size=6))


def _operands(operator: str) -> SearchStrategy[tuple[Value, ...]]:
    numbers, strings = _numbers(), _strings()
    families: list[SearchStrategy[Any]] = [numbers, strings, st.booleans()]
    match operator.removeprefix("not "):
        case "between":  # code points sort as bytes do
            pairs = [st.tuples(family, family) for family in families[:2]]
            return st.one_of(pairs).map(lambda pair: (min(pair), max(pair)))
        case "in":
            return st.one_of([st.lists(family, min_size=1, max_size=6).map(tuple) for family in families])
        case "exists" | "missing":
            return st.just(())
        case "=" | "!=":
            operand = st.one_of(families)
        case "<" | "<=" | ">" | ">=":
            operand = st.one_of(numbers, strings)
        case "matches":
            operand = st.sampled_from(_PATTERNS)
        case _:
            operand = strings
    return st.tuples(operand)


_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "exists", "missing")
_WORD_OPERATORS = ("between", "in", "starts with", "ends with", "contains", "matches")
_ALL_OPERATORS = (*_OPERATORS, *_WORD_OPERATORS, *(f"not {operator}" for operator in _WORD_OPERATORS))


def predicates() -> SearchStrategy[Predicate]:
    names = st.sampled_from(NAMES[:3] * 3 + NAMES)
    return st.sampled_from(_ALL_OPERATORS).flatmap(
        lambda operator: st.builds(
            Predicate, names, st.just(operator), _operands(operator), st.one_of(st.just(1.0), st.sampled_from(_WEIGHTS))
        )
    )


def expressions() -> SearchStrategy[Node]:
    """Any expression, not necessarily as canonical text would nest it."""

    def joined(children: SearchStrategy[Node]) -> SearchStrategy[Node]:
        several = st.lists(children, min_size=2, max_size=4).map(tuple)
        rest = st.lists(st.tuples(st.sampled_from(("xor", "xnor")), children), min_size=1, max_size=3).map(tuple)
        return st.one_of(
            st.builds(And, several), st.builds(Or, several), st.builds(Chain, children, rest), st.builds(Not, children)
        )

    leaves: SearchStrategy[Node] = predicates()
    return st.recursive(leaves, joined, max_leaves=12)


def events() -> SearchStrategy[dict[str, Any]]:
    """Over the same names, often with the same constants and their neighbours."""
    usual = st.fixed_dictionaries({name: _values() for name in NAMES[:3]})
    others = st.dictionaries(st.sampled_from((*NAMES, "unused", "")), _values(), max_size=6)
    return st.tuples(usual, others).map(lambda pair: pair[0] | pair[1])


def expressions_with_events() -> SearchStrategy[tuple[Node, dict[str, Any]]]:
    """Whose values are mostly operands of the expression, or nearly so: otherwise most answers are unknown."""
    return expressions().flatmap(lambda node: st.tuples(st.just(node), events_near(node)))


def events_near(*nodes: Node) -> SearchStrategy[dict[str, Any]]:
    operands: dict[str, list[Value]] = {}
    for predicate, _ in itertools.chain.from_iterable(map(occurrences, nodes)):
        operands.setdefault(predicate.attribute, []).extend(predicate.operands)
    near = {name: [*values, *map(neighbour, values)] for name, values in operands.items()}
    return st.fixed_dictionaries(
        {name: st.sampled_from([*values * 5, None]) if values else _values() for name, values in near.items()}
    )


def _values() -> SearchStrategy[Any]:
    return st.one_of(
        _numbers(),
        _numbers().map(neighbour),
        st.sampled_from((math.inf, -math.inf, math.nan)),
        _strings(),
        _strings().map(neighbour),
        st.booleans(),
        st.none(),
    )


def neighbour(value: Value) -> Value:
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "b"
    if isinstance(value, int):
        return value + 1 if value < _INT64_MAX else value - 1
    return math.nextafter(value, math.inf)


def print_loosely(node: Node, random: Random) -> str:
    """A text spelt at random that means `node`, as far from its canonical text as the language allows."""
    text = ""
    for token in ["", *_loose(node, random), ""]:
        glued = re.search(r"[A-Za-z0-9_./$-]$", text) and re.match(r"[A-Za-z0-9_./-]", token)
        text += _space(random, 1 if glued else 0) + token
    return text


def _space(random: Random, least: int) -> str:
    return "".join(random.choices(" \t\r\n", weights=(9, 1, 1, 1), k=random.choice((least, 1, 1, 1, 3))))


def _loose(node: Node, random: Random) -> list[str]:
    """The tokens of `node`, with a redundant pair of parentheses here and there."""
    match node:
        case Predicate():
            tokens = _loose_predicate(node, random)
        case Not():
            tokens = [_case("not", random), *_enclosed(node.child, random, And, Or, Chain)]
        case And():
            tokens = _joined([_enclosed(child, random, Or, Chain) for child in node.children], "and", random)
        case Or():
            tokens = _joined([_loose(child, random) for child in node.children], "or", random)
        case Chain():
            tokens = _enclosed(node.first, random, Or)
            for position, (operator, child) in enumerate(node.rest):
                if position and random.random() < 0.2:
                    tokens = ["(", *tokens, ")"]
                tokens += [_case(operator, random), *_enclosed(child, random, Or, Chain)]
    return ["(", *tokens, ")"] if random.random() < 0.15 else tokens


def _enclosed(child: Node, random: Random, *looser: type) -> list[str]:
    tokens = _loose(child, random)
    return ["(", *tokens, ")"] if isinstance(child, looser) else tokens


def _joined(parts: list[list[str]], word: str, random: Random) -> list[str]:
    """With two neighbours grouped now and then: `a and (b and c)` is `a and b and c`."""
    while len(parts) > 2 and random.random() < 0.3:
        at = random.randrange(len(parts) - 1)
        parts[at : at + 2] = [["(", *parts[at], _case(word, random), *parts[at + 1], ")"]]
    tokens = parts[0]
    for part in parts[1:]:
        tokens = [*tokens, _case(word, random), *part]
    return tokens


def _loose_predicate(predicate: Predicate, random: Random) -> list[str]:
    name = attribute_name(predicate.attribute)
    if random.random() < 0.2 and not name.startswith("`"):
        name = f"`{name}`"
    words = [_case(word, random) for word in predicate.operator.split()]
    operands = [_loose_literal(operand, random) for operand in predicate.operands]
    match predicate.operator.removeprefix("not "):
        case "exists" | "missing":
            tokens = [*words, name]
        case "between":
            tokens = [name, *words, operands[0], _case("and", random), operands[1]]
        case "in":
            repeated = random.choices(predicate.operands, k=random.randrange(3))
            operands += [_loose_literal(operand, random) for operand in repeated]
            random.shuffle(operands)
            commas = [token for operand in operands for token in (",", operand)]
            tokens = [name, *words, "(", *commas[1:], ")"]
        case _:
            tokens = [name, *words, *operands]
    if predicate.weight != 1 or random.random() < 0.1:
        tokens += [_case("weight", random), _loose_number(predicate.weight, random)]
    return tokens


def _case(word: str, random: Random) -> str:
    return random.choice((word, word.upper(), word.title(), "".join(random.choice((c, c.upper())) for c in word)))


def _loose_literal(value: Value, random: Random) -> str:
    if isinstance(value, bool):
        return _case(literal(value), random)
    return _loose_string(value, random) if isinstance(value, str) else _loose_number(value, random)


def _loose_string(text: str, random: Random) -> str:
    quote = random.choice("\"'")
    return quote + "".join(_loose_character(character, quote, random) for character in text) + quote


def _loose_character(character: str, quote: str, random: Random) -> str:
    """Raw where it may be, else or by chance escaped."""
    choices = [] if character in {quote, "\\"} else [character] * 3
    if character in "\\\"'":
        choices.append("\\" + character)
    choices += {"\n": ["\\n"], "\t": ["\\t"], "\r": ["\\r"]}.get(character, [])
    units = character.encode("utf-16-be").hex()
    escapes = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    choices.append("".join(random.choice((c, c.upper())) if c in string.hexdigits else c for c in escapes))
    return random.choice(choices)


def _loose_number(value: float, random: Random) -> str:
    spellings = [literal(value)]
    whole = literal(value).lstrip("-").isdecimal()
    if not whole:
        exact = f"{Decimal(value):f}"
        spellings += [repr(value).upper(), f"{value:.17e}", f"{value:.20E}", exact if "." in exact else f"{exact}.0"]
    elif float(value) == value:  # otherwise only the digits say which
        digits = str(int(value))
        spellings += [f"{digits}.0", f"{digits}.000e0", f"{digits}e+00", f"{value:.17e}"]
        spellings += [f"{digits[:-2]}e2"] if digits.endswith("00") else []
        spellings += ["-0", "-0.0", "0e5", "-0E-3", "0.00"] if value == 0 else [f"{digits}0e-1"]
    spelling = random.choice(spellings)
    return "+" + spelling if not spelling.startswith("-") and random.random() < 0.2 else spelling
