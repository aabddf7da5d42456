import pytest

from tamis.broker.configuration import Settings
from tamis.broker.topic_facts import TopicFacts
from tamis.spark_sink import archive_plan
from tamis.spark_sink.archive_plan import Log, Plan, Topics, plan
from tamis.spark_sink.archive_tables import Slice
from tamis.spark_sink.errors import ArchiveError

FACTS = TopicFacts("orders", "id-2", 2, 1, (), (), {})
TOPICS = Topics(
    {"orders": FACTS}, {"orders": "events"}, (Log("orders", ("id-2", 0), 10, 20), Log("orders", ("id-2", 1), 0, 5))
)


def planned(
    monkeypatch: pytest.MonkeyPatch, nexts: dict[Slice, int], compacted: dict[tuple[str, int], int] | None = None
) -> Plan:
    monkeypatch.setattr(archive_plan, "compacted_to", lambda *_: compacted or {})
    return plan(Settings(), TOPICS, nexts)


def test_it_goes_on_where_the_archive_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    found = planned(monkeypatch, {("id-2", 0): 15, ("id-2", 1): 5})
    assert found.starts == {("orders", 0): 15, ("orders", 1): 5}
    assert (found.waiting, found.beginnings) == (5, ())


def test_what_is_new_begins_with_the_first_record_that_kafka_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a topic that was made anew: the archive knows another id."""
    found = planned(monkeypatch, {("id-1", 0): 99})
    assert found.starts == {("orders", 0): 10, ("orders", 1): 0}
    assert [(each.offset, each.missing_from) for each in found.beginnings] == [(10, 10), (0, 0)]
    assert not found.losses
    assert found.nexts({("orders", 0): 12}) == {("id-1", 0): 99, ("id-2", 0): 12}


def test_what_retention_took_before_it_was_archived_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    [loss] = planned(monkeypatch, {("id-2", 0): 4, ("id-2", 1): 5}).losses
    assert (loss.slice, loss.missing_from, loss.offset) == (("id-2", 0), 4, 10)


def test_what_compaction_may_have_gone_through_is_noted_up_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found = planned(monkeypatch, {("id-2", 0): 15, ("id-2", 1): 5}, {("orders", 0): 99, ("orders", 1): 3})
    [noted] = found.beginnings
    assert (noted.slice, noted.offset, noted.compacted_to, noted.is_loss) == (("id-2", 0), 15, 20, False)


def test_a_kafka_that_lost_what_it_acknowledged_is_not_archived_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArchiveError, match=r"orders \[1\] ends at 5 in Kafka, and the archive has it up to 6"):
        planned(monkeypatch, {("id-2", 1): 6})
