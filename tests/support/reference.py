"""The expression language once more, for tests: read by `docs/language.lark`, evaluated as `docs/language.md` says.

It shares no code with the product, and is clear before fast. Nodes hold what was written; two are the same expression
if their canonical texts are equal (Python's own `==` would take 1 for True).
"""

import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import lark
import re2

Value = bool | int | float | str
Truth = bool | None

TEXT_BYTES_MAX = 64 * 1024
PREDICATES_MAX = 4096
DEPTH_MAX = 64
MEMBERS_MAX = 10_000
PATTERN_CHARACTERS_MAX = 256
PATTERN_PROGRAM_BYTES_MAX = 1 << 20

_BARE_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_./-]*")
_NO_BARE_NAME = re.compile(
    "and|or|xor|xnor|not|between|in|starts|ends|with|contains|matches|exists|missing|weight|true|false|"
    "any|all|none|has|within|like|null|is",
    re.IGNORECASE | re.ASCII,
)
_LIKELY_TOKEN = re.compile(rf"{_BARE_NAME.pattern}|[<>!]=|([\"'`])[^\\]*?\1|[+-]?[0-9][0-9.]*|.", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ROOT = Path(__file__).resolve().parents[2]
_INT64 = range(-(1 << 63), 1 << 63)


class ReferenceError(ValueError):  # noqa: A001 - nothing here knows weak references
    """A text that is no expression; `column` counts code points from 1 and may be unknown."""

    def __init__(self, why: str, column: int | None = None, found: str | None = None) -> None:
        super().__init__(why if column is None else f"{why}: {found!r} in column {column}")
        self.column = column
        self.found = found


class EventProblem(ValueError):  # noqa: N818 - the product has an EventError
    """A mapping that is no event; the message names the attribute."""


@dataclass(frozen=True, slots=True)
class Predicate:
    attribute: str
    operator: str  # in lower case, single spaces, with its `not`: "not starts with"
    operands: tuple[Value, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class And:
    children: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    children: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """`first op operand op operand ...`, from left to right."""

    first: "Node"
    rest: tuple[tuple[str, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Not:
    child: "Node"


Node = Predicate | And | Or | Chain | Not


def parse(text: str) -> Node:
    if _utf8_length(text) > TEXT_BYTES_MAX:
        raise ReferenceError(f"longer than {TEXT_BYTES_MAX} bytes")
    try:
        part = _grammar().parse(text)
    except lark.UnexpectedInput as error:
        ended = isinstance(error, lark.UnexpectedToken) and error.token.type == "$END"
        position: Any = len(text) if ended else error.pos_in_stream  # which lark declares to be None
        raise _unexpected(text, position) from None
    assert isinstance(part, _Part)
    if sum(1 for _ in occurrences(part.node)) > PREDICATES_MAX:
        raise ReferenceError(f"more than {PREDICATES_MAX} predicates")
    if _utf8_length(canonical(part.node)) > TEXT_BYTES_MAX:
        raise ReferenceError(f"canonical text longer than {TEXT_BYTES_MAX} bytes")
    return part.node


def _utf8_length(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise ReferenceError("a lone surrogate", error.start + 1, text[error.start]) from None


def _unexpected(text: str, position: int) -> ReferenceError:
    found = _LIKELY_TOKEN.match(text, position)
    return ReferenceError("unexpected", position + 1, found[0] if found else "end of text")


class _Part(NamedTuple):
    """A node under construction, and how deep its text nests: each `(` of a group and each `not` counts one."""

    node: Node
    depth: int

    def below(self, node: Node) -> "_Part":
        if self.depth == DEPTH_MAX:
            raise ReferenceError(f"nested deeper than {DEPTH_MAX}")
        return _Part(node, self.depth + 1)


@lark.v_args(inline=True)
class _Builder(lark.Transformer[lark.Token, _Part]):
    """What each rule of the grammar makes; called while parsing, so that no depth of text recurses."""

    def disjunction(self, *parts: _Part) -> _Part:
        return _Part(Or(tuple(part.node for part in parts)), max(part.depth for part in parts))

    def conjunction(self, *parts: _Part) -> _Part:
        return _Part(And(tuple(part.node for part in parts)), max(part.depth for part in parts))

    def chain(self, first: _Part, *rest: Any) -> _Part:
        operators, parts = rest[::2], rest[1::2]
        pairs = tuple((word.lower(), part.node) for word, part in zip(operators, parts, strict=True))
        return _Part(Chain(first.node, pairs), max(part.depth for part in (first, *parts)))

    def negated(self, _: lark.Token, part: _Part) -> _Part:
        return part.below(Not(part.node))

    def group(self, part: _Part) -> _Part:
        return part.below(part.node)

    def predicate(self, test: Predicate, weight: lark.Token | None) -> _Part:
        if weight is None:
            return _Part(test, 0)
        value = float(_literal(weight))
        if not value > 0:
            raise _token_error("a weight is above zero", weight)
        return _Part(Predicate(test.attribute, test.operator, test.operands, value), 0)

    def comparison(self, attribute: str, operator: str, operand: lark.Token) -> Predicate:
        return Predicate(attribute, operator, (_literal(operand),))

    def interval(self, attribute: str, operator: str, low: lark.Token, high: lark.Token) -> Predicate:
        bounds = (_literal(low), _literal(high))
        if _comparable(bounds[0]) > _comparable(bounds[1]):
            raise _token_error("nothing lies between these bounds", high)
        return Predicate(attribute, operator, bounds)

    def membership(self, attribute: str, operator: str, *members: lark.Token) -> Predicate:
        if len(members) > MEMBERS_MAX:
            raise ReferenceError(f"more than {MEMBERS_MAX} members in a set")
        return Predicate(attribute, operator, tuple(_literal(member) for member in members))

    def regular_expression(self, attribute: str, operator: str, operand: lark.Token) -> Predicate:
        pattern = _string(operand)
        if len(pattern) > PATTERN_CHARACTERS_MAX:
            raise _token_error(f"a regular expression of more than {PATTERN_CHARACTERS_MAX} characters", operand)
        try:
            _compiled(pattern)
        except re2.error as error:
            raise _token_error(f"no regular expression ({error.args[0]!r})", operand) from None
        return Predicate(attribute, operator, (pattern,))

    def presence(self, operator: lark.Token, attribute: str) -> Predicate:
        return Predicate(attribute, operator.lower())

    def attribute(self, name: lark.Token) -> str:
        return name[1:-1].replace("``", "`") if name.type == "QUOTED_NAME" else str(name)

    def operator(self, *words: lark.Token) -> str:
        return " ".join(words).lower()

    equality = order = between = element = substring = matches = operator


@functools.cache
def _grammar() -> lark.Lark:
    text = (_ROOT / "docs" / "language.lark").read_text(encoding="utf-8")
    return lark.Lark(text, parser="lalr", lexer="basic", transformer=_Builder())


def _token_error(why: str, token: lark.Token) -> ReferenceError:
    return ReferenceError(why, (token.start_pos or 0) + 1, str(token))


def _literal(token: lark.Token) -> Value:
    if token.type == "BOOLEAN":
        return token.lower() == "true"
    if token.type == "STRING":
        return _string(token)
    if re.fullmatch("[+-]?[0-9]+", token):
        if len(token) > len("-9223372036854775808") or int(token) not in _INT64:
            raise _token_error("a whole number beyond 64 bits", token)
        return int(token)
    number = float(token)
    if math.isinf(number):
        raise _token_error("a number beyond the largest double", token)
    return _number(number)


def _string(token: lark.Token) -> str:
    def unescaped(escape: re.Match[str]) -> str:
        body = escape[0][1:]
        return chr(int(body[1:], 16)) if body[0] == "u" else {"n": "\n", "t": "\t", "r": "\r"}.get(body, body)

    # The grammar lets escaped surrogates pass in pairs only: UTF-16 joins them.
    units = re.sub(r"\\(?:u[0-9A-Fa-f]{4}|.)", unescaped, token[1:-1])
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _number(value: float) -> int | float:
    """A double that is integral and fits int64 becomes a long."""
    return int(value) if value.is_integer() and int(value) in _INT64 else value


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem = PATTERN_PROGRAM_BYTES_MAX
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


def canonical(node: Node) -> str:
    match node:
        case Predicate(weight=weight):
            return _without_weight(node) + ("" if weight == 1 else f" weight {literal(weight)}")
        case Or():
            return " or ".join(map(canonical, node.children))
        case And():
            return " and ".join(_within(child, Or, Chain) for child in node.children)
        case Chain():
            rest = "".join(f" {operator} {_within(child, Or, Chain)}" for operator, child in node.rest)
            return _within(node.first, Or) + rest
        case Not():
            return "not " + _within(node.child, Or, Chain, And)


def _within(child: Node, *looser: type) -> str:
    return f"({canonical(child)})" if isinstance(child, looser) else canonical(child)


def _without_weight(predicate: Predicate) -> str:
    name, operator = attribute_name(predicate.attribute), predicate.operator
    if operator in {"exists", "missing"}:
        return f"{operator} {name}"
    if operator in {"in", "not in"}:
        members = sorted(predicate.operands, key=_comparable)
        return f"{name} {operator} ({', '.join(dict.fromkeys(map(literal, members)))})"
    return f"{name} {operator} {' and '.join(map(literal, predicate.operands))}"


def attribute_name(name: str) -> str:
    if _BARE_NAME.fullmatch(name) and not _NO_BARE_NAME.fullmatch(name):
        return name
    return "`" + name.replace("`", "``") + "`"


def literal(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(_number(value))
    if isinstance(value, int):
        return str(value)
    short = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(short.get(c, c if c >= " " else f"\\u{ord(c):04x}") for c in value) + '"'


def evaluate(node: Node, event: Mapping[str, Any]) -> Truth:
    return _truth(node, checked(event))


def checked(event: Mapping[str, Any]) -> dict[str, Value]:
    """The attributes that have a value."""
    name: Any
    for name, value in event.items():
        if not isinstance(name, str) or _SURROGATE.search(name):
            raise EventProblem(f"the attribute name {name!r} is no Unicode string")
        if isinstance(value, str) and _SURROGATE.search(value):
            raise EventProblem(f"{name!r} holds a lone surrogate")
        if isinstance(value, int) and value not in _INT64:
            raise EventProblem(f"{name!r} is beyond 64 bits")
        if value is not None and not isinstance(value, Value):
            raise EventProblem(f"{name!r} is of type {type(value).__name__}")
    return {name: value for name, value in event.items() if value is not None and value == value}  # noqa: PLR0124 - NaN


def _truth(node: Node, values: Mapping[str, Value]) -> Truth:
    match node:
        case Predicate():
            return _predicate_truth(node, values)
        case Not():
            return {True: False, False: True, None: None}[_truth(node.child, values)]
        case And():
            truths = [_truth(child, values) for child in node.children]
            return False if False in truths else None if None in truths else True
        case Or():
            truths = [_truth(child, values) for child in node.children]
            return True if True in truths else None if None in truths else False
        case Chain():
            result = _truth(node.first, values)
            for operator, child in node.rest:
                side = _truth(child, values)
                result = None if result is None or side is None else (result != side) == (operator == "xor")
            return result


_TESTS: dict[str, Callable[..., bool]] = {
    "=": lambda value, operand: value == operand,
    "!=": lambda value, operand: value != operand,
    "<": lambda value, operand: value < operand,
    "<=": lambda value, operand: value <= operand,
    ">": lambda value, operand: value > operand,
    ">=": lambda value, operand: value >= operand,
    "between": lambda value, low, high: low <= value <= high,
    "in": lambda value, *members: value in members,
    "starts with": lambda value, operand: value.startswith(operand),
    "ends with": lambda value, operand: value.endswith(operand),
    "contains": lambda value, operand: operand in value,
    "matches": lambda value, operand: _compiled(operand.decode()).search(value) is not None,
}


def _predicate_truth(predicate: Predicate, values: Mapping[str, Value]) -> Truth:
    value = values.get(predicate.attribute)
    if predicate.operator in {"exists", "missing"}:
        return (value is not None) == (predicate.operator == "exists")
    if value is None or _family(value) != _family(predicate.operands[0]):
        return None
    holds = _TESTS[predicate.operator.removeprefix("not ")](*map(_comparable, (value, *predicate.operands)))
    return holds != predicate.operator.startswith("not ")


def _family(value: Value) -> str:
    return "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"


def _comparable(value: Value) -> Any:
    """Strings as their bytes; Python compares int and float by exact value."""
    return value.encode() if isinstance(value, str) else value


def score(node: Node, event: Mapping[str, Any], weights: Mapping[str, float]) -> float:
    """The sum of weights of the predicates that speak for the expression, in doubles, from left to right."""
    values, total = checked(event), 0.0
    for predicate, negated in occurrences(node):
        if _predicate_truth(predicate, values) is (not negated):
            total += predicate.weight * float(weights.get(predicate.attribute, 1.0))
    return total


def occurrences(node: Node, *, negated: bool = False) -> Iterator[tuple[Predicate, bool]]:
    """Every predicate in the order of the text, and whether an odd number of `not` encloses it."""
    match node:
        case Predicate():
            yield node, negated
        case Not():
            yield from occurrences(node.child, negated=not negated)
        case And() | Or():
            for child in node.children:
                yield from occurrences(child, negated=negated)
        case Chain():
            for child in (node.first, *(child for _, child in node.rest)):
                yield from occurrences(child, negated=negated)


def cases(name: str) -> list[dict[str, Any]]:
    """`tests/cases/<name>.json`, its repetitions written out and its special doubles made."""
    text = (_ROOT / "tests" / "cases" / f"{name}.json").read_text(encoding="utf-8")
    loaded: list[dict[str, Any]] = json.loads(text, object_hook=_special)
    return [{key: _joined(value) for key, value in case.items()} for case in loaded]


def _joined(value: Any) -> Any:
    """A text may be a list of its parts; any other list stays one."""
    is_text_in_parts = isinstance(value, list) and all(isinstance(part, str) for part in value)
    return "".join(value) if is_text_in_parts else value


def _special(item: dict[str, Any]) -> Any:
    if item.keys() == {"$double"}:
        return float(item["$double"])
    return item["repeat"] * item["times"] if item.keys() == {"repeat", "times"} else item
