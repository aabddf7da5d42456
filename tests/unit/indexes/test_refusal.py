"""What is said of a text that is no expression, as `parse` says it."""

import pytest

from tamis.indexes.errors import ExpressionError
from tamis.indexes.expressions import DEFAULT_LIMITS, parse
from tamis.indexes.limits import Limits

OPERANDS = ("not", "exists", "missing", "(", "an attribute")
NEGATABLE = ("between", "in", "starts", "ends", "contains", "matches")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
CONNECTIVES = ("and", "or", "xor", "xnor")


def refused(text: str, limits: Limits = DEFAULT_LIMITS) -> ExpressionError:
    with pytest.raises(ExpressionError) as refusal:
        parse(text, limits)
    return refusal.value


class TestReason:
    @pytest.mark.parametrize(
        ("text", "column", "found", "reason"),
        [
            ("a = ∞", 5, "∞", "'∞' begins no name, number, string or operator"),
            ('b = 1 and a = "x', 15, '"x', "closing quote is missing"),
            ('a = "x\\', 5, '"x\\', "closing quote is missing"),
            ('a = "\\u0041', 5, '"\\u0041', "closing quote is missing"),
            ("b = 1 or `a", 10, "`a", "closing backtick is missing"),
            ('a = "x\\qy"', 7, "\\q", "is no escape"),
            ('a = "x\\éy"', 7, "\\é", "is no escape"),
            ('a = "x\\u12"', 7, "\\u", "is no escape"),
            ('a = "x\\ud800y"', 7, "\\ud800", "a surrogate stands alone"),
            ('a = "x\ud800y"', 7, "\ud800", "a surrogate stands alone"),
            ("b = 1 or `` = 1", 10, "``", "an attribute's name is not empty"),
            ("exists Null", 8, "Null", "'Null' is a reserved word: in backticks, `Null`, it is a name"),
            ("a = null", 5, "null", "'null' stands where true, false, a number or a string is expected"),
            ("a = 1and b", 5, "1and", "'1and' is no number"),
            ("a = 1.5.5e é", 5, "1.5.5e", "is no number"),
            ("a = 01", 5, "01", "is no number"),
            ("a = -", 5, "-", "is no number"),
            ("a = 9223372036854775808", 5, "9223372036854775808", "does not fit a long"),
            ("a = -1e309", 5, "-1e309", "is beyond the largest double"),
            ('a in (1, "x")', 10, '"x"', "'\"x\"' is of another family"),
            ('a between 1 and "b"', 17, '"b"', "is of another family"),
            ("a between 5 and 2", 17, "2", "'2' is below the range's beginning"),
            ("a = 1 weight 0", 14, "0", "a weight is greater than zero"),
            ('a matches "x" and b matches "("', 29, '"("', "'\"(\"' is no regular expression: missing )"),
        ],
    )
    def test_each_has_its_place_and_its_reason(self, text: str, column: int, found: str, reason: str) -> None:
        error = refused(text)
        assert (error.column, error.found) == (column, found)
        assert reason in str(error).splitlines()[0]

    @pytest.mark.parametrize(
        ("limits", "text", "column", "found", "reason"),
        [
            (Limits(text_bytes=9), "abc = 1234", 10, "4", "the text has more than 9 bytes"),
            (Limits(text_bytes=9), 'a = "éé1"', 8, '1"', "the text has more than 9 bytes"),
            (
                Limits(text_bytes=9),
                'a=\'"""\'',
                1,
                'a=\'"""\'',
                "its canonical form has 12 bytes of UTF-8, more than 9",
            ),
            (Limits(predicates=1), "a = 1 or b = 2", 10, "b", "too many predicates"),
            (Limits(depth=1), "not (a = 1)", 5, "(", "nested too deeply"),
            (Limits(set_members=2), "a in (1, 1, 2)", 13, "2", "too many members"),
            (Limits(pattern_characters=3), 'a matches "éééé"', 11, '"éééé"', "too many characters"),
        ],
    )
    def test_a_limit_says_what_exceeds_it(
        self, limits: Limits, text: str, column: int, found: str, reason: str
    ) -> None:
        error = refused(text, limits)
        assert (error.column, error.found) == (column, found)
        assert reason in str(error).splitlines()[0]

    def test_what_was_found_is_cut_where_it_is_long(self) -> None:
        assert f"'{'9' * 60}...' does not fit" in str(refused(f"a = {'9' * 61}"))
        assert f"'{'9' * 60}' does not fit" in str(refused(f"a = {'9' * 60}"))


class TestExpected:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", OPERANDS),
            ("(", OPERANDS),
            ("a = 1 and not", OPERANDS),
            ("exists", ("an attribute",)),
            ("a", ("not", *NEGATABLE, *COMPARISONS)),
            ("a not", NEGATABLE),
            ("a =", ("true", "false", "a number", "a string")),
            ("a != x", ("true", "false", "a number", "a string")),
            ("a <", ("a number", "a string")),
            ("a between", ("a number", "a string")),
            ("a between 1", ("and",)),
            ("a between 1 and", ("a number", "a string")),
            ("a in", ("(",)),
            ("a in (", ("true", "false", "a number", "a string")),
            ("a in (1", (")", ",")),
            ("a starts", ("with",)),
            ("a not ends with", ("a string",)),
            ("a contains", ("a string",)),
            ("a = 1 weight", ("a number",)),
            ("a = 1 b", (*CONNECTIVES, "weight", "end of text")),
            ("exists a b", (*CONNECTIVES, "weight", "end of text")),
            ("a = 1 weight 2 b", (*CONNECTIVES, "end of text")),
            ("(a = 1) b", (*CONNECTIVES, "end of text")),
            ("(a = 1 b", (*CONNECTIVES, "weight", ")")),
            ("((a = 1) b", (*CONNECTIVES, ")")),
        ],
    )
    def test_it_is_what_the_grammar_takes_there(self, text: str, expected: tuple[str, ...]) -> None:
        assert refused(text).expected == expected

    def test_a_broken_rule_expects_nothing(self) -> None:
        """Nor what the text before it, which the same parser refused, was to have."""
        assert refused("a").expected
        assert refused("a = 1and").expected == ()


class TestGuess:
    @pytest.mark.parametrize(
        ("text", "meant"),
        [
            ("a betwen 1 and 2", "between"),
            ("a BETWEN 1 and 2", "between"),
            ("a = 1 adn b = 2", "and"),
            ("a = 1 orr b = 2", "or"),
            ("a contians 'x'", "contains"),
            ("exsts a", "exists"),
            ("EXSTS a", "exists"),
            ("(mising a)", "missing"),
            ("((((mising a))))", "missing"),
            ("((((((nt a = 1", "not"),
            ("a starts wiht 'x'", "with"),
            ("a mathces 'x'", "matches"),
            ("a = ture", "true"),
            ("a = 1 wieght 2", "weight"),
        ],
    )
    def test_a_misspelt_keyword_is_answered_with_the_nearest(self, text: str, meant: str) -> None:
        assert f"did you mean {meant}?" in str(refused(text))

    @pytest.mark.parametrize("text", ["a zzz 1", "list a", "a not", "exists", "b = 1 and not", "exists mising b"])
    def test_what_is_far_from_any_keyword_or_right_gets_no_guess(self, text: str) -> None:
        assert "did you mean" not in str(refused(text))


class TestPlace:
    @pytest.mark.parametrize(
        ("text", "line", "carets"),
        [
            ("price < 5 and\tregion == 3", "price < 5 and region == 3", "                        ^"),
            ("a =", "a =", "     ^"),
            ("", "", "  ^"),
            (f"b  {'x' * 57}", f"b  {'x' * 57}", f"     {'^' * 57}"),
            (f"b  {'x' * 58}", f"b  {'x' * 57}...", f"     {'^' * 57}"),
            (f"{'x' * 29} b", f"{'x' * 29} b", f"{' ' * 32}^"),
            (f"{'x' * 30} b", f"...{'x' * 29} b", f"{' ' * 35}^"),
            (f"{'x' * 40} b{'y' * 40}", f"...{'x' * 29} b{'y' * 29}...", f"{' ' * 35}{'^' * 30}"),
            (f"{'x' * 99}", f"...{'x' * 30}", f"{' ' * 35}^"),
        ],
    )
    def test_carets_stand_below_it_on_a_line_of_60_characters(self, text: str, line: str, carets: str) -> None:
        assert str(refused(text)).splitlines()[1:] == [f"  {line}", carets]

    def test_columns_count_code_points(self) -> None:
        error = refused('a = "é日😀" ?')
        assert (error.column, error.found) == (11, "?")

    def test_the_end_of_the_text_has_a_column_and_a_name(self) -> None:
        error = refused("a = 1 and")
        assert (error.column, error.found) == (10, "end of text")
        assert str(error).startswith("column 10: the end of the text stands where not, ")


@pytest.mark.parametrize("word", ["weight", "In", "true", "any"])
def test_a_keyword_as_a_name_is_told_to_go_into_backticks(word: str) -> None:
    with pytest.raises(ExpressionError, match=f"in backticks, `{word}`, it is a name"):
        parse(f"a = 1 and {word} = 2")
    assert parse(f"a = 1 and `{word}` = 2").predicates[1].attribute == word
