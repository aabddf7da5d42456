import io
from pathlib import Path

import pytest

from tamis.admin.errors import UsageError
from tamis.admin.lines import WrongLines, lines_in, opened, pairs_of
from tamis.broker.json_lines import WrongLine


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("a\n", 1), ("a\n\nb", 3), ("a\n" * 700_000, 700_000)])
def test_a_files_lines_are_counted(text: str, count: int, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    assert lines_in(file) == count
    assert lines_in(tmp_path) is None
    assert lines_in(Path("-")) is None


def test_a_minus_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x\n")))
    with opened(Path("-")) as source:
        assert source.read() == b"x\n"


def test_the_first_wrong_lines_are_told_and_more_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = WrongLines()
    for line in range(1, 2001):
        wrong.tell(WrongLine(line, "why\x1b\nwhere"))
    wrong.end()
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == ["line 1: why\\x1b", "  where"]
    assert told[-1].startswith("... and 1980 more")
    assert len(told) == 41
    assert [one["line"] for one in wrong.kept] == list(range(1, 1001))


def test_pairs_have_a_name_each_and_no_name_twice() -> None:
    assert pairs_of(["a=1", "b=", "c=x=y"], "--tag") == {"a": "1", "b": "", "c": "x=y"}
    for wrong in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError, match="--tag"):
            pairs_of(wrong, "--tag")
