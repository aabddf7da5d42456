"""A snapshot gives back what was saved, or says that it cannot: no file whatever does harm."""

import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from snapshots import (
    EQUAL,
    MATCHES,
    SHORT,
    STRING,
    of_words,
    predicate,
    take_apart,
    write_anew,
    write_manifest,
)
from tamis.indexes.engines import create, load
from tamis.indexes.errors import SnapshotError
from tamis.indexes.expressions import parse
from tamis.indexes.index import Index
from tamis.indexes.limits import Limits

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


def test_json_is_what_python_reads() -> None:
    """The depth above which no manifest is read is Python's own; it must not be an error of another kind."""
    with pytest.raises(RecursionError):
        json.loads("[" * 200_000)
