"""What an archive may tell as settled, by promises of what is committed and how far it has read."""

import pytest

from tamis.spark_sink.archive_tables import Commit
from tamis.spark_sink.settling import Promise, Settling

IDS = {"tamis.views": "views", "tamis.notifications.ann": "ann"}


def promise(events: int, views: int, ann: int) -> Promise:
    return Promise({("orders", 0): events}, {("tamis.views", 0): views, ("tamis.notifications.ann", 0): ann}, IDS)


@pytest.fixture
def settling(monkeypatch: pytest.MonkeyPatch) -> Settling:
    """Promised that 10 events are whole for who has read 1 view and 5 notifications; then 20 for 2 and 9."""
    promises = iter([promise(10, 1, 5), promise(20, 2, 9)])
    monkeypatch.setattr("tamis.spark_sink.settling.promised", lambda _settings: next(promises))
    made = Settling({("gone", 3): 7})
    for _ in range(2):
        made.ask(None)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("nexts", "settled"),
    [
        ({}, None),
        ({("views", 0): 1, ("ann", 0): 4}, None),
        ({("ann", 0): 100}, None),
        ({("views", 0): 1, ("ann", 0): 5}, 10),
        ({("views", 0): 2, ("ann", 0): 8}, 10),
        ({("views", 0): 2, ("ann", 0): 9}, 20),
    ],
)
def test_nothing_is_settled_before_all_is_read_that_was_written_with_it(
    settling: Settling, nexts: dict[tuple[str, int], int], settled: int | None
) -> None:
    assert settling.reached(nexts).get(("orders", 0)) == settled
    assert settling.reached(nexts)["gone", 3] == 7, "what was settled of a topic that is gone stays so"


def test_what_is_settled_stays_so(settling: Settling) -> None:
    settling.reached({("views", 0): 2, ("ann", 0): 9})
    assert settling.reached({})["orders", 0] == 20


def test_a_commit_keeps_it() -> None:
    commit = Commit(5, 2, {("orders", 0): 30}, {("orders", 0): 20, ("orders", 1): 0})
    assert Commit.parse(commit.text) == commit
    assert Commit.parse(Commit(5, 0, None).text) == Commit(5, 0, None, None)
