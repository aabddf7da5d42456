from datetime import UTC, datetime

import pytest

from tamis.broker.errors import InvalidError
from tamis.broker.positions import END, START, Position

NOW = datetime(2026, 11, 18, 12, 30, tzinfo=UTC)


def milliseconds(*parts: int) -> int:
    return round(datetime(*parts, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("start", START),
        ("end", END),
        ("0", Position(offset=0)),
        ("17", Position(offset=17)),
        ("-10", Position(before_end=10)),
        ("2026-11-18", Position(milliseconds=milliseconds(2026, 11, 18))),
        ("2026-11-18T08:00", Position(milliseconds=milliseconds(2026, 11, 18, 8))),
        ("2026-11-18T08:00:00.250Z", Position(milliseconds=milliseconds(2026, 11, 18, 8) + 250)),
        ("2026-11-18T08:00+01:00", Position(milliseconds=milliseconds(2026, 11, 18, 7))),
        ("-1h", Position(milliseconds=milliseconds(2026, 11, 18, 11, 30))),
        ("-1h30m", Position(milliseconds=milliseconds(2026, 11, 18, 11))),
        ("-2d", Position(milliseconds=milliseconds(2026, 11, 16, 12, 30))),
        ("-500ms", Position(milliseconds=milliseconds(2026, 11, 18, 12, 30) - 500)),
        ("-5200w", Position(milliseconds=0)),
        ("99999999999999999999", None),
    ],
)
def test_places_are_named_by_offsets_and_by_times(text: str, position: Position | None) -> None:
    if position is None:
        with pytest.raises(InvalidError):
            Position.parse(text, NOW)
    else:
        assert Position.parse(text, NOW) == position


@pytest.mark.parametrize(
    "text",
    ["", "begin", "1h", "-", "-1y", "-h", "+5", "1.5", "2026-13-01", "2026-11-18T25:00", "-999999999999w", "\u0661"],
)
def test_what_names_no_place_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(InvalidError, match=r"is no position: there are start, end, an offset \(17\)"):
        Position.parse(text, NOW)


@pytest.mark.parametrize(
    ("position", "offset"),
    [
        (START, 5),
        (END, 20),
        (Position(offset=7), 7),
        (Position(offset=3), 5),
        (Position(offset=99), 20),
        (Position(before_end=4), 16),
        (Position(before_end=99), 5),
    ],
)
def test_a_place_is_within_what_there_is(position: Position, offset: int) -> None:
    assert position.clipped(5, 20) == offset
