"""What an archive may tell as fulfilled, by promises of what is committed and how far it has read."""

import pytest

from tamis.broker.errors import UnreachableError
from tamis.spark_sink.archive_plan import Topics
from tamis.spark_sink.archive_tables import Commit, Slice
from tamis.spark_sink.fulfilment import Fulfilment, Promise

TOPICS = Topics({}, {}, ())
Nexts = dict[Slice, int]


def promise(events: int, views: int, ann: int) -> Promise:
    return Promise({("orders", 0): events}, {("views", 0): views, ("ann", 0): ann})


def asked(monkeypatch: pytest.MonkeyPatch, fulfilment: Fulfilment, *promises: Promise) -> Fulfilment:
    for one in promises:
        monkeypatch.setattr("tamis.spark_sink.fulfilment.promised", lambda _settings, one=one: (one, TOPICS))
        assert fulfilment.ask(None) is TOPICS  # type: ignore[arg-type]
    return fulfilment


def tell(fulfilment: Fulfilment, nexts: Nexts) -> None:
    fulfilment.told_with(nexts, fulfilment.reached(nexts))


@pytest.fixture
def fulfilment(monkeypatch: pytest.MonkeyPatch) -> Fulfilment:
    """Promised that 10 events are whole for who has read 1 view and 5 notifications; then 20 for 2 and 9."""
    return asked(monkeypatch, Fulfilment({("gone", 3): 7}), promise(10, 1, 5), promise(20, 2, 9))


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
    fulfilment: Fulfilment, nexts: Nexts, fulfilled: int | None
) -> None:
    told = fulfilment.reached(nexts)
    assert told is not None
    assert told.get(("orders", 0)) == fulfilled
    assert told["gone", 3] == 7, "what was told of a topic that is gone stays so"


def test_what_was_not_written_is_not_told_by_who_has_read_less(fulfilment: Fulfilment) -> None:
    """A commit that was interrupted, and another one after it."""
    whole: Nexts = {("views", 0): 2, ("ann", 0): 9}
    less: Nexts = {("views", 0): 1, ("ann", 0): 5}
    assert fulfilment.reached(whole) == {("gone", 3): 7, ("orders", 0): 20}
    assert fulfilment.reached(less) == {("gone", 3): 7, ("orders", 0): 10}


def test_what_was_told_stays_so_and_what_can_be_told_without_reading_more_is_known(
    monkeypatch: pytest.MonkeyPatch, fulfilment: Fulfilment
) -> None:
    tell(fulfilment, {("views", 0): 2, ("ann", 0): 9})
    assert fulfilment.told == fulfilment.reached({}) == {("gone", 3): 7, ("orders", 0): 20}
    assert not fulfilment.has_more_to_tell
    asked(monkeypatch, fulfilment, promise(30, 3, 9))
    assert not fulfilment.has_more_to_tell
    asked(monkeypatch, fulfilment, promise(40, 2, 9))
    assert fulfilment.has_more_to_tell
    fulfilment.begin()
    assert not fulfilment.has_more_to_tell, "the first batch of another stream will tell"
    fulfilment.reached({})
    assert fulfilment.has_more_to_tell


def test_what_is_promised_while_a_commit_is_written_is_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch, fulfilment: Fulfilment
) -> None:
    nexts: Nexts = {("views", 0): 2, ("ann", 0): 9}
    written = fulfilment.reached(nexts)
    asked(monkeypatch, fulfilment, promise(25, 2, 9))
    fulfilment.told_with(nexts, written)
    assert fulfilment.told == {("gone", 3): 7, ("orders", 0): 20}
    assert fulfilment.has_more_to_tell
    assert fulfilment.reached(nexts) == {("gone", 3): 7, ("orders", 0): 25}


def test_who_is_promised_nothing_tells_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fulfilment = Fulfilment(None)

    def refused(_settings: object) -> Promise:
        raise UnreachableError("no right to ask")

    monkeypatch.setattr("tamis.spark_sink.fulfilment.promised", refused)
    for _ in range(3):
        assert fulfilment.ask(None) is None  # type: ignore[arg-type]
    assert caplog.text.count("no right to ask") == 1
    assert fulfilment.reached({("views", 0): 100}) is None


def test_of_too_many_promises_the_next_one_to_be_kept_stays(
    monkeypatch: pytest.MonkeyPatch, fulfilment: Fulfilment
) -> None:
    asked(monkeypatch, fulfilment, *(promise(100 + number, 10 + number, 9) for number in range(500)))
    told = fulfilment.reached({("views", 0): 1, ("ann", 0): 5})
    assert told is not None
    assert told["orders", 0] == 10


def test_a_commit_keeps_it() -> None:
    commit = Commit(5, 2, {("orders", 0): 30}, {("orders", 0): 20, ("orders", 1): 0})
    assert Commit.parse(commit.text) == commit
    assert Commit.parse(Commit(5, 0, None).text) == Commit(5, 0, None, None)
