"""Promises of `parse`, `Expression` and `parse_many` that no case in tests/cases can state."""

import copy
import gc
import pickle
import resource
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from tamis.indexes.columnar import Expressions, parse_many
from tamis.indexes.errors import EventError, ExpressionError
from tamis.indexes.expressions import UNBOUNDED, Expression, parse
from tamis.indexes.limits import Limits
from tamis.indexes.printing import Predicate

EVERYTHING = (
    'a = 1 and `b c` in ("x", "y", "z") or not d matches "^k+$" weight 2 xor e between "l" and "m" and f = true'
)


class TestTexts:
    @pytest.mark.parametrize("text", [None, 1, b"a = 1", ["a = 1"]])
    def test_what_is_no_text_is_a_type_error(self, text: Any) -> None:
        with pytest.raises(TypeError):
            parse(text)
        with pytest.raises(TypeError):
            parse_many([text])

    def test_a_refused_pattern_is_forgotten_with_its_text(self) -> None:
        """The next text's string takes over its id, and is no pattern."""
        with pytest.raises(ExpressionError):
            parse('first matches "second" and')
        assert parse('first = "[unheard"').text == 'first = "[unheard"'

    def test_a_wrong_pattern_is_told_to_the_caller_only(self, capfd: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(ExpressionError):
            parse('a matches "(unheard"')
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("text", ['a between "{short}" and "{long}"', 'a in ("{short}", "{long}")'])
    def test_a_string_stays_itself_while_a_longer_one_is_read(self, text: str) -> None:
        """A parser that was never used has no room for both yet."""
        text = text.format(short="a" * 20, long="b" * 9000)
        assert parse(text, Limits(text_bytes=10_000)).text == text


class TestLimits:
    @pytest.mark.parametrize(
        ("limits", "within", "beyond"),
        [
            (Limits(text_bytes=9), "abc = 123", "abc = 1234"),
            (Limits(text_bytes=9), 'a = "é1"', 'a = "éé1"'),
            (Limits(predicates=2), "a = 1 or b = 2", "a = 1 or b = 2 or c = 3"),
            (Limits(depth=2), "not (a = 1)", "not (not a = 1)"),
            (Limits(depth=2), "(a = 1) or ((b = 2))", "(a = 1) or (((b = 2)))"),
            (Limits(depth=1), "not a = 1 and not b = 1", "not a = 1 and not not b = 1"),
            (Limits(set_members=2), "a in (1, 1)", "a in (1, 1, 1)"),
            (Limits(pattern_characters=3), 'a matches "ééé"', 'a matches "éééé"'),
            (Limits(pattern_bytes=4000), 'a matches "abc"', r'a matches "(\\pL{5}){5}"'),
        ],
    )
    def test_what_is_at_a_limit_is_within_it(self, limits: Limits, within: str, beyond: str) -> None:
        assert parse(within, limits) == parse(within)
        parse(beyond)
        with pytest.raises(ExpressionError):
            parse(beyond, limits)
        taken, errors = parse_many([within, beyond], limits)
        assert [expression.text for expression in taken] == [parse(within).text]
        assert [position for position, _error in errors] == [1]

    def test_a_canonical_form_beyond_the_limit_is_refused(self) -> None:
        """So that every expression's text parses under the limits that it was written under."""
        limits = Limits(text_bytes=20)
        with pytest.raises(ExpressionError, match="canonical form has 30 bytes"):
            parse('a="\x01\x02"or b<1e3', limits)
        assert len(parse_many(['a="\x01\x02"or b<1e3'], limits)[1]) == 1

    @pytest.mark.parametrize("name", ["text_bytes", "predicates", "depth", "set_members", "pattern_bytes"])
    @pytest.mark.parametrize("value", [0, -1, 2**28])
    def test_a_limit_out_of_range_is_refused_by_name(self, name: str, value: int) -> None:
        with pytest.raises(ValueError, match=name):
            Limits(**{name: value})

    def test_depth_cannot_be_set_beyond_what_the_stack_bears(self) -> None:
        limits = Limits(depth=1000)
        assert parse("not " * 1000 + "a = 1", limits).evaluate({"a": 1}) is True
        with pytest.raises(ValueError, match="depth"):
            Limits(depth=1001)

    @pytest.mark.parametrize(
        "text",
        [
            "not " * 65 + "a = 1",
            " or ".join(["a = 1"] * 4097),
            f'a = "{"x" * 65_536}"',
            f"a in ({', '.join(map(str, range(10_001)))})",
            f'a matches "{"x" * 257}"',
            r'a matches "^\\pL{100}$"',
        ],
        ids=lambda text: text[:20],
    )
    def test_they_bind_who_writes_and_not_what_is_written(self, text: str) -> None:
        with pytest.raises(ExpressionError):
            parse(text)
        expression = parse(text, UNBOUNDED)
        assert pickle.loads(pickle.dumps(expression)) == expression

    def test_a_pattern_within_a_higher_limit_is_searched_for(self) -> None:
        expression = parse(r'a matches "^\\pL{100}$"', Limits(pattern_bytes=1 << 24))
        assert expression.evaluate({"a": "é" * 100}) is True
        assert expression.evaluate({"a": "é" * 99}) is False


class TestExpression:
    def test_it_is_made_by_parse_only(self) -> None:
        with pytest.raises(TypeError, match="parse"):
            Expression()

    def test_equal_ones_are_one_in_a_set(self) -> None:
        assert (
            len({parse("a=1 AND b in (2,1)"), parse("a = 1 and b in (1, 2, 2)"), parse("b in (1, 2) and a = 1")}) == 2
        )
        assert parse("a = 1") != "a = 1"

    def test_copies_and_pickles_are_equal(self) -> None:
        expression = parse(EVERYTHING)
        assert copy.deepcopy(expression) == expression
        assert pickle.loads(pickle.dumps(expression)) == expression

    def test_its_representation_is_code(self) -> None:
        assert repr(parse("a='x'")) == "parse('a = \"x\"')"

    def test_predicates_are_plain_objects(self) -> None:
        assert parse('not a < 1.5 weight 3 or b not in ("y", "x") and exists `c d`').predicates == (
            Predicate("a", "<", (1.5,), 3.0),
            Predicate("b", "not in", ("x", "y")),
            Predicate("c d", "exists", ()),
        )

    def test_it_goes_with_objects_that_refer_to_each_other(self) -> None:
        """Such are collected piece by piece; an expression keeps what it needs to go."""
        gc.collect()
        keeper = parse("only = 'keeper'")
        before = len(keeper.vocabulary)
        for _ in range(100):
            circle: list[Any] = [parse('a = "only here" and only_here_too = 1')]
            circle.append(circle)
            del circle
        gc.collect()
        assert len(keeper.vocabulary) == before

    def test_strings_go_with_the_last_expression_that_names_them(self) -> None:
        keeper = parse("only = 'keeper'")
        vocabulary = keeper.vocabulary
        gc.collect()
        held = len(vocabulary)
        for _ in range(3):
            parse(EVERYTHING.replace("k+", "unheard"))
            list(parse_many([EVERYTHING])[0])
            for wrong in ("new1 = 'new2' and", "new3 in ('new4', 'new5', 6)", "new6 matches '('"):
                with pytest.raises(ExpressionError):
                    parse(wrong)
        gc.collect()
        assert len(vocabulary) == held
        assert keeper.text == 'only = "keeper"'

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a = 0", 3),
            ("a = -2147483648", 3),
            ("a = 2147483648", 4),
            ("a = 0.5 weight 2", 6),
            ("a in (1, 2, 3)", 6),
            ("a = 1 and b = 2", 8),
            ("not a = 1", 4),
            (" xor ".join(["a = 1"] * 33), 102),
        ],
    )
    def test_its_memory_is_four_bytes_a_word(self, text: str, words: int) -> None:
        bare = parse("exists a").memory_bytes() - 2 * 4
        assert parse(text).memory_bytes() == bare + words * 4

    def test_its_memory_comes_back(self) -> None:
        """Made and dropped 20,000 times, an expression of 40 kB leaves nothing behind."""
        (expressions, _errors) = parse_many([f"a in ({','.join(map(str, range(10_000)))})"])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(20_000):
            expressions[0]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown * (1 if sys.platform == "darwin" else 1024) < 20_000 * expressions[0].memory_bytes() / 2

    def test_threads_that_parse_at_once_do_not_meet(self) -> None:
        """A pattern is checked by Python code, where another thread may take its turn and parse."""
        wrong: list[str] = []

        def work(worker: int) -> None:
            for number in range(300):
                text = f'name{worker} matches "^p{worker}x{number}$"' if number % 2 else f"only{worker} = {number}"
                found = parse(text).text
                if found != text:
                    wrong.append(found)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert wrong == []


class Repeated(Mapping[str, str]):
    """Each attribute is its name eight times, written anew for whoever asks."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __getitem__(self, name: str) -> str:
        if name not in self.names:
            raise KeyError(name)
        return name * 8

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class TestEvents:
    @pytest.mark.parametrize("kind", [dict, OrderedDict, lambda pairs: MappingProxyType(dict(pairs))])
    def test_an_event_is_any_mapping(self, kind: Any) -> None:
        assert parse("a = 1").evaluate(kind([("a", 1)])) is True

    @pytest.mark.parametrize("test", ["= 'xxxxxxxx'", "matches '^xxxx*x$'"])
    def test_an_event_may_make_its_values_when_asked(self, test: str) -> None:
        """Nothing else holds them then; a pattern as long as the value would take its place in memory."""
        assert parse(f"x {test} and missing y").evaluate(Repeated("x")) is True

    @pytest.mark.parametrize(
        ("event", "said"),
        [
            ({"x": 2**63}, r"attribute 'x': 9223372036854775808 does not fit"),
            ({"x": b"bytes"}, r"attribute 'x': a value is .* not bytes"),
            ({"x": [1]}, r"attribute 'x'.* not list"),
            ({"x": "\ud800"}, r"attribute 'x': its value has a lone surrogate"),
            ({"\ud800": 1}, r"attribute '\\ud800': its name has a lone surrogate"),
            ({1: 1}, r"name is a str, not int: 1"),
        ],
    )
    def test_a_bad_event_is_refused_by_the_attributes_name(self, event: Any, said: str) -> None:
        with pytest.raises(EventError, match=said):
            parse("a = 1").evaluate(event)

    def test_what_is_no_mapping_is_a_type_error(self) -> None:
        with pytest.raises(TypeError, match="mapping"):
            parse("a = 1").evaluate([("a", 1)])  # type: ignore[arg-type]


class TestMany:
    def test_nothing_gives_nothing(self) -> None:
        expressions, errors = parse_many([])
        assert (len(expressions), errors) == (0, [])

    def test_positions_from_either_end(self) -> None:
        expressions, _errors = parse_many(f"a = {number}" for number in range(3))
        assert [expressions[place].text for place in (0, 2, -1, -3)] == ["a = 0", "a = 2", "a = 2", "a = 0"]
        for place in (3, -4):
            with pytest.raises(IndexError):
                expressions[place]
        with pytest.raises(TypeError):
            expressions["0"]  # type: ignore[index]

    def test_shared_strings_are_held_once(self) -> None:
        expressions, _errors = parse_many(['price < 1 and brand = "apple"'] * 1000)
        assert len(expressions.vocabulary) == 3

    def test_what_was_refused_leaves_no_string(self) -> None:
        texts = ['a = "x"', 'e = 1 and f matches "[" and g = 2', 'b = "y" and', 'c matches "("', 'd matches "ok"']
        expressions, errors = parse_many(texts)
        assert [position for position, _error in errors] == [1, 2, 3]
        assert [expression.text for expression in expressions] == [texts[0], texts[4]]
        assert list(expressions) == [parse(texts[0]), parse(texts[4])]
        assert len(expressions.vocabulary) == 4

    def test_memory_is_told_by_part_and_within_the_goal(self) -> None:
        texts = [" and ".join(f"a{d} between {n} and {n + d}" for d in range(5)) for n in range(10_000)]
        expressions, _errors = parse_many(texts)
        parts = expressions.memory_bytes()
        assert set(parts) == {"words", "starts", "strings"}
        assert sum(parts.values()) / len(texts) <= 110

    def test_other_threads_run_meanwhile(self) -> None:
        texts = [f"a = {number} and b < {number}" for number in range(100_000)]
        done = threading.Event()
        turns: list[float] = []

        def tick() -> None:
            while not done.wait(0.001):
                turns.append(time.monotonic())

        ticker = threading.Thread(target=tick, daemon=True)
        ticker.start()
        try:
            began = time.monotonic()
            expressions, _errors = parse_many(texts)
            ended = time.monotonic()
        finally:
            done.set()
            ticker.join()
        assert len(expressions) == len(texts)
        assert sum(began < turn < ended for turn in turns) >= 5

    def test_it_is_made_by_parse_many(self) -> None:
        assert len(Expressions()) == 0
