import pytest

from tamis.spark_sink.archive_plan import Log
from tamis.spark_sink.archive_status import State, _lost, _state
from tamis.spark_sink.archive_tables import Beginning

LOG = Log("t", ("id", 0), low=10, end=20)


@pytest.mark.parametrize(
    ("log", "at", "late_below", "state"),
    [
        (LOG, 20, 20, State.OK),
        (LOG, 15, 15, State.OK),
        (LOG, 15, 16, State.LATE),
        (LOG, 10, 11, State.LATE),
        (LOG, 9, 0, State.LOST),
        (LOG, None, 0, State.NEW),
        (LOG, None, 15, State.LATE),
        (None, 9, 0, State.ENDED),
    ],
)
def test_what_waits_for_too_long_is_late_and_what_is_gone_is_lost(
    log: Log | None, at: int | None, late_below: int, state: State
) -> None:
    assert _state(log, at, late_below) is state


def test_a_loss_that_was_noted_twice_counts_once() -> None:
    noted = [
        Beginning("t", ("id", 0), 7, 5, 7),
        Beginning("t", ("id", 0), 9, 5, 9),
        Beginning("t", ("id", 0), 20, 12, 20),
    ]
    assert _lost([*noted, Beginning("t", ("id", 1), 3, 3, 3)]) == {("id", 0): 4 + 8}
