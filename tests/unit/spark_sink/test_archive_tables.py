import pytest

from tamis.spark_sink.archive_tables import Commit
from tamis.spark_sink.errors import ArchiveError


def test_a_commit_is_read_as_it_was_written() -> None:
    commit = Commit(7, 3, {("id-b", 11): 5, ("id-a", 0): 2**60, ("id-b", 2): 0})
    assert Commit.parse(commit.text) == commit
    first = Commit(7, 0, None)
    assert Commit.parse(first.text) == first


@pytest.mark.parametrize("text", [None, "", "{", "[]", "7", '{"other": 1}'])
def test_what_others_commit_is_none_of_ours(text: str | None) -> None:
    assert Commit.parse(text) is None


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(ArchiveError, match="newer version"):
        Commit.parse('{"tamis": 2}')
