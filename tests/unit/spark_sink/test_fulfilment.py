"""What an archive may tell as fulfilled, by promises of what is committed and how far it has read."""

import pytest

from tamis.spark_sink.archive_tables import Commit
from tamis.spark_sink.fulfilment import Fulfilment, Promise

IDS = {"tamis.views": "views", "tamis.notifications.ann": "ann"}


def promise(events: int, views: int, ann: int) -> Promise:
    return Promise({("orders", 0): events}, {("tamis.views", 0): views, ("tamis.notifications.ann", 0): ann}, IDS)


@pytest.fixture
def fulfilment(monkeypatch: pytest.MonkeyPatch) -> Fulfilment:
    """Promised that 10 events are whole for who has read 1 view and 5 notifications; then 20 for 2 and 9."""
    promises = iter([promise(10, 1, 5), promise(20, 2, 9)])
    monkeypatch.setattr("tamis.spark_sink.fulfilment.promised", lambda _settings: next(promises))
    made = Fulfilment({("gone", 3): 7})
    for _ in range(2):
        made.ask(None)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("nexts", "fulfilled"),
    [
        ({}, None),
        ({("views", 0): 1, ("ann", 0): 4}, None),
        ({("ann", 0): 100}, None),
        ({("views", 0): 1, ("ann", 0): 5}, 10),
        ({("views", 0): 2, ("ann", 0): 8}, 10),
        ({("views", 0): 2, ("ann", 0): 9}, 20),
    ],
)
def test_nothing_is_fulfilled_before_all_is_read_that_was_written_with_it(
    fulfilment: Fulfilment, nexts: dict[tuple[str, int], int], fulfilled: int | None
) -> None:
    assert fulfilment.reached(nexts).get(("orders", 0)) == fulfilled
    assert fulfilment.reached(nexts)["gone", 3] == 7, "what was fulfilled of a topic that is gone stays so"


def test_what_is_fulfilled_stays_so(fulfilment: Fulfilment) -> None:
    fulfilment.reached({("views", 0): 2, ("ann", 0): 9})
    assert fulfilment.reached({})["orders", 0] == 20


def test_a_commit_keeps_it() -> None:
    commit = Commit(5, 2, {("orders", 0): 30}, {("orders", 0): 20, ("orders", 1): 0})
    assert Commit.parse(commit.text) == commit
    assert Commit.parse(Commit(5, 0, None).text) == Commit(5, 0, None, None)
