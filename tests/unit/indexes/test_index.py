"""What every engine answers for: ids, replacing, refusals, bounded output, the best matches; by hand."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis.indexes.batch import EventBatch
from tamis.indexes.columnar import Expressions, parse_many
from tamis.indexes.engines import DEFAULT_ENGINE, ENGINES, create
from tamis.indexes.errors import EventError, ExpressionError, IndexBusy, StaleBatchError
from tamis.indexes.expressions import Expression, parse
from tamis.indexes.index import Index
from tamis.indexes.limits import Limits
from tamis.indexes.snapshot import read_snapshot
from tamis.indexes.vocabulary import Vocabulary

Many = Expressions | Sequence[str | Expression]

ID_MAX = 2**32 - 1
EVENT = {"a": 1, "b": "x"}


@pytest.fixture
def index(engine: str) -> Index:
    """Under ids at both ends: two that match EVENT, and one that does not."""
    index = create(engine)
    index.insert(0, "a = 1")
    index.insert(ID_MAX, "b = 'x' or a = 2")
    index.insert(5, "a = 2")
    return index


def test_ids_are_the_callers(index: Index) -> None:
    assert index.ids().dtype == np.uint32
    assert index.ids().tolist() == [0, 5, ID_MAX]
    assert index.match(EVENT).dtype == np.uint32
    assert index.match(EVENT).tolist() == [0, ID_MAX]
    assert len(index) == 3
    assert [number in index for number in (0, 5, ID_MAX, 1, -1, 2**32, "0", None, 0.0)] == [True] * 3 + [False] * 6
    assert index[ID_MAX] == parse('b = "x" or a = 2')


def test_an_id_is_any_integer(index: Index) -> None:
    index.insert(int(np.uint64(7)), "a = 1")
    index.insert(np.int8(8), "a = 1")
    assert index.match(EVENT).tolist() == [0, 7, 8, ID_MAX]
    assert np.uint8(8) in index
    index.delete(np.uint32(8))
    assert 8 not in index


@pytest.mark.parametrize("number", [-1, 2**32, 2**64, -(2**70)])
def test_an_id_out_of_range_is_refused(index: Index, number: int) -> None:
    for refused in (
        lambda: index.insert(number, "a = 1"),
        lambda: index.insert_many([3, number], ["a = 1", "a = 1"]),
        lambda: index.delete(number),
        lambda: index[number],
        lambda: index.explain(number, EVENT),
    ):
        with pytest.raises(ValueError, match=f"0 to 2\\*\\*32 - 1.*{number}"):
            refused()
    assert index.ids().tolist() == [0, 5, ID_MAX]


@pytest.mark.parametrize("number", ["7", 7.0, None, b"7", np.float64(7)])
def test_what_is_no_integer_is_no_id(index: Index, number: Any) -> None:
    for refused in (
        lambda: index.insert(number, "a = 1"),
        lambda: index.insert_many([number], ["a = 1"]),
        lambda: index.delete(number),
        lambda: index[number],
    ):
        with pytest.raises(TypeError, match="integer"):
            refused()
    assert index.ids().tolist() == [0, 5, ID_MAX]


def test_an_unknown_id_is_a_key_error(index: Index) -> None:
    for missed in (lambda: index.delete(6), lambda: index[6], lambda: index.explain(6, EVENT)):
        with pytest.raises(KeyError, match="no expression has the id 6"):
            missed()


def test_an_expression_replaces_the_one_before(engine: str) -> None:
    """Also where an id is the only one: nothing is left without a place for a moment."""
    index = create(engine)
    for number in (0, 7, ID_MAX):
        for value in (1, 2, 3):
            index.insert(number, f"a = {value} and name{value} = 'x'")
            assert len(index) == 1
            assert index.match({"a": value, f"name{value}": "x"}).tolist() == [number]
            assert len(index.vocabulary) == 3
        index.delete(number)
        assert len(index) == len(index.vocabulary) == 0


def test_many_ids_are_replaced_at_once(engine: str) -> None:
    index = create(engine)
    ids = np.arange(0, 2**32, 1_000_003, dtype=np.uint64)
    for value in (1, 2):
        index.insert_many(ids, [f"a = {value}"] * len(ids))
        assert np.array_equal(index.match({"a": value}), ids)
    assert index.match({"a": 1}).size == 0


@pytest.mark.parametrize("expression", ["a = ", "", "a = 1 and", "a = 'x", "a matches '('"])
def test_a_wrong_text_changes_nothing(index: Index, expression: str) -> None:
    before = index.vocabulary.generation
    with pytest.raises(ExpressionError):
        index.insert(0, expression)
    with pytest.raises(ExpressionError) as refusal:
        index.insert_many([0, 1, 2], ["a = 7", expression, "b = 9 and"])
    assert refusal.value.index == 1
    with pytest.raises(ExpressionError) as refusal:
        index.insert_many([0, 1, 2], [parse("a = 7"), parse("a = 8"), expression])
    assert refusal.value.index == 2
    assert index.match(EVENT).tolist() == [0, ID_MAX]
    assert (len(index), index.vocabulary.generation) == (3, before)


def test_what_is_no_expression_is_refused(index: Index) -> None:
    wrong: list[Any] = [7, None, b"a = 1", ["a = 1"]]
    for expression in wrong:
        with pytest.raises(TypeError, match=type(expression).__name__):
            index.insert(1, expression)
        with pytest.raises(TypeError, match=type(expression).__name__):
            index.insert_many([1, 2], ["a = 1", expression])
    assert len(index) == 3


def test_limits_hold_for_texts(index: Index) -> None:
    limits = Limits(predicates=1)
    with pytest.raises(ExpressionError, match="1"):
        index.insert(1, "a = 1 and b = 1", limits)
    with pytest.raises(ExpressionError) as refusal:
        index.insert_many([1, 2], ["a = 1", "a = 1 and b = 1"], limits)
    assert refusal.value.index == 1
    index.insert(1, parse("a = 1 and b = 1"), limits)
    assert 1 in index


@pytest.mark.parametrize(
    ("ids", "error", "reason"),
    [
        ([1, 2, 3], ValueError, "3 ids, but 2 expressions"),
        ([], ValueError, "0 ids, but 2 expressions"),
        ([[1, 2]], ValueError, "one dimension, not 2"),
        (7, ValueError, "one dimension, not 0"),
        (np.array([1, 2], np.float32), TypeError, "float32"),
        (np.array([True, False]), TypeError, "bool"),
        ([1, -1], ValueError, "from -1 to 1"),
        ([1, 2**32], ValueError, "from 1 to 4294967296"),
        ([1, 2**64], ValueError, "18446744073709551616"),
        ([1, None], TypeError, "NoneType"),
    ],
)
def test_ids_of_many_are_checked_first(index: Index, ids: Any, error: type[Exception], reason: str) -> None:
    texts = ["a = 1", "a = 1"]
    forms: tuple[Many, ...] = (texts, parse_many(texts)[0], [parse("a = 1"), "a = 1"])
    for expressions in forms:
        with pytest.raises(error, match=reason):
            index.insert_many(ids, expressions)
    assert index.ids().tolist() == [0, 5, ID_MAX]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "<u4", ">u4", "<i8", ">u8"])
def test_ids_are_of_any_integer_type(engine: str, dtype: str) -> None:
    index = create(engine)
    index.insert_many(np.array([3, 100, 7], dtype)[::-1], ["a = 7", "a = 100", "a = 3"])
    assert [index.match({"a": number}).tolist() for number in (3, 7, 100)] == [[3], [7], [100]]


def test_of_one_id_twice_the_last_one_stays(engine: str) -> None:
    texts = ["a = 1", "b = 1", "a = 3"]
    forms: tuple[Many, ...] = (texts, parse_many(texts)[0], [parse("a = 1"), "b = 1", parse("a = 3")])
    for expressions in forms:
        index = create(engine)
        index.insert_many([7, 7, 7], expressions)
        assert (index[7].text, len(index), len(index.vocabulary)) == ("a = 3", 1, 1)
        assert index.match({"a": 1, "b": 1}).size == 0
        assert index.match({"a": 3}).tolist() == [7]


def test_columns_give_an_index_no_more_than_they_hold(engine: str, tmp_path: Path) -> None:
    """Neither strings of texts that were refused, nor more references than there are occurrences."""
    wrong = ["b = ", "c matches '('", "d = 'y' and (e = 'z'", "f = 1 weight 0"]
    columns, errors = parse_many(["a = 'x' and a = 'x'", *wrong, "a matches '^x' or a = '^x'", "a = 'x'"])
    assert (len(columns), len(errors)) == (3, 4)
    index = create(engine)
    index.insert_many([3, 1, 2], columns)
    assert [index.vocabulary.references(index.vocabulary.find(text) or 0) for text in ("a", "x", "^x")] == [5, 3, 2]
    index.save(tmp_path / "snapshot")
    other = create(engine)
    other.insert_many([3, 1, 2], read_snapshot(tmp_path / "snapshot").expressions)
    for emptied in (index, other):
        for number in (1, 2, 3):
            emptied.delete(number)
        assert len(emptied.vocabulary) == 0
    assert [expression.text for expression in columns][2] == 'a = "x"'


def test_a_snapshot_is_adopted_once(tmp_path: Path) -> None:
    """Two indexes with one vocabulary would take each other's strings away."""
    first, second = create("scan"), create("scan")
    first.insert_many([1], ['a = "x"'])
    first.save(tmp_path / "snapshot")
    snapshot = read_snapshot(tmp_path / "snapshot")
    second.adopt(snapshot)
    for take in (create("scan").adopt, lambda taken: create("scan").insert_many([1], taken.expressions)):
        with pytest.raises(ValueError, match="read it once more"):
            take(snapshot)


def test_nothing_at_once_is_nothing(index: Index) -> None:
    index.insert_many([], [])
    index.insert_many(np.empty(0, np.uint32), parse_many([])[0])
    assert len(index) == 3


def test_an_expression_outlives_its_index(engine: str) -> None:
    index = create(engine)
    index.insert(1, "name = 'value' and name in ('value', 'other')")
    expression = index[1]
    index.delete(1)
    del index
    gc.collect()
    assert expression.text == 'name = "value" and name in ("other", "value")'


def test_an_index_takes_expressions_of_another(engine: str) -> None:
    one, other = create(engine), create(engine)
    one.insert(1, "name = 'value'")
    other.insert(2, one[1])
    one.delete(1)
    assert other.match({"name": "value"}).tolist() == [2]


def test_the_best_are_first_and_of_equals_the_smaller_id(engine: str) -> None:
    index = create(engine)
    index.insert_many(
        [9, 3, 7, 1, 5], ["a = 1 weight 2", "a = 1 weight 2", "a = 1 weight 3", "a = 1", "a = 2 weight 9"]
    )
    ids, scores = index.top_k({"a": 1}, 10)
    assert (ids.tolist(), scores.tolist()) == ([7, 3, 9, 1], [3.0, 2.0, 2.0, 1.0])
    assert [str(ids.dtype), str(scores.dtype)] == ["uint32", "float64"]
    assert index.top_k({"a": 1}, 2)[0].tolist() == [7, 3]
    assert index.top_k({"a": 3}, 2)[0].tolist() == []
    assert index.top_k({"a": 1}, 2**100)[0].tolist() == [7, 3, 9, 1]


def test_an_event_weighs_its_attributes(engine: str) -> None:
    index = create(engine)
    index.insert_many([1, 2], ["a = 1 and b = 1 weight 0.5", "a = 1 weight 2"])
    event = {"a": 1, "b": 1}
    assert index.top_k(event, 2)[1].tolist() == [2.0, 1.5]
    assert index.top_k(event, 2, {"b": 4})[1].tolist() == [3.0, 2.0]
    assert index.top_k(event, 2, {"a": 0, "unknown": 3})[1].tolist() == [0.5, 0.0]
    assert index.top_k(event, 2)[1].tolist() == [2.0, 1.5]
    batch = EventBatch.from_events([event, event, event], weights=[{"b": 4}, None, {"a": 0}])
    best = index.top_k_batch(batch, 1)
    assert best.scores is not None
    assert (best.ids.tolist(), best.scores.tolist()) == ([1, 2, 1], [3.0, 2.0, 0.5])


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "1", None, True])
def test_a_wrong_weight_is_refused(index: Index, weight: Any) -> None:
    with pytest.raises(EventError, match="'a'"):
        index.top_k(EVENT, 1, {"a": weight})
    assert index.match(EVENT).tolist() == [0, ID_MAX]


@pytest.mark.parametrize("k", [0, -1, -(2**70)])
def test_how_many_of_the_best_is_one_or_more(index: Index, k: int) -> None:
    batch = EventBatch.from_events([EVENT])
    for refused in (lambda: index.top_k(EVENT, k), lambda: index.top_k_batch(batch, k)):
        with pytest.raises(ValueError, match=f"1 or more, not {k}"):
            refused()


def test_an_explanation_is_that_of_the_expression(index: Index) -> None:
    explained = index.explain(ID_MAX, EVENT)
    assert explained == parse('b = "x" or a = 2').explain(EVENT)
    assert (explained.verdict, [child.verdict for child in explained.children]) == (True, [True, False])


def test_matches_are_by_event(index: Index) -> None:
    events: list[dict[str, Any]] = [EVENT, {}, {"a": 2}, {"b": "x"}]
    matches = index.match_batch(EventBatch.from_events(events))
    assert [found.tolist() for found in matches] == [[0, ID_MAX], [], [5, ID_MAX], [ID_MAX]]
    assert (len(matches), matches.events, matches.scores) == (4, 4, None)
    assert matches.offsets.tolist() == [0, 2, 2, 4, 5]
    assert matches[-1].tolist() == matches[3].tolist() == [ID_MAX]
    assert [str(matches.offsets.dtype), str(matches.ids.dtype)] == ["uint64", "uint32"]
    for event in (4, -5):
        with pytest.raises(IndexError):
            matches[event]


def test_output_is_bounded_by_whole_events(index: Index) -> None:
    """Matches of 2, 0, 2 and 1 ids: the last event that fits is done, and one always is."""
    batch = EventBatch.from_events([EVENT, {}, {"a": 2}, {"b": "x"}])
    done = {most: index.match_batch(batch, ids_max=most).events for most in (1, 2, 3, 4, 5, 6, 2**64)}
    assert done == {1: 1, 2: 2, 3: 2, 4: 3, 5: 4, 6: 4, 2**64: 4}
    assert index.match_batch(batch, first=2, ids_max=1).ids.tolist() == [5, ID_MAX]
    assert index.match_batch(batch, first=4).events == 0


@pytest.mark.parametrize("arguments", [{"first": -1}, {"first": 5}, {"ids_max": 0}, {"ids_max": -1}, {"order": "best"}])
def test_wrong_arguments_are_refused(index: Index, arguments: dict[str, Any]) -> None:
    batch = EventBatch.from_events([EVENT] * 4)
    with pytest.raises(ValueError, match=str(next(iter(arguments.values())))):
        index.match_batch(batch, **arguments)


def test_only_a_batch_is_matched(index: Index) -> None:
    for events in ([EVENT], EVENT, None):
        with pytest.raises(TypeError, match="EventBatch"):
            index.match_batch(events)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="EventBatch"):
            index.learn(events)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mapping"):
        index.match([("a", 1)])  # type: ignore[arg-type]
    with pytest.raises(EventError, match="'a'"):
        index.match({"a": [1]})


def test_an_empty_batch_matches_nothing(index: Index) -> None:
    batch = EventBatch.from_events([])
    assert index.match_batch(batch).offsets.tolist() == [0]
    assert index.top_k_batch(batch, 1).offsets.tolist() == [0]


def test_a_batch_of_the_vocabulary_is_stale_when_strings_come_or_go(index: Index) -> None:
    batch = EventBatch.from_events([EVENT], vocabulary=index.vocabulary)
    index.insert(1, "a = 1 and b = 'x'")
    assert index.match_batch(batch)[0].tolist() == [0, 1, ID_MAX]
    index.insert(1, "a = 1 and b = 'y'")
    for refused in (lambda: index.match_batch(batch), lambda: index.top_k_batch(batch, 1), lambda: batch[0]):
        with pytest.raises(StaleBatchError, match="since the batch was made"):
            refused()


def test_a_batch_of_another_indexs_vocabulary_is_refused(index: Index, engine: str) -> None:
    for vocabulary in (create(engine).vocabulary, Vocabulary()):
        batch = EventBatch.from_events([EVENT], vocabulary=vocabulary)
        with pytest.raises(ValueError, match="another index"):
            index.match_batch(batch)


class Writing(Mapping[str, Any]):
    """An event that writes to an index while it is read."""

    def __init__(self, write: Callable[[], object]) -> None:
        self.write = write

    def __iter__(self) -> Iterator[str]:
        self.write()
        yield "a"

    def __len__(self) -> int:
        return 1

    def __getitem__(self, name: str) -> int:
        return 1


def test_a_write_within_a_match_is_refused(index: Index) -> None:
    batch = EventBatch.from_events([EVENT])
    writes: list[Callable[[], object]] = [
        lambda: index.insert(1, "a = 1"),
        lambda: index.insert_many([1], ["a = 1"]),
        lambda: index.delete(0),
        index.maintain,
        lambda: index.learn(batch),
    ]
    for write in writes:
        with pytest.raises(IndexBusy, match="1 just now"):
            index.match(Writing(write))
    assert index.match(Writing(lambda: index.match_batch(batch))).tolist() == [0]
    assert index.match(EVENT).tolist() == [0, ID_MAX]
    index.delete(0)


def test_a_match_that_fails_leaves_the_index_free(index: Index) -> None:
    with pytest.raises(EventError):
        index.match({"a": 2**70})
    with pytest.raises(ZeroDivisionError):
        index.match(Writing(lambda: 1 / 0))
    index.insert(1, "a = 1")
    assert index.match(EVENT).tolist() == [0, 1, ID_MAX]


def test_memory_is_told_by_part(index: Index) -> None:
    empty = create(index.name).memory_bytes()
    full = index.memory_bytes()
    assert set(full) == set(empty) == {"expressions", "ids", "structure", "cache", "mapped"}
    assert full["expressions"] > empty["expressions"]
    assert full["ids"] > empty["ids"]
    assert full["mapped"] == 0


def test_what_a_great_match_took_is_not_kept(engine: str) -> None:
    """Scratch memory that is kept for later matches is bounded, however many ids there were."""
    index = create(engine)
    index.insert_many(np.arange(3_000), ["exists a"] * 3_000)
    matches = index.match_batch(EventBatch.from_events([{"a": 1}] * 1_000))
    assert matches.ids.size == 3_000_000
    assert index.memory_bytes()["cache"] < 5 << 20


def test_statistics_tell_the_structure(index: Index) -> None:
    statistics = index.statistics()
    assert statistics["engine"] == index.name
    assert statistics["expressions"] == 3


def test_engines_are_made_by_name(engine: str) -> None:
    assert type(create(engine)) is ENGINES[engine]
    assert create(engine).name == engine
    assert type(create()) is ENGINES[DEFAULT_ENGINE]
    with pytest.raises(ValueError, match=r"no engine 'quantum'; there are .*scan"):
        create("quantum")
    with pytest.raises(TypeError):
        create(engine, no_option_of_any_engine=1)
    with pytest.raises(TypeError, match="create"):
        Index()
