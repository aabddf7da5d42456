"""Runs with `failing_memory.so` before it: each write of an engine, with each of its requests for memory refused.

    LD_PRELOAD=failing_memory.so python tests/support/memory_faults.py ENGINE

A write that fails leaves an index that says `IndexBroken`, or one that holds and finds what it did before, and takes
the same write when there is memory again. The last line tells how often it was one and the other.
"""

import ctypes
import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from tamis.indexes import ENGINES, EventBatch, Expression, Expressions, Index, IndexBroken, create, parse, parse_many
from variants import EagerPairs

ENGINES[EagerPairs.name] = EagerPairs
_LIBRARY = ctypes.CDLL(None)
_EVENTS: list[dict[str, Any]] = [
    {},
    {"a": 1},
    {"a": 7, "b": 3.5, "name": "long enough to be no short string: anna"},
    {"a": 150, "b": -2, "flag": True, "name": "long enough to be no short string: b"},
    {"a": 2**60, "b": 10, "flag": False, "city": "x"},
    {"b": 55, "city": "a city whose name is far too long", "name": ""},
]
_NAME = "long enough to be no short string"
_TEXTS = [
    "a = 1",
    "a in (1, 7, 150, 2, 3, 4)",
    "a between 3 and 200 and b > 2",
    "a < 10 or b > 40 or flag = true",
    f'name starts with "{_NAME}"',
    f'name between "{_NAME}: a" and "{_NAME}: b" and a > 0',
    f'name > "{_NAME}: aa" or city = "x"',
    f'not (name < "{_NAME}: m")',
    "missing a",
    "exists b and not (a between 5 and 8)",
    "(a = 1 xor b = 10) or flag != true",
    f"a = {2**60} and b = 10",
    "a != 1 or a != 2",
    "a not in (1, 2) and exists a",
    'city contains "far" and b > 0',
]
Contents = dict[int, Expression]
Write = Callable[[Index], object]


def texts(count: int) -> list[str]:
    """Ranges of numbers and strings until trees have nodes, beside one of each kind."""
    ranges = [
        f"a between {number * 3} and {number * 3 + 7 + number % 5 * 20} and b > {number}" for number in range(count)
    ]
    strings = [f'name >= "{_NAME}: {chr(97 + number % 26)}{number}"' for number in range(count)]
    points = [f"a = {number} and b in ({number}, {number + 1})" for number in range(count)]
    return [*_TEXTS, *ranges, *strings, *points]


def new_index(engine: str, contents: Contents) -> Index:
    index = create(engine)
    index.learn(EventBatch.from_events(_EVENTS * 20))
    for number, expression in contents.items():
        index.insert(number, expression)
    return index


def problem(index: Index, contents: Contents) -> str:
    """Why the index is not one of these expressions; nothing if it is."""
    if index.ids().tolist() != sorted(contents):
        return f"it holds {index.ids().tolist()}"
    if any(index[number].text != expression.text for number, expression in contents.items()):
        return "an expression is another one"
    for event in _EVENTS:
        wanted = sorted(number for number, expression in contents.items() if expression.evaluate(event))
        if index.match(event).tolist() != wanted:
            return f"it finds {index.match(event).tolist()}, not {wanted}, for {event}"
    return ""


def is_broken(index: Index) -> bool:
    """Whether it says so, whatever it is asked: or nothing says so."""
    calls: list[Callable[[], object]] = [
        lambda: len(index),
        lambda: 1 in index,
        lambda: index.match({}),
        lambda: index.insert(1, "a = 1"),
        lambda: index.insert_many([], []),
        lambda: index.delete(1),
        lambda: index.learn(EventBatch.from_events([{}])),
        index.maintain,
        index.freeze,
        index.ids,
        index.statistics,
        index.memory_bytes,
    ]
    broken = 0
    for call in calls[:1]:
        try:
            call()
        except IndexBroken:
            broken += 1
    if broken == 0:
        return False
    for call in calls[1:]:
        try:
            call()
        except IndexBroken:
            broken += 1
    assert broken == len(calls), "a broken index answered"
    return True


def refused(index: Index, write: Write, number: int, *, alone: bool) -> tuple[bool, bool]:
    """Whether a request was refused, and whether the write failed for it."""
    _LIBRARY.refuse_from(ctypes.c_long(number), ctypes.c_bool(alone))
    try:
        write(index)
    except MemoryError:
        return _LIBRARY.stop_refusing() > 0, True
    return _LIBRARY.stop_refusing() > 0, False


def check(engine: str, before: Contents, after: Contents, write: Write) -> Counter[str]:
    """The write with each of its requests refused, alone or with all that follow."""
    told: Counter[str] = Counter()
    for alone in (True, False):
        number = 0
        any_refused = True
        while any_refused:
            index = new_index(engine, before)
            any_refused, failed = refused(index, write, number, alone=alone)
            where = f"{engine}, request {number}{' alone' if alone else ''}"
            number += 1
            if is_broken(index):
                assert failed, f"{where}: broken, and nobody was told"
                told["broken"] += 1
                continue
            wrong = problem(index, before if failed else after)
            assert not wrong, f"{where}: {wrong}"
            if failed:
                told["as it was"] += 1
                write(index)
                assert not (wrong := problem(index, after)), f"{where}, once more: {wrong}"
            elif any_refused:
                told["done without"] += 1
            for held in list(after):
                index.delete(held)
            assert problem(index, {}) == ""
            left = index.memory_bytes()
            assert left["structure"] < 20_000, f"{where}: {left} is left"
    return told


def inserting(number: int, expression: Expression) -> Write:
    return lambda index: index.insert(number, expression)


def inserting_many(numbers: list[int], expressions: list[Expression] | Expressions) -> Write:
    return lambda index: index.insert_many(numbers, expressions)


def deleting(number: int) -> Write:
    return lambda index: index.delete(number)


def keeping(read: Callable[[], object], found: list[str]) -> Write:
    return lambda _: found.append(repr(read()))


def check_reading(index: Index, contents: Contents, read: Callable[[], object]) -> Counter[str]:
    """A read with each of its requests refused: it fails or not, and nothing has changed."""
    told: Counter[str] = Counter()
    wanted = repr(read())
    for alone in (True, False):
        number = 0
        any_refused = True
        while any_refused:
            found: list[str] = []
            any_refused, failed = refused(index, keeping(read, found), number, alone=alone)
            number += 1
            assert failed or found == [wanted], f"request {number}: {found}, not {wanted}"
            assert not (wrong := problem(index, contents)), wrong
            told["not read"] += failed
    return told


def main() -> None:
    engine = sys.argv[1]
    told: Counter[str] = Counter()
    all_texts = texts(20)
    contents = {number: parse(text) for number, text in enumerate(all_texts)}
    for number, expression in contents.items():
        others = {other: held for other, held in contents.items() if other != number}
        told += check(engine, others, contents, inserting(number, expression))
        told += check(engine, contents, others, deleting(number))
        by = parse(all_texts[(number * 7 + 3) % len(all_texts)])
        replaced = contents | {number: by}
        told += check(engine, contents, replaced, inserting(number, by))
    some = {number: contents[number] for number in range(0, len(contents), 2)}
    several = list(range(5, 25))
    columns = parse_many([contents[number].text for number in several])[0]
    for many in ([contents[number] for number in several], columns):
        after = some | {number: contents[number] for number in several}
        told += check(engine, some, after, inserting_many(several, many))
    batch = EventBatch.from_events([{"a": 1, "b": number % 3, "name": "x"} for number in range(200)])
    told += check(engine, contents, contents, lambda index: index.learn(batch))

    def tidy(index: Index) -> None:
        index.learn(batch)
        while index.maintain(0.001):
            pass

    told += check(engine, contents, contents, tidy)
    index = new_index(engine, contents)
    events = EventBatch.from_events(_EVENTS, [{"a": 0.5}] * len(_EVENTS))
    told += check_reading(index, contents, lambda: list(index.match_batch(events).ids))
    told += check_reading(index, contents, lambda: index.match_batch(events, scores=True).scores)
    told += check_reading(index, contents, lambda: list(index.top_k_batch(events, 3).ids))
    told += check_reading(index, contents, lambda: len(index.freeze()))
    told += check_reading(index, contents, lambda: index[3].text)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
