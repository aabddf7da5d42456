"""What brokers of any version have left behind is read: snapshots, their manifests, and views beside offsets.

To change a format, give it the next number, keep what was written with the last one here, and go on reading it.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from subscription_content import content
from tamis.broker.frozen_state import about_of
from tamis.broker.partitions import partition_of
from tamis.broker.snapshot_store import FORMAT as MANIFEST_FORMAT
from tamis.broker.snapshot_store import Generation
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import Position, View
from tamis.indexes import SnapshotError, load
from tamis.indexes.limits import Limits
from tamis.indexes.snapshot_file import FORMAT as SNAPSHOT_FORMAT

CASES = Path(__file__).parents[2] / "cases"
LAYOUT = Layout(1, 1, 2, {"tamis.subscriptions": "id"}, Limits())
SUBSCRIPTIONS = (
    Subscription("ann", "cheap", 'price < 500 and region in ("eu", "uk") and not blocked = true'),
    Subscription("ann", "n" * 80, "missing a or b between -1.5 and 9007199254740993", {"team": "blau", "ü": "日本"}),
    Subscription("bob", "x", 'name starts with "sen" xor exists a', {}, scores=True),
    Subscription("bob", "held", "a = 1", {"team": "blau"}, paused="for now"),
    Subscription("cecile", "weights", 'a = 1 weight 0.5 or b matches "^x+$" weight 2', {"": ""}, scores=True),
)
VIEW = View(3, [Position(0, 17, 2), Position(1, 0, -1)])
VIEWS = {1: "1;3;0:17:2,1:0:-1"}
GENERATION = Generation("g-1", 1700000000.25, VIEW, 5, "7d52824e3103b1a50410fe2840bfb742", 3, ("d1",))
MANIFESTS = {
    1: '{"name": "g-1", "created": 1700000000.25, "view": "1;3;0:17:2,1:0:-1", "subscriptions": 5, '
    '"rules": "7d52824e3103b1a50410fe2840bfb742", "size": 3, "chunks": ["d1"], "format": 1}'
}


def applied() -> SubscriptionState:
    """As the log gives it."""
    state = SubscriptionState(LAYOUT, "scan", NotificationFormat.AVRO)
    for one in SUBSCRIPTIONS:
        state.apply(partition_of(one.subscriber, LAYOUT.partitions), [one.key], [one.encode()])
    return state


@pytest.mark.parametrize("number", range(1, SNAPSHOT_FORMAT + 1))
@pytest.mark.parametrize("engine", ["scan", "pst-hash"])
def test_snapshots_of_any_version_are_read(number: int, engine: str) -> None:
    path = CASES / f"snapshot-{number}.tamis"
    assert about_of(load(path, "scan").metadata)["view"] == VIEW.text
    assert content(SubscriptionState(LAYOUT, engine, NotificationFormat.AVRO, path)) == content(applied())


@pytest.mark.parametrize("number", range(1, MANIFEST_FORMAT + 1))
def test_manifests_of_any_version_are_read(number: int) -> None:
    assert Generation.decode(MANIFESTS[number].encode()) == GENERATION


def test_a_manifest_that_is_written_now_is_read() -> None:
    made = replace(GENERATION, made=1700000001.5)
    assert Generation.decode(made.encode().encode()) == made
    with pytest.raises(SnapshotError, match="when it was made"):
        Generation.decode(made.encode().replace("1700000001.5", '"soon"').encode())


@pytest.mark.parametrize("text", VIEWS.values())
def test_views_of_any_version_are_read(text: str) -> None:
    assert View.parse(text) == VIEW
