"""The one-dimensional index: the paper's examples, what it takes and refuses, what its work costs."""

import math
import threading
from collections import UserList
from random import Random
from typing import Any

import numpy as np
import pytest

from tamis.indexes.columnar import parse_many
from tamis.indexes.errors import EventError, ExpressionError, IndexBusy
from tamis.indexes.expressions import Expression, parse
from tamis.indexes.printing import Predicate
from tamis.indexes.ps_tree import PSTree

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


def tree_of(*predicates: str, leaf_max: int = 16) -> PSTree:
    """Ids from 1 on."""
    tree = PSTree(leaf_max=leaf_max)
    for number, predicate in enumerate(predicates, 1):
        tree.insert(predicate, number)
    return tree


def spaces(tree: PSTree) -> list[str]:
    return [str(space) for space in tree.spaces()]


def test_the_papers_figure_1() -> None:
    tree = tree_of("price between 0 and 4", "price between 2 and 4")
    assert spaces(tree) == ["(-, 0): none", "[0, 2): 1", "[2, 4]: 1, 2", "(4, -): none"]
    assert tree.locate(3).tolist() == [1, 2]


def test_the_papers_figure_2b() -> None:
    tree = tree_of("attr between -5 and -1", "attr between 1 and 5")
    assert spaces(tree) == ["(-, -5): none", "[-5, -1]: 1", "(-1, 1): none", "[1, 5]: 2", "(5, -): none"]
    assert tree.locate(2).tolist() == [2]


def test_the_papers_section_4_4() -> None:
    tree = tree_of("age between 20 and 60", "age between 30 and 80")
    assert [len(space.ids) for space in tree.spaces()] == [0, 1, 2, 1, 0]
    assert spaces(tree) == ["(-, 20): none", "[20, 30): 1", "[30, 60]: 1, 2", "(60, 80]: 2", "(80, -): none"]
    tree.delete("age between 30 and 80", 2)
    assert spaces(tree) == ["(-, 20): none", "[20, 60]: 1", "(60, -): none"]


def test_spaces_of_each_family_are_apart() -> None:
    tree = tree_of("a = true", 'a starts with "ab"', "a < 2.5", 'a not starts with "abc"', "a >= 2.5")
    assert spaces(tree) == [
        *("(-, true): none", "[true, true]: 1"),
        *("(-, 2.5): 3", "[2.5, -): 5"),
        *('(-, "ab"): 4', '["ab", "abc"): 2, 4', '["abc", "abd"): 2', '["abd", "ac"): 2, 4', '["ac", -): 4'),
    ]


def test_true_and_one_are_not_the_same() -> None:
    assert spaces(tree_of("a = true", "a = 1")) == [
        *("(-, true): none", "[true, true]: 1"),
        *("(-, 1): none", "[1, 1]: 2", "(1, -): none"),
    ]


def test_a_space_that_no_value_can_lie_in_is_left_out() -> None:
    following = math.nextafter(0.5, 1)
    assert spaces(tree_of("a <= 0.5", f"a >= {following!r}")) == ["(-, 0.5]: 1", f"[{following!r}, -): 2"]
    assert spaces(tree_of("a <= 9007199254740993", "a >= 9007199254740994")) == [
        "(-, 9007199254740993]: 1",
        "[9007199254740994, -): 2",
    ]
    assert spaces(tree_of('a >= ""')) == ['["", -): 1']
    assert spaces(tree_of("a in (false, true)")) == ["[false, true]: 1"]


@pytest.mark.parametrize(
    ("predicate", "bounds"),
    [
        ('a starts with "\U0010ffff"', '["\U0010ffff", -): 1'),
        ('a starts with "b\U0010ffff"', '["b\U0010ffff", "c"): 1'),
        ('a starts with "\ud7ff"', '["\ud7ff", "\ue000"): 1'),
    ],
)
def test_a_prefix_ends_before_the_next_character_that_a_string_can_have(predicate: str, bounds: str) -> None:
    assert bounds in spaces(tree_of(predicate))


def test_spaces_notice_a_write() -> None:
    tree = tree_of("a = 1", "a = 2")
    some = tree.spaces()
    next(some)
    tree.insert("a = 3", 3)
    with pytest.raises(RuntimeError, match="changed"):
        list(some)


@pytest.mark.parametrize(
    ("predicates", "values"),
    [
        (
            ["a = 9007199254740992", "a = 9007199254740993", "a > 9007199254740992", "a >= 9007199254740993"],
            [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, float(2**53), 2.0**53 + 2],
        ),
        (
            ["a != 9007199254740993", "a not in (9007199254740992, 9007199254740993, 5)", "a <= 9007199254740992"],
            [5, 2**53, 2**53 + 1, 2**53 + 2, 0, math.inf, -math.inf],
        ),
        (
            [f"a <= {LONG_MAX}", f"a < {LONG_MAX}", f"a > {LONG_MAX}", f"a >= {LONG_MIN}", f"a < {LONG_MIN}"],
            [LONG_MAX, LONG_MAX - 1, LONG_MAX - 512, 2.0**63, LONG_MIN, LONG_MIN + 1, -(2.0**63), -1e300, 1e300],
        ),
        (
            [f"a between {LONG_MAX - 2} and {LONG_MAX - 1}", f"a not between {LONG_MAX - 2} and {LONG_MAX - 1}"],
            [LONG_MAX - 3, LONG_MAX - 2, LONG_MAX - 1, LONG_MAX, 2.0**63, math.inf],
        ),
        (
            ["a < 1.7976931348623157e308", "a > -1.7976931348623157e308", "a <= 5e-324", "a = 0", "a >= 0.5"],
            [math.inf, -math.inf, 5e-324, -5e-324, 0, -0.0, 1.7976931348623157e308, 0.5, 1],
        ),
    ],
)
def test_numbers_are_exact(predicates: list[str], values: list[float]) -> None:
    tree = tree_of(*predicates)
    for value in values:
        expected = [number for number, text in enumerate(predicates, 1) if parse(text).evaluate({"a": value})]
        assert tree.locate(value).tolist() == expected, value
        assert tree.count(value) == len(expected)


def test_a_missing_value_and_one_of_another_family_find_nothing() -> None:
    tree = tree_of("a != 1", 'a != "x"', "a != true")
    assert [tree.locate(value).tolist() for value in (None, math.nan, 2, "y", False)] == [[], [], [1], [2], [3]]


def test_a_predicate_is_given_as_text_or_parsed() -> None:
    tree = PSTree("a")
    spellings: list[str | Expression | Predicate] = ["a < 5", parse("a < 5"), Predicate("a", "<", (5,)), "not a >= 5"]
    for number, predicate in enumerate(spellings):
        tree.insert(predicate, number)
    tree.insert("a < 5 weight 3", 0)  # weights say nothing of where it holds: this one is there already
    assert len(tree) == 4
    assert tree.locate(4).tolist() == [0, 1, 2, 3]
    assert ("not not a < 5", 3) in tree
    tree.delete("a < 5", 3)
    assert tree.locate(4).tolist() == [0, 1, 2]


@pytest.mark.parametrize("word", ["ends with", "contains", "matches"])
@pytest.mark.parametrize("negation", ["", "not "])
def test_what_no_order_serves_is_refused_by_its_name(negation: str, word: str) -> None:
    with pytest.raises(ValueError, match=f"'{negation}{word}' has no place"):
        PSTree().insert(f'a {negation}{word} "x"', 1)


@pytest.mark.parametrize(
    ("predicate", "error", "message"),
    [
        ("exists a", ValueError, "'exists' has no place"),
        ("missing a", ValueError, "'missing' has no place"),
        ("a = 1 or a = 2", ValueError, "one predicate at a time, not a = 1 or a = 2"),
        ("b = 1", ValueError, "of the attribute 'a', but b = 1"),
        ("a =", ExpressionError, "the end of the text stands"),
        (7, TypeError, "not int"),
    ],
)
def test_a_wrong_predicate_is_refused_and_changes_nothing(predicate: Any, error: type[Exception], message: str) -> None:
    tree = PSTree("a")
    tree.insert("a = 1", 1)
    memory = tree.memory_bytes()
    for call in (tree.insert, tree.delete):
        with pytest.raises(error, match=message):
            call(predicate, 2)
    with pytest.raises(error, match=message):
        tree.insert_many(["a = 2", predicate], [2, 3])
    assert (len(tree), tree.memory_bytes()) == (1, memory)


def test_the_first_predicate_names_the_attribute() -> None:
    tree = PSTree()
    assert tree.attribute is None
    with pytest.raises(ValueError, match="'x', but y = 1"):
        tree.insert_many(["x = 1", "y = 1"], [1, 2])
    assert (tree.attribute, len(tree)) == (None, 0)
    tree.insert("y = 1", 1)
    assert tree.attribute == "y"


@pytest.mark.parametrize(("id", "error"), [(-1, ValueError), (2**32, ValueError), ("1", TypeError), (1.0, TypeError)])
def test_a_wrong_id_is_refused(id: Any, error: type[Exception]) -> None:
    tree = PSTree("a")
    with pytest.raises(error):
        tree.insert("a = 1", id)
    assert len(tree) == 0


def test_a_wrong_value_is_refused_by_the_attributes_name() -> None:
    tree = tree_of("price < 5")
    for value in (2**63, "\ud800", [1]):
        with pytest.raises(EventError, match="price"):
            tree.locate(value)  # type: ignore[arg-type] # on purpose
        with pytest.raises(EventError, match="price"):
            tree.locate_many([value])


def test_what_is_not_linked_cannot_be_deleted() -> None:
    tree = tree_of("a < 5", 'a = "x"')
    for predicate, number in [("a < 5", 2), ("a < 6", 1), ("a <= 5", 1), ('a = "y"', 2)]:
        with pytest.raises(KeyError, match=predicate):
            tree.delete(predicate, number)
        assert (predicate, number) not in tree
    assert len(tree) == 2


def test_ids_and_predicates_are_many_to_many() -> None:
    tree = PSTree()
    for predicate, number in [("a < 5", 1), ("a < 5", 2), ("a > 3", 1), ("a = 4", 1), ("a < 5", 1)]:
        tree.insert(predicate, number)
    assert len(tree) == 4
    assert (tree.locate(4).tolist(), tree.count(4)) == ([1, 2], 4)
    offsets, ids = tree.locate_many([4, 9])
    assert (offsets.tolist(), ids.tolist()) == ([0, 2, 3], [1, 2, 1])
    offsets, ids = tree.locate_many([4, 9], order="any")
    assert (offsets.tolist(), sorted(ids.tolist())) == ([0, 4, 5], [1, 1, 1, 1, 2])
    tree.delete("a < 5", 1)
    assert tree.locate(4).tolist() == [1, 2]
    tree.delete("a > 3", 1)
    tree.delete("a = 4", 1)
    assert tree.locate(4).tolist() == [2]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, math.nan, 5.0, 1e300, -math.inf]),
        np.array([1, 5, LONG_MAX, LONG_MIN]),
        np.array([1, 255], np.uint8),
        np.array([0, 2**63 - 1], np.uint64),
        np.array([0.5, 5], np.float32),
        np.array([True, False]),
        np.array(["x", "xy", ""]),
        [1, 1.5, "x", True, None, 2**60],
        [],
    ],
)
def test_many_values_at_once_give_what_each_gives(values: Any) -> None:
    tree = tree_of("a < 5", "a >= 1", 'a starts with "x"', "a = true", "a != 1152921504606846977", "a <= 1e300")
    offsets, ids = tree.locate_many(values)
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    assert [part.tolist() for part in np.split(ids, offsets[1:-1].astype(int))][: len(plain)] == [
        tree.locate(value).tolist() for value in plain
    ]
    assert tree.count_many(values).tolist() == [tree.count(value) for value in plain]
    assert (offsets.dtype.name, ids.dtype.name) == ("uint64", "uint32")


def test_many_predicates_at_once_are_taken_as_columns_or_as_a_list() -> None:
    texts = [
        *(f"a between {number} and {number + 5}" for number in range(50)),
        *(f'a >= "{number:03}"' for number in range(50)),
    ]
    columns, _ = parse_many(texts)
    by_columns, by_list, by_one = PSTree(), PSTree(), tree_of(*texts)
    by_columns.insert_many(columns, np.arange(1, len(texts) + 1))
    by_list.insert_many(texts, range(1, len(texts) + 1))
    assert spaces(by_columns) == spaces(by_list) == spaces(by_one)
    with pytest.raises(ValueError, match="2 ids, but 1 predicates"):
        by_list.insert_many(["a = 1"], [1, 2])


@pytest.mark.parametrize("sort", ["numbers", "strings"])
def test_values_with_one_place_are_covered_by_the_same_ranges(sort: str) -> None:
    """Through writes, and into so many places as the ends make, no more."""
    chance = np.random.default_rng(7)
    tree, held = PSTree("a"), []
    drawn = chance.integers(0, 10**6, (3_000, 2))
    ends = np.sort(drawn, axis=1).tolist()
    for number, (low, high) in enumerate(ends):
        held.append(f"a between {low} and {high}" if sort == "numbers" else f'a between "{low:07}" and "{high:07}"')
        tree.insert(held[-1], number)
    for number in range(0, 3_000, 2):
        tree.delete(held[number], number)
    values = chance.integers(0, 10**6, 20_000).tolist()
    asked = values if sort == "numbers" else [f"{value:07}" for value in values]
    places = tree.place_many(asked)
    offsets, ids = tree.locate_many(asked)
    covering: dict[int, bytes] = {}
    for place, found in zip(places.tolist(), np.split(ids, offsets[1:-1].astype(int)), strict=True):
        assert covering.setdefault(place, found.tobytes()) == found.tobytes()
    assert len(set(covering.values())) <= len(covering) <= 2 * 1_500 + 1
    assert tree.place_many(["x" if sort == "numbers" else 1]) not in places


def test_what_no_range_can_cover_has_a_place_of_its_own() -> None:
    tree = tree_of("a < 5", 'a < "x"', "a = true", "a = 7")
    nowhere: list[Any] = [True, None, math.nan, False]
    assert tree.place_many(nowhere).tolist() == [2**64 - 1] * 4
    places: list[Any] = [4, 6, 7, "a"]
    four, six, seven, text = tree.place_many(places).tolist()
    assert four != six == seven != text


def test_a_write_beside_a_read_in_another_thread_is_refused() -> None:
    tree = tree_of(*(f"a < {number}" for number in range(200)))
    values = np.zeros(200_000)
    refused = 0
    reader = threading.Thread(target=lambda: [tree.count_many(values) for _ in range(20)])
    reader.start()
    while reader.is_alive():
        try:
            tree.insert("a < 0", 500)
            tree.delete("a < 0", 500)
        except IndexBusy:
            refused += 1
    assert refused > 0
    assert tree.count(-1) in {200, 201}


def test_a_wide_range_stands_at_few_places_however_many_spaces_it_covers() -> None:
    """As published, this would be 20,000 of them."""
    tree = PSTree("a")
    tree.insert_many([f"a between {10 * number} and {10 * number + 5}" for number in range(10_000)], range(10_000))
    before = tree.statistics()["postings"]
    tree.insert("a between 7 and 99983", 20_000)
    assert tree.statistics()["postings"] - before <= 40
    tree.delete("a between 7 and 99983", 20_000)
    assert tree.statistics()["postings"] == before


@pytest.mark.parametrize("order", [1, -1])
def test_leaves_stay_small_whatever_the_order_of_insertion(order: int) -> None:
    tree = PSTree("a")
    numbers = range(0, 200_000, 10)[::order]
    for number in numbers:
        tree.insert(f"a between {number} and {number + 5}", number)
        tree.insert(f'a between "{number:06}" and "{number + 5:06}"', number)
    assert tree.statistics()["leaves"] >= tree.statistics()["ranges"] / 16
    before = tree.statistics()["postings"]
    tree.insert("a between 7 and 199983", 300_000)
    tree.insert('a between "000007" and "199983"', 300_000)
    assert tree.statistics()["postings"] - before <= 100
    for value in (7, "000007", 150_003, "150003"):
        assert tree.locate(value).tolist() == [int(value) // 10 * 10] * (int(value) % 10 <= 5) + [300_000]


def test_long_strings_in_common_make_no_deep_tree() -> None:
    """Each a prefix of the next, shortest first and longest first: a tree as deep as they are long would be no tree."""
    for lengths in (range(0, 3_000, 4), range(3_000, 0, -4)):
        tree = PSTree("a")
        for length in lengths:
            tree.insert(f'a >= "{"b" * length}"', length)
        assert tree.count("b" * 1_500) == sum(length <= 1_500 for length in lengths)
        for length in lengths:
            tree.delete(f'a >= "{"b" * length}"', length)
        assert tree.statistics()["postings"] == 0


def test_nodes_that_are_put_above_others_count_as_depth() -> None:
    """Else below them a leaf would be cut once for each string, however many there are."""
    tree = PSTree("a")
    for length in range(272, 0, -1):
        tree.insert(f'a >= "{"x" * length}"', length)
    tree.insert('a >= "p"', 0)
    for length in range(273, 800):
        tree.insert(f'a >= "{"x" * length}"', length)
    assert tree.statistics()["leaves"] < 300
    assert tree.count("x" * 500) == 501


class Unsteady(UserList[float]):
    """Has more in a part than that has room for, as a list has to which another thread appends."""

    def __getitem__(self, index: Any) -> Any:
        return [*self.data[index], 1.0] if isinstance(index, slice) else self.data[index]


def test_values_that_become_more_while_they_are_read_are_refused() -> None:
    tree = tree_of("a < 5")
    for call in (tree.count_many, tree.locate_many, tree.place_many):
        with pytest.raises(ValueError, match="more or fewer values than there were"):
            call(Unsteady([1.0] * 1500))


def test_what_is_deleted_leaves_nothing_behind() -> None:
    tree = PSTree("a", leaf_max=4)
    empty = tree.memory_bytes()
    chance = Random(1)
    texts = [f"a between {low} and {low + chance.randrange(9_000)}" for low in chance.sample(range(10_000), 2_000)]
    texts += [f'a starts with "{chance.randrange(10_000)}"' for _ in range(500)]
    texts += [f"a not in ({chance.randrange(9)}, {chance.randrange(9)}) " for _ in range(50)]
    for _ in range(3):
        for number, text in enumerate(texts):
            tree.insert(text, number)
        for number, text in sorted(enumerate(texts), key=lambda _: chance.random()):
            tree.delete(text, number)
        assert tree.statistics() == {"links": 0, "ranges": 0, "points": 0, "postings": 0, "nodes": 0, "leaves": 2}
        assert tree.memory_bytes() <= empty + 20_000


def test_churn_does_not_make_it_grow() -> None:
    chance = Random(2)

    def drawn() -> str:
        low = chance.randrange(1_000_000)
        return f"a between {low} and {low + chance.choice((3, 1_000, 500_000))}"

    texts = [drawn() for _ in range(3_000)]
    tree = PSTree()
    tree.insert_many(texts, range(3_000))
    sizes = []
    for _ in range(12):
        for _turn in range(3_000):
            number = chance.randrange(3_000)
            tree.delete(texts[number], number)
            texts[number] = drawn()
            tree.insert(texts[number], number)
        sizes.append((tree.memory_bytes(), tree.statistics()["postings"]))
    assert max(sizes[6:])[0] <= 1.1 * max(sizes[:6])[0]
    assert max(postings for _, postings in sizes) <= 1.2 * min(postings for _, postings in sizes)
