"""Expressions of a snapshot, word by word: what the parser makes is taken, what it never makes is refused."""

import copy
import math
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference import canonical
from snapshots import (
    BETWEEN,
    BOOLEAN,
    CHAIN,
    CONJUNCTION,
    CONTAINS,
    DISJUNCTION,
    DOUBLE,
    EQUAL,
    EXISTS,
    IN,
    LESS,
    LONG,
    MATCHES,
    MIXED,
    NEGATION,
    NOTHING,
    SHORT,
    STARTS_WITH,
    STRING,
    Parts,
    connective,
    double,
    long,
    of_words,
    predicate,
    take_apart,
)
from tamis.indexes.engines import create, load
from tamis.indexes.errors import SnapshotError
from tamis.indexes.expressions import UNBOUNDED, parse
from tamis.indexes.index import Index
from workloads import workload

ROOT = Path(__file__).parents[3]

P = predicate(EQUAL, SHORT, 1)
Q = predicate(EXISTS, NOTHING)


def negations(count: int) -> list[int]:
    return [*[NEGATION] * count, *P]


def groups(count: int) -> list[int]:
    """`a = 1 and (a = 1 or a = 1 and (...))`: a group for every two connectives."""
    size, outer = len(P), [P]
    for at in range(count):
        size += 2 + len(P)
        outer.append([(DISJUNCTION if at % 2 else CONJUNCTION) | 2 << 4, size, *P])
    return [word for words in reversed(outer) for word in words]


STRINGS = [b"a", b"b", b"", b"c"]
REFUSED: list[tuple[str, Sequence[int]]] = [
    ("it has no words", []),
    ("words are left over behind it", [*P, *P]),
    ("words are left over behind it", [*P, 0]),
    ("words are left over behind it", [*connective(CONJUNCTION, P, Q), *Q]),
    ("it ends within a node", [NEGATION]),
    ("it ends within a node", [CONJUNCTION | 2 << 4]),
    ("it ends within a node", [CONJUNCTION | 2 << 4, 2 + len(P), *P]),
    ("it ends within a node", [CHAIN | 2 << 4, 3]),
    ("it ends within a node", [CHAIN | (2**28 - 1) << 4, 3, 0]),
    ("it ends within a node", [DISJUNCTION | (2**28 - 1) << 4, 2**32 - 1, *P]),
    ("it is nested too deeply", negations(1_001)),
    ("it is nested too deeply", negations(200_000)),
    ("it is nested too deeply", groups(2_003)),
    ("a negation has unused bits", [NEGATION | 1 << 4, *P]),
    ("a negation has unused bits", [NEGATION | 1 << 31, *P]),
    ("a node is of no kind", [5, 0]),
    ("a node is of no kind", [15, 0, 0]),
    ("a connective is nested in its own kind", connective(CONJUNCTION, connective(CONJUNCTION, P, Q), P)),
    ("a connective is nested in its own kind", connective(DISJUNCTION, P, connective(DISJUNCTION, P, Q))),
    ("a connective is nested in its own kind", connective(CHAIN, connective(CHAIN, P, Q, bits=[0]), P, bits=[0])),
    ("a connective has too few operands", connective(CONJUNCTION, P)),
    ("a connective has too few operands", [DISJUNCTION, 2]),
    ("a connective has too few operands", connective(CHAIN, P, bits=[0])),
    ("a chain has unused bits", connective(CHAIN, P, Q, bits=[2])),
    ("a chain has unused bits", connective(CHAIN, P, Q, P, bits=[1 << 31])),
    ("a chain has unused bits", connective(CHAIN, *[P] * 34, bits=[0, 2])),
    ("a connective tells a wrong size", [CONJUNCTION | 2 << 4, 9, *P, *P]),
    ("a connective tells a wrong size", [CONJUNCTION | 2 << 4, 0, *P, *P]),
    ("a predicate has an unknown operator", predicate(20, SHORT, 1)),
    ("a predicate has an unknown operator", predicate(31, NOTHING)),
    ("a predicate has an unknown operator", [P[0] | 1 << 16, *P[1:]]),
    ("a predicate has an unknown operator", [P[0] | 1 << 31, *P[1:]]),
    ("it ends within a predicate", P[:1]),
    ("it ends within a predicate", P[:2]),
    ("it ends within a predicate", predicate(EQUAL, LONG, 1)),
    ("it ends within a predicate", predicate(EQUAL, SHORT, 1, weight=0.5)[:-1]),
    ("it ends within a predicate", predicate(IN, SHORT)),
    ("it ends within a predicate", predicate(IN, SHORT, 3, 1, 2)),
    ("it ends within a predicate", predicate(IN, MIXED, 2**32 - 1, 2, 1, 0)),
    ("exists or missing has an operand", predicate(EXISTS, SHORT, 1)),
    ("exists or missing has an operand", predicate(EXISTS + 1, NOTHING, 1, second=SHORT)),
    ("a range has wrong operands", predicate(BETWEEN, BOOLEAN, 0, 1, second=BOOLEAN)),
    ("a range has wrong operands", predicate(BETWEEN, SHORT, 0)),
    ("a range has wrong operands", predicate(BETWEEN + 1, SHORT, 0, 0, 0, 0, second=MIXED)),
    ("a range has wrong operands", predicate(BETWEEN, NOTHING, 0, second=SHORT)),
    ("a range has operands of two families", predicate(BETWEEN, SHORT, 0, 1, second=STRING)),
    ("a range has operands of two families", predicate(BETWEEN, STRING, 0, *double(1.5), second=DOUBLE)),
    ("a predicate has too many operands", predicate(EQUAL, SHORT, 1, 1, second=SHORT)),
    ("a predicate has too many operands", predicate(IN, SHORT, 1, 1, second=SHORT)),
    ("a predicate on strings has another operand", predicate(STARTS_WITH, SHORT, 1)),
    ("a predicate on strings has another operand", predicate(CONTAINS + 1, BOOLEAN, 1)),
    ("a predicate on strings has another operand", predicate(MATCHES, NOTHING)),
    ("a predicate has no operand", predicate(EQUAL, NOTHING)),
    ("a predicate has no operand", predicate(LESS, MIXED, 2, 1, 0)),
    ("a predicate has no operand", predicate(IN, 7, 1, 1)),
    ("booleans have no order", predicate(LESS, BOOLEAN, 1)),
    ("an attribute has no name", predicate(EQUAL, SHORT, 1, attribute=2)),
    ("an attribute has no name", predicate(EXISTS, NOTHING, attribute=2)),
    ("a range is empty", predicate(BETWEEN, SHORT, 1, 0, second=SHORT)),
    ("a range is empty", predicate(BETWEEN, DOUBLE, *double(1.5), 1, second=SHORT)),
    ("a range is empty", predicate(BETWEEN, LONG, *long(2**40), 1, second=SHORT)),
    ("a range is empty", predicate(BETWEEN, SHORT, 0, 2**32 - 1, second=SHORT)),
    ("a range is empty", predicate(BETWEEN, STRING, 1, 0, second=STRING)),
    ("a range is empty", predicate(BETWEEN, STRING, 0, 2, second=STRING)),
    *[
        ("a weight is not above zero, not finite, or 1", predicate(EQUAL, SHORT, 1, weight=weight))
        for weight in (0.0, -0.0, -1.0, 1.0, math.inf, -math.inf, math.nan)
    ],
    ("a set is empty", predicate(IN, SHORT, 0)),
    ("a set is empty", predicate(IN + 1, MIXED, 0)),
    ("a set has a member of no type", predicate(IN, MIXED, 2, SHORT, 1, 0, DOUBLE, *double(2.5))),
    ("a set has a member of no type", predicate(IN, MIXED, 2, LONG, *long(1), STRING, 0, 0)),
    ("a set has a member of no type", predicate(IN, MIXED, 2, LONG, *long(1), 2**31, 0, 0)),
    ("the members of a set do not ascend", predicate(IN, SHORT, 2, 1, 1)),
    ("the members of a set do not ascend", predicate(IN, SHORT, 2, 0, 2**32 - 1)),
    ("the members of a set do not ascend", predicate(IN, STRING, 2, 1, 0)),
    ("the members of a set do not ascend", predicate(IN, BOOLEAN, 3, 0, 1, 1)),
    ("the members of a set do not ascend", predicate(IN, DOUBLE, 2, *double(2.5), *double(1.5))),
    ("the members of a set do not ascend", predicate(IN, MIXED, 2, DOUBLE, *double(2.5), LONG, *long(2))),
    ("the members of a set do not ascend", predicate(IN, LONG, 2, *long(2**40), *long(2**40))),
    ("a set is wider than its members", predicate(IN, MIXED, 2, LONG, *long(1), LONG, *long(2))),
    ("a set is wider than its members", predicate(IN, MIXED, 1, DOUBLE, *double(1.5))),
    ("a set is wider than its members", predicate(IN, LONG, 2, *long(-(2**31)), *long(2**31 - 1))),
    ("a boolean is neither false nor true", predicate(EQUAL, BOOLEAN, 2)),
    ("a boolean is neither false nor true", predicate(IN, BOOLEAN, 2, 0, 2**32 - 1)),
    ("a long is wider than it need be", predicate(EQUAL, LONG, *long(2**31 - 1))),
    ("a long is wider than it need be", predicate(LESS, LONG, *long(-(2**31)))),
    *[
        ("a double is not finite", predicate(EQUAL, DOUBLE, *double(value)))
        for value in (math.inf, -math.inf, math.nan)
    ],
    ("a double is not finite", predicate(IN, DOUBLE, 1, *double(math.nan))),
    ("a double is not finite", predicate(BETWEEN, SHORT, 0, *double(math.nan), second=DOUBLE)),
    *[("a double is a long", predicate(EQUAL, DOUBLE, *double(value))) for value in (0.0, -0.0, 2.0, -(2.0**63))],
    ("a double is a long", predicate(IN, MIXED, 2, LONG, *long(1), DOUBLE, *double(2.0))),
    ("it mentions a string that is not there", predicate(EQUAL, SHORT, 1, attribute=4)),
    ("it mentions a string that is not there", predicate(EQUAL, STRING, 2**32 - 1)),
    ("it mentions a string that is not there", predicate(IN, STRING, 2, 2, 5)),
    ("it mentions a string that is not there", predicate(MATCHES, STRING, 9)),
]
UNREACHED = {
    "it has too many words",  # only in a file of 1 GiB
    "it mentions a string too often",  # only in a file of 16 GiB
}

ACCEPTED: list[tuple[str, Sequence[int]]] = [
    ("a = 1", P),
    ("exists a", Q),
    ("not " * 1_000 + "a = 1", negations(1_000)),
    ("a = 1 and (a = 1 or " * 1_000 + "a = 1 and a = 1" + ")" * 1_000, groups(2_001)),
    ("a = 1 and exists a", connective(CONJUNCTION, P, Q)),
    ("a = 1 xor exists a xnor a = 1", connective(CHAIN, P, Q, P, bits=[2])),
    ("a = 1 xor (a = 1 xnor exists a)", connective(CHAIN, P, connective(CHAIN, P, Q, bits=[1]), bits=[0])),
    (" xor ".join(["a = 1"] * 33), connective(CHAIN, *[P] * 33, bits=[0])),
    (" xnor ".join(["a = 1"] * 34), connective(CHAIN, *[P] * 34, bits=[2**32 - 1, 1])),
    ('a = ""', predicate(EQUAL, STRING, 2)),
    ("a < -1", predicate(LESS, SHORT, 2**32 - 1)),
    ("a = 2147483648", predicate(EQUAL, LONG, *long(2**31))),
    ("a = 9.223372036854776e+18", predicate(EQUAL, DOUBLE, *double(2.0**63))),
    ("a in (1, 1.5, 2147483648)", predicate(IN, MIXED, 3, LONG, *long(1), DOUBLE, *double(1.5), LONG, *long(2**31))),
    ("a in (1, 2147483648)", predicate(IN, LONG, 2, *long(1), *long(2**31))),
    ("a in (false, true)", predicate(IN, BOOLEAN, 2, 0, 1)),
    ('a between "" and "c" weight 5e-324', predicate(BETWEEN, STRING, 2, 3, second=STRING, weight=5e-324)),
    ("a not between 1 and 1.5", predicate(BETWEEN + 1, SHORT, 1, *double(1.5), second=DOUBLE)),
]


class TestWords:
    @pytest.mark.parametrize(("reason", "words"), REFUSED)
    def test_what_the_parser_never_makes_is_refused(self, reason: str, words: Sequence[int], tmp_path: Path) -> None:
        """Behind a good one, so that the message has to say which."""
        with pytest.raises(SnapshotError, match=re.escape(f"expression 1 is none: {reason}")):
            load(of_words([P, words], STRINGS).write(tmp_path / "snapshot"))

    def test_every_reason_is_tested(self) -> None:
        source = (ROOT / "indexes" / "validation.pyx").read_text()
        assert set(re.findall(r'refuse\("([^"]+)"\)', source)) == {reason for reason, _ in REFUSED} | UNREACHED

    @pytest.mark.parametrize(("text", "words"), ACCEPTED, ids=lambda part: str(part)[:40])
    def test_what_the_parser_makes_is_taken(self, text: str, words: Sequence[int], tmp_path: Path) -> None:
        loaded = load(of_words([words], STRINGS).write(tmp_path / "snapshot"))
        assert loaded[0].text == text
        assert loaded[0] == parse(text, UNBOUNDED)
        assert_sound(loaded, tmp_path)


def assert_sound(index: Index, folder: Path) -> None:
    """Its texts say what it holds, and saving it twice gives the same bytes."""
    for number in index.ids().tolist():
        expression = index[number]
        assert parse(expression.text, UNBOUNDED) == expression
    index.save(folder / "first")
    load(folder / "first").save(folder / "second")
    assert (folder / "first").read_bytes() == (folder / "second").read_bytes()


def mutated(whole: NDArray[Any], random: Random) -> NDArray[Any]:
    """A word or two changed, moved, doubled or left out."""
    words = whole.tolist()
    most = np.iinfo(whole.dtype).max
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(words)) if words else 0
        match random.randrange(7):
            case 0 if words:
                words[at] ^= 1 << random.randrange(whole.dtype.itemsize * 8)
            case 1 if words:
                words[at] = random.choice((0, 1, 2, most, most // 2, len(words)))
            case 2 if words:
                words[at] = random.choice(words)
            case 3 if words:
                words[at] = (words[at] + random.choice((-1, 1, 16))) % (most + 1)
            case 4:
                words.insert(at, random.choice((0, 1, most, words[at] if words else 7)))
            case 5 if words:
                del words[at]
            case _:
                first, last = sorted((at, random.randrange(len(words) + 1)))
                words[first:last] = reversed(words[first:last])
    return np.array(words, whole.dtype)


SECTIONS = ("words", "words", "words", "words", "starts", "string_starts", "string_bytes", "ids")


@pytest.mark.parametrize("seed", range(8))
def test_changed_words_are_refused_or_harmless(seed: int, tmp_path: Path) -> None:
    """With right checksums: what is taken is sound, and meets events without harm."""
    random = Random(seed)
    made = workload(seed, expressions=12, events=5)
    index = create()
    index.insert_many(range(12), [canonical(node) for node in made.nodes])
    index.save(tmp_path / "good")
    good = take_apart(tmp_path / "good")
    taken = 0
    for _ in range(400):
        parts = copy.deepcopy(good)
        section = random.choice(SECTIONS)
        parts.sections[section] = mutated(parts.sections[section], random)
        if section == "words":  # mostly those whose places still fit, or nothing but that is ever found
            fit_to(parts, random)
        try:
            loaded = load(parts.write(tmp_path / "changed"))
        except SnapshotError:
            continue
        taken += 1
        assert_sound(loaded, tmp_path)
        for event in made.events:
            expected = [number for number in loaded.ids().tolist() if loaded[number].evaluate(event) is True]
            assert loaded.match(event).tolist() == expected
    assert 20 < taken < 380


def fit_to(parts: Parts, random: Random) -> None:
    """Let the starts say how many words there are now."""
    starts = parts.sections["starts"].astype(np.int64)
    more = len(parts.sections["words"]) - int(starts[-1])
    starts[random.randrange(1, len(starts)) :] += more
    parts.sections["starts"] = np.maximum(starts, 0).astype(np.uint64)
