"""Many expressions that overlap, and events that meet them: drawn from a seed, so that a failure comes back."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from reference import And, Chain, Node, Not, Or, Predicate, Value

SCALE = float(os.environ.get("TAMIS_TEST_SCALE", "1"))
"""How many times larger than usual the workloads are."""

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_EDGES = (_INT64_MIN, _INT64_MIN + 1, _INT64_MAX - 1, _INT64_MAX, -(2.0**63), float(_INT64_MAX - 1023), 2.0**63, -1e300)
_EXACT = tuple(
    number for base in (1 << 53, -(1 << 53)) for number in (base - 1, base, base + 1, float(base), base + 2.0)
)
_REAL = (0.1, 0.1 + 0.2, 0.3, -0.0, 0.5, 5e-324, -5e-324, 1e-7, 2.5, 1e22, 1.7976931348623157e308)
_PREFIXES = (
    "",
    "a",
    "ab",
    "aba",
    "abab",
    "abb",
    "abc",
    "b",
    "ba",
    "a\0",
    "a\0b",
    "ab ",
    "AB",
    "z" * 40,
    "z" * 40 + "a",
)
_UNICODE = (
    "é",
    "e\u0301",
    "ß",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\U00010000",
    "\U0010ffff",
    "日本",
    "日本語",
    "😀",
    "😀😀",
)
_PATTERNS = ("^a", "b$", "^(?:ab)*$", "", "(?i)^ab", r"^.$", r"\pL", "^z{40}$", "(?s)^.{2}$", "日")

_DOMAINS: dict[str, tuple[Value, ...]] = {
    **{f"small{number}": tuple(range(-3, 30)) for number in range(4)},
    **{f"wide{number}": tuple(range(0, 1_000_000, 9_973)) for number in range(2)},
    "edge": _EDGES,
    "exact": _EXACT,
    "real": _REAL,
    "word": _PREFIXES,
    "naïve name": _UNICODE,
    "flag": (False, True),
    "`mixed`": (0, 1, 1.5, "0", "1", "", False, True),
    "rare": (7, "seven"),
}
_ORDERED = ("<", "<=", ">", ">=")
_OCCURRENCES = ("starts with", "ends with", "contains")
_NEGATED = ("between", "in", "matches", *_OCCURRENCES)
_WEIGHTS = (1.0, 1.0, 1.0, 0.4, 3.0, 1e-9, 1e16, 1e308)


@dataclass(frozen=True, slots=True)
class Workload:
    nodes: Sequence[Node]
    """Some equal to others, some the same as others; all share parts."""
    events: Sequence[dict[str, Any]]
    weights: Sequence[dict[str, float] | None]


def workload(seed: int, expressions: int, events: int) -> Workload:
    random = Random(seed)
    leaves = [_predicate(random) for _ in range(max(40, expressions // 5))]
    parts = [_joined(random, leaves) for _ in range(max(40, expressions // 5))]
    nodes = [_expression(random, leaves, parts) for _ in range(expressions)]
    made = [_event(random) for _ in range(events)]
    weights = [random.choice((None, {}, {name: random.choice((0, 0.5, 2, 1e300)) for name in event})) for event in made]
    return Workload(nodes, made, weights)


def _predicate(random: Random) -> Predicate:
    name = random.choice(tuple(_DOMAINS))
    values = _DOMAINS[name]
    value = random.choice(values)
    family = [other for other in values if _family(other) == _family(value)]
    kinds = ["equal", "in", "presence"]
    kinds += [] if isinstance(value, bool) else ["ordered", "between", "between", "wide"]
    kinds += ["occurs", "occurs", "matches"] if isinstance(value, str) else []
    operands: tuple[Value, ...] = (value,)
    match random.choice(kinds):
        case "equal":
            operator = random.choice(("=", "=", "!="))
        case "in":
            operator, operands = "in", tuple(random.choices(family, k=random.randint(1, 8)))
        case "presence":
            operator, operands = random.choice(("exists", "missing")), ()
        case "ordered":
            operator = random.choice(_ORDERED)
        case "between":
            operator, operands = "between", _ascending(value, random.choice(family))
        case "wide":
            operator, operands = "between", _ascending(family[0], family[-1])
        case "matches":
            operator, operands = "matches", (random.choice(_PATTERNS),)
        case _:
            operator = random.choice(_OCCURRENCES)
    if operator in _NEGATED and random.random() < 0.5:
        operator = f"not {operator}"
    return Predicate(name, operator, operands, random.choice(_WEIGHTS))


def _family(value: Value) -> type:
    return type(value) if isinstance(value, bool | str) else float


def _ascending(low: Any, high: Any) -> tuple[Any, Any]:
    """Strings by code points, which is the order of their bytes."""
    return (low, high) if low <= high else (high, low)


def _joined(random: Random, leaves: Sequence[Node]) -> Node:
    """A part that many expressions have."""
    some = tuple(random.choices(leaves, k=random.randint(2, 4)))
    rest = tuple((random.choice(("xor", "xnor")), node) for node in some[1:])
    return random.choice((And(some), And(some), Or(some), Chain(some[0], rest), Not(And(some)), Not(Or(some))))


def _expression(random: Random, leaves: Sequence[Predicate], parts: Sequence[Node]) -> Node:
    leaf, part, other = random.choice(leaves), random.choice(parts), random.choice(parts)
    several = tuple(random.choices(leaves, k=random.randint(2, 5)))
    likely: dict[Node, int] = {
        leaf: 10,
        And(several): 35,
        Or(several): 10,
        part: 10,
        And((leaf, part, other)): 10,
        Or((And(several), part)): 7,
        Not(Not(Not(Or((part, Not(leaf)))))): 6,
        Chain(part, (("xnor", leaf), ("xor", other))): 4,
        _never_true(random, leaf, part): 8,
    }
    return random.choices(tuple(likely), tuple(likely.values()))[0]


def _never_true(random: Random, leaf: Predicate, part: Node) -> Node:
    nothing = And((Predicate("small0", "<", (5,)), Predicate("small0", ">", (5,))))
    impossible = And((Predicate("rare", "exists"), Predicate("rare", "missing")))
    nodes: tuple[Node, ...] = (
        nothing,
        And((leaf, impossible)),
        And((part, Not(part))),
        Chain(leaf, (("xor", leaf),)),
        And((Predicate("word", "=", ("a",)), Predicate("word", "=", ("ab",)))),
    )
    return random.choice(nodes)


def _event(random: Random) -> dict[str, Any]:
    names = [name for name in _DOMAINS if random.random() < (0.1 if name == "rare" else 0.8)]
    event = {name: _value(random, name) for name in names}
    if random.random() < 0.1:
        event["nobody asks"] = random.choice((1, "x", None))
    return event


def _value(random: Random, name: str) -> Any:
    value = random.choice(_DOMAINS[name])
    chance = random.random()
    if chance < 0.1 and not isinstance(value, bool | str):
        return random.choice(
            (value + 1 if value < _INT64_MAX else value, math.nextafter(value, math.inf), float(value))
        )
    if chance < 0.1 and isinstance(value, str):
        return value + "b"
    if chance < 0.16:  # of another family, or as good as missing
        return random.choice((None, math.nan, math.inf, -math.inf, True, "foreign", 3))
    return value
