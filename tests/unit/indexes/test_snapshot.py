"""A snapshot gives back what was saved, or says that it cannot: no file whatever does harm."""

import copy
import json
import math
import re
import struct
from collections.abc import Callable, Sequence
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
    write_anew,
    write_manifest,
)
from tamis.indexes.engines import create, load
from tamis.indexes.errors import SnapshotError
from tamis.indexes.expressions import UNBOUNDED, parse
from tamis.indexes.index import Index
from tamis.indexes.limits import Limits
from workloads import workload

ROOT = Path(__file__).parents[3]
TEXTS = {
    0: 'a = 1 and name starts with "ab" weight 0.5',
    7: "b between -1 and 9007199254740993 or c in (0.5, 2, 1e300) xor missing d xnor flag = true",
    2**32 - 1: 'not (naïve in ("x", "é", "") or name matches "^a+$")'.replace("naïve", "`naïve`"),
}
COLUMNS: dict[str, NDArray[Any]] = {
    "keys": np.array([1, 2**64 - 1, 3], np.uint64),
    "naïve name": np.array([0.5, math.inf], np.float64),
    "empty": np.empty(0, np.int8),
}
METADATA = {"view": {"partition": 2**53 + 1}, "naïve": ["é", None, True, 0.1]}
EVENTS: list[dict[str, Any]] = [{"a": 1, "name": "abc"}, {"b": 3}, {"naïve": "y", "name": "x"}, {"flag": True, "c": 2}]


def filled(engine: str = "scan") -> Index:
    index = create(engine)
    for number, text in TEXTS.items():
        index.insert(number, text)
    return index


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "snapshot"
    filled().save(path, COLUMNS, METADATA)
    return path


def content(index: Index) -> tuple[object, ...]:
    """All that a snapshot holds, to be compared."""
    columns = {name: (column.dtype.str, column.tobytes()) for name, column in index.columns.items()}
    return [(number, index[number].text) for number in index.ids().tolist()], columns, dict(index.metadata)


CONTENT = [(number, parse(text).text) for number, text in TEXTS.items()]


class TestRoundTrip:
    def test_all_comes_back(self, engine: str, other_engine: str, tmp_path: Path) -> None:
        index = filled(engine)
        index.save(tmp_path / "snapshot", COLUMNS, METADATA)
        loaded = load(tmp_path / "snapshot", other_engine)
        assert content(loaded)[0] == CONTENT
        assert dict(loaded.metadata) == METADATA
        assert loaded.columns.keys() == COLUMNS.keys()
        for name, column in COLUMNS.items():
            assert loaded.columns[name].dtype == column.dtype
            assert np.array_equal(loaded.columns[name], column)
        for event in EVENTS:
            assert loaded.match(event).tolist() == index.match(event).tolist()
        assert loaded.memory_bytes()["mapped"] > 0

    def test_the_engine_is_the_one_that_saved_it(self, engine: str, tmp_path: Path) -> None:
        filled(engine).save(tmp_path / "snapshot")
        assert load(tmp_path / "snapshot").name == engine
        with pytest.raises(ValueError, match="no engine 'quantum'"):
            load(tmp_path / "snapshot", "quantum")

    def test_an_engine_that_is_no_more_is_told(self, path: Path) -> None:
        parts = take_apart(path)
        parts.manifest["engine"] = "quantum"
        parts.write(path)
        with pytest.raises(SnapshotError, match=r"'quantum'.*name another"):
            load(path)
        assert content(load(path, "scan"))[0] == CONTENT

    def test_an_empty_index(self, engine: str, tmp_path: Path) -> None:
        create(engine).save(tmp_path / "snapshot")
        loaded = load(tmp_path / "snapshot")
        assert (len(loaded), loaded.ids().tolist(), dict(loaded.columns)) == (0, [], {})
        assert loaded.match({"a": 1}).size == 0
        loaded.insert(1, "a = 1")
        assert loaded.match({"a": 1}).tolist() == [1]

    def test_a_loaded_index_changes_and_its_file_does_not(self, engine: str, path: Path) -> None:
        before = path.read_bytes()
        loaded = load(path, engine)
        loaded.delete(0)
        loaded.insert(7, "a = 1")
        loaded.insert(3, "a = 1")
        assert loaded.match({"a": 1, "name": "abc"}).tolist() == [3, 7]
        loaded.save(path.with_name("next"))
        assert content(load(path.with_name("next")))[0] == [(3, "a = 1"), (7, "a = 1"), CONTENT[2]]
        assert path.read_bytes() == before
        for number in loaded.ids().tolist():
            loaded.delete(number)
        assert len(loaded.vocabulary) == 0

    def test_a_loaded_index_outlives_its_file(self, engine: str, path: Path) -> None:
        loaded = load(path, engine)
        path.unlink()
        assert content(loaded)[0] == CONTENT
        column = loaded.columns["keys"]
        del loaded
        assert column.tolist() == [1, 2**64 - 1, 3]

    def test_saving_again_changes_nothing(self, path: Path) -> None:
        load(path).save(path.with_name("again"), COLUMNS, METADATA)
        assert path.with_name("again").read_bytes() == path.read_bytes()

    def test_saving_replaces_a_file_at_once(self, path: Path) -> None:
        create().save(path)
        assert len(load(path)) == 0
        assert [file.name for file in path.parent.iterdir()] == [path.name]

    def test_an_expression_larger_than_a_part(self, engine: str, tmp_path: Path) -> None:
        index = create(engine)
        members = range(0, 600_000, 2)
        large = Limits(text_bytes=1 << 24, set_members=len(members))
        index.insert(5, f"a in ({','.join(map(str, members))})", large)
        for number in (1, 9):
            index.insert(number, "a = 4")
        index.save(tmp_path / "snapshot")
        loaded = load(tmp_path / "snapshot")
        assert loaded.match({"a": 4}).tolist() == [1, 5, 9]
        assert loaded.match({"a": 599_998}).tolist() == [5]
        assert loaded.match({"a": 599_997}).tolist() == []

    def test_strings_larger_than_a_part(self, engine: str, tmp_path: Path) -> None:
        index = create(engine)
        for number in range(40):
            index.insert(number, f"a = '{'é' * 20_000}{number}'")
        index.save(tmp_path / "snapshot")
        assert load(tmp_path / "snapshot").match({"a": "é" * 20_000 + "7"}).tolist() == [7]

    def test_a_string_that_left_leaves_no_bytes(self, engine: str, tmp_path: Path) -> None:
        index = create(engine)
        index.insert_many(range(3), ["first = 1", "second = 1", "third = 1"])
        index.delete(1)
        index.save(tmp_path / "snapshot")
        assert b"second" not in (tmp_path / "snapshot").read_bytes()
        loaded = load(tmp_path / "snapshot")
        assert [loaded.match({name: 1}).tolist() for name in ("first", "second", "third")] == [[0], [], [2]]
        loaded.insert(1, "second = 1")
        assert loaded.match({"second": 1}).tolist() == [1]


class TestColumns:
    @pytest.mark.parametrize("dtype", ["u1", "<u2", "<u4", "<u8", "i1", "<i2", "<i4", "<i8", "<f4", "<f8", "?"])
    def test_of_every_type(self, dtype: str, tmp_path: Path) -> None:
        column = np.array([0, 1, 100], dtype)
        create().save(
            tmp_path / "snapshot", {"column": column, "other order": column.astype(column.dtype.newbyteorder())}
        )
        loaded = load(tmp_path / "snapshot").columns
        for name in ("column", "other order"):
            assert loaded[name].dtype == np.dtype(dtype)
            assert loaded[name].tolist() == column.tolist()

    @pytest.mark.parametrize(
        "column",
        [np.zeros((2, 2)), np.array(["x"]), np.array([None]), np.array([b"x"]), np.float64(1), np.zeros(1, "c16")],
    )
    def test_what_a_file_does_not_hold_is_refused(self, column: Any, path: Path) -> None:
        before = path.read_bytes()
        with pytest.raises(ValueError, match="wrong'"):
            create().save(path, {"wrong": column})
        assert path.read_bytes() == before

    def test_they_are_read_only(self, path: Path) -> None:
        loaded = load(path)
        with pytest.raises(ValueError, match="read-only"):
            loaded.columns["keys"][0] = 1
        with pytest.raises(TypeError):
            loaded.columns["keys"] = np.zeros(3)  # type: ignore[index]
        with pytest.raises(TypeError):
            loaded.metadata["view"] = 1  # type: ignore[index]

    @pytest.mark.parametrize("metadata", [{"a": {1}}, {"a": b"x"}, {"a": math.nan}, {"a": "\ud800"}])
    def test_metadata_is_what_json_can_say(self, metadata: Any, path: Path) -> None:
        """And a save that fails leaves the file before it, and nothing beside it."""
        before = path.read_bytes()
        with pytest.raises((TypeError, ValueError)):
            create().save(path, metadata=metadata)
        assert path.read_bytes() == before
        assert [file.name for file in path.parent.iterdir()] == [path.name]

    def test_a_folder_that_is_not_there_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            create().save(tmp_path / "nowhere" / "snapshot")
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "nowhere")


class TestDamage:
    def test_any_file_cut_short_is_refused(self, path: Path) -> None:
        whole = path.read_bytes()
        for length in range(len(whole)):
            with pytest.raises(SnapshotError, match="snapshot"):
                load(write_anew(path, whole[:length]))

    def test_a_longer_file_is_refused(self, path: Path) -> None:
        whole = path.read_bytes()
        for more in (b"\0", b"}", b"\0" * 64, whole):
            with pytest.raises(SnapshotError, match="header says"):
                load(write_anew(path, whole + more))

    @pytest.mark.parametrize("flip", [0x01, 0xFF])
    def test_any_byte_changed_is_refused_or_means_nothing(self, path: Path, flip: int) -> None:
        """What means nothing lies between the sections, and takes few bytes."""
        whole, before = path.read_bytes(), content(load(path))
        meaningless = 0
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= flip
            try:
                loaded = load(write_anew(path, bytes(changed)))
            except SnapshotError:
                continue
            meaningless += 1
            assert content(loaded) == before, place
        assert meaningless < 64 * 8

    def test_another_format_is_told(self, path: Path) -> None:
        parts = take_apart(path)
        parts.version = 2
        parts.write(path)
        with pytest.raises(SnapshotError, match="format 2; this version of Tamis reads format 1"):
            load(path)

    @pytest.mark.parametrize("magic", [b"\x89TAMIS\n\n", b"\x09TAMIS\r\n", b"\x89PNG\r\n\x1a\n", bytes(8)])
    def test_another_file_is_told(self, path: Path, magic: bytes) -> None:
        parts = take_apart(path)
        parts.magic = magic
        parts.write(path)
        with pytest.raises(SnapshotError, match="it begins with"):
            load(path)

    @pytest.mark.parametrize("start", [0, 63, 2**63, 2**64 - 1])
    def test_a_manifest_elsewhere_is_refused(self, path: Path, start: int) -> None:
        whole = bytearray(path.read_bytes())
        struct.pack_into("<Q", whole, 16, start)
        with pytest.raises(SnapshotError, match="header says"):
            load(write_anew(path, bytes(whole)))


NO_MANIFESTS = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"sections"',
    b"{}",
    b'{"sections": {}}',
    b'{"sections": null}',
    b'{"sections": [], "expressions": 0}',
    b'{"sections": [], "expressions": 0, "engine": "scan"}',
    b'{"sections": [], "expressions": 0, "engine": "scan", "metadata": {}}',
    b'{"sections": [], "expressions": 0.0, "engine": "scan", "metadata": {}}',
    b'{"sections": [], "expressions": 0, "engine": ["scan"], "metadata": {}}',
    b'{"sections": [], "expressions": 0, "engine": "scan", "metadata": []}',
    b'{"sections": [1, "x", null, [], {}]}',
    b"\xff\xfe\xfd",
    b'{"sections": [' + b"9" * 10_000 + b"]}",
    b"\x00{",
    *[b'{"sections": ' * depth for depth in (10, 1_000, 200_000)],
    *[b'{"sections": [' + b"[" * depth + b"]" * depth + b"]}" for depth in (10, 900, 940, 960, 980, 1_000, 200_000)],
    *[b'{"sections": [' + b'{"a":' * depth + b"1" + b"}" * depth + b"]}" for depth in (10, 900, 960, 200_000)],
]


class TestManifests:
    @pytest.mark.parametrize("manifest", NO_MANIFESTS, ids=lambda manifest: ascii(manifest[:60]))
    def test_what_is_no_manifest_is_refused(self, tmp_path: Path, manifest: bytes) -> None:
        with pytest.raises(SnapshotError):
            load(write_manifest(tmp_path / "snapshot", bytes(64), manifest))

    @pytest.mark.parametrize("section", ["ids", "starts", "words", "string_starts", "string_bytes", "column.keys"])
    @pytest.mark.parametrize(
        "changes",
        [
            {"name": 5},
            {"name": None},
            {"type": "<u2"},
            {"type": "|O8"},
            {"type": "<u4,<u4"},
            {"type": "quantum"},
            {"type": None},
            {"count": 1e3},
            {"count": "1"},
            {"count": -1},
            {"count": 10**30},
            {"count": 2**61},
            {"count": 2**64},
            {"offset": 0},
            {"offset": -64},
            {"offset": 2**40},
            {"offset": 2**64},
            {"offset": 65},
            {"offset": 10**30},
            {"offset": "64"},
            {"offset": 1.5},
            {"checksum": "0"},
            {"checksum": 0},
            {"checksum": None},
        ],
        ids=str,
    )
    def test_a_section_that_is_told_wrongly_is_refused(self, path: Path, section: str, changes: dict[str, Any]) -> None:
        parts = take_apart(path)
        parts.told[section] = changes
        parts.write(path)
        with pytest.raises(SnapshotError):
            load(path)

    def test_overlapping_sections_are_no_way_out(self, path: Path) -> None:
        """Two names for the same bytes: allowed where they are of one type and make sense, else refused."""
        parts = take_apart(path)
        parts.sections["words"] = parts.sections["ids"]
        with pytest.raises(SnapshotError):
            load(parts.write(path))

    def test_a_section_twice_is_refused(self, path: Path) -> None:
        parts = take_apart(path)
        parts.sections["column.more"] = parts.sections["ids"]
        parts.told["column.more"] = {"name": "ids"}
        with pytest.raises(SnapshotError, match="two sections"):
            load(parts.write(path))

    @pytest.mark.parametrize("section", ["ids", "starts", "words", "string_starts", "string_bytes"])
    def test_a_section_that_is_not_there_is_refused(self, path: Path, section: str) -> None:
        parts = take_apart(path)
        del parts.sections[section]
        with pytest.raises(SnapshotError, match=f"no section '{section}'"):
            load(parts.write(path))

    def test_a_section_that_nobody_knows_is_refused(self, path: Path) -> None:
        parts = take_apart(path)
        parts.sections["more"] = np.zeros(1, np.uint8)
        with pytest.raises(SnapshotError, match="'more'"):
            load(parts.write(path))


ARRAYS: list[tuple[str, str, Callable[[NDArray[Any]], Any]]] = [
    ("ids", "do not ascend", lambda ids: ids[::-1]),
    ("ids", "do not ascend", lambda ids: ids * 0),
    ("ids", "3 expressions, but has 2 ids", lambda ids: ids[:2]),
    ("ids", "3 expressions, but has 4 ids", lambda ids: np.append(ids, ids[-1:])),
    ("starts", "not in order", lambda starts: starts + 1),
    ("starts", "not in order", lambda starts: starts[[0, 2, 1, 3]]),
    ("starts", "not in order", lambda starts: np.append(starts[:-1], starts[-1] + 1)),
    ("starts", "not in order", lambda starts: np.append(starts[:-1], 2**63)),
    ("starts", "none: it has no words", lambda starts: starts[[0, 1, 1, 3]]),
    ("starts", "3 expressions, but has 3 ids and 3 starts", lambda starts: starts[:3]),
    ("starts", "3 expressions, but has 3 ids and 0 starts", lambda starts: starts[:0]),
    ("string_starts", "no end of its strings", lambda starts: starts[:0]),
    ("string_starts", "not in order", lambda starts: starts[::-1]),
    ("string_starts", "not in order", lambda starts: starts + 1),
    ("string_starts", "not in order", lambda starts: np.append(starts, 2**64 - 1)),
    ("string_bytes", "not in order", lambda data: data[:-1]),
    ("string_bytes", "not in order", lambda data: np.append(data, data)),
    ("string_bytes", "no UTF-8", lambda data: data * 0 + 0xFF),
    ("string_bytes", "no UTF-8", lambda data: np.append(data[:-1], 0xC3)),
    ("words", "not in order", lambda words: words[:-1]),
]


class TestArrays:
    @pytest.mark.parametrize(("section", "reason", "change"), ARRAYS)
    def test_places_and_strings_are_checked(
        self, path: Path, section: str, reason: str, change: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> None:
        parts = take_apart(path)
        whole = parts.sections[section]
        parts.sections[section] = np.ascontiguousarray(change(whole)).astype(whole.dtype)
        with pytest.raises(SnapshotError, match=reason):
            load(parts.write(path))

    def test_a_string_within_a_character_is_refused(self, tmp_path: Path) -> None:
        parts = of_words([predicate(EQUAL, STRING, 1)], [b"a", "é".encode()[:1], "é".encode()[1:]])
        with pytest.raises(SnapshotError, match="begins within a character"):
            load(parts.write(tmp_path / "snapshot"))

    @pytest.mark.parametrize("data", [b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80"])
    def test_strings_are_scalar_values_in_their_shortest_form(self, data: bytes, tmp_path: Path) -> None:
        with pytest.raises(SnapshotError, match="no UTF-8"):
            load(of_words([predicate(EQUAL, STRING, 1)], [b"a", data]).write(tmp_path / "snapshot"))

    def test_a_string_twice_is_refused(self, tmp_path: Path) -> None:
        parts = of_words([predicate(EQUAL, STRING, 1)], [b"a", b"a"])
        with pytest.raises(SnapshotError, match="string 1 twice"):
            load(parts.write(tmp_path / "snapshot"))

    def test_a_string_that_nobody_mentions_is_dropped(self, tmp_path: Path) -> None:
        loaded = load(of_words([predicate(EQUAL, SHORT, 1)], [b"a", b"b", b"b"]).write(tmp_path / "snapshot"))
        assert (len(loaded.vocabulary), loaded[0].text) == (1, "a = 1")
        loaded.insert(1, "b = 1")
        assert loaded.match({"b": 1}).tolist() == [1]

    @pytest.mark.parametrize("text", ["(", "a{1001}", "\\1", "(?=x)"])
    @pytest.mark.parametrize("before", [False, True])
    def test_what_is_no_regular_expression_is_refused(self, text: str, *, before: bool, tmp_path: Path) -> None:
        """Also where the same string stands elsewhere as an ordinary operand."""
        matching, equal = predicate(MATCHES, STRING, 1), predicate(EQUAL, STRING, 1)
        parts = of_words([equal, matching] if before else [matching], [b"a", text.encode()])
        with pytest.raises(SnapshotError, match="no regular expression"):
            load(parts.write(tmp_path / "snapshot"))


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


def test_json_is_what_python_reads() -> None:
    """The depth above which no manifest is read is Python's own; it must not be an error of another kind."""
    with pytest.raises(RecursionError):
        json.loads("[" * 200_000)
