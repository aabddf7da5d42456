"""A whole replay: from what was asked for to what it came to."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError, InvalidError
from tamis.broker.republishing import Replayed, republish, require_target
from tamis.codecs.layout import Layout
from tamis.spark_sink import replay_comparison as comparing
from tamis.spark_sink.match_file import load_match_file
from tamis.spark_sink.replay import Counts, Replay, counts_of, write
from tamis.spark_sink.replay_as_delivered import delivered, event_topics, layouts_of, places_of
from tamis.spark_sink.replay_passes import VERSIONS_MAX, Pass, one_pass, passes_of, saved_pass
from tamis.spark_sink.replay_progress import Tell, watched
from tamis.spark_sink.replay_sources import ReplaySource
from tamis.spark_sink.replay_subscriptions import current, is_snapshot, proposed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOLD_LINES = 20
_EXAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Now:
    """Matched against the subscriptions that are in force now, as Kafka has them."""

    seconds: float = 10.0
    """How long Kafka may take to answer."""


@dataclass(frozen=True, slots=True)
class FromFile:
    """Against a snapshot, or lines of proposed subscriptions."""

    path: Path


@dataclass(frozen=True, slots=True)
class AsDelivered:
    """Against what was in force at each event's view."""

    versions_max: int = VERSIONS_MAX
    """In one index; if there are more, the interval is cut."""


Against = Now | FromFile | AsDelivered


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for."""

    against: Against
    out: str | None = None
    """A folder for tables of all that is found."""
    compares: bool = False
    """Whether it is compared with what was delivered."""
    publish: str | None = None
    """A topic that gets notifications of all matches, and then nothing else is done."""


@dataclass(frozen=True, slots=True)
class Report:
    """What came of it."""

    counts: Counts
    comparison: comparing.Comparison | None = None
    differences: Sequence[dict[str, object]] = field(default_factory=list[dict[str, object]])
    """The first ones, as rows of `replay_comparison.differences`."""
    published: int | None = None


def run(session: "SparkSession", settings: Settings, source: ReplaySource, plan: Plan, tell: Tell) -> Report:
    """BrokerErrors say what cannot be done, and why."""
    names = settings.names
    fulfilled = source.fulfilled() if plan.compares else {}
    layouts = layouts_of(source, names)
    topics = event_topics(layouts, names)
    events = source.events(topics)
    with watched(session, "tamis replay", tell) as watch, _passes(settings, source, layouts, events, plan) as told:
        passes, keys = told
        if (plan.compares or plan.publish) and (nameless := [key for key in keys if "/" not in key]):
            raise InvalidError(
                f"The snapshot does not tell whose subscriptions it has, only ids such as {nameless[0]}: their matches "
                "can be counted and written, and neither be compared with notifications nor be published."
            )
        replay = Replay(session, settings, events, passes, watch)
        if plan.publish is not None:
            return _published(settings, replay, plan.publish, topics, keys)
        if plan.out is None and not plan.compares:
            return Report(replay.counted(keys))
        with replay.kept() as found:
            counts = counts_of(watch.events or 0, found.groupBy("subscription", "reason").count(), keys)
            if plan.out is not None:
                write(found, counts, plan.out)
            if not plan.compares:
                return Report(counts)
            whole = places_of(events)
            places = comparing.comparable(whole, fulfilled)
            if whole and not places:
                raise ConflictError(
                    "None of these events can be compared: brokers have not matched them, or what they sent was not "
                    "read yet. Is the archive up to date, and does tamis lag tell of brokers at work?"
                )
            uncompared = 0 if places == whole else counts.events - comparing.inside(events, places).count()
            should = comparing.expected(comparing.inside(found.where("reason is null"), places))
            outside = source.others(topics).select("topic_id", "partition", "offset")
            came = comparing.within(comparing.delivered(source, names, fulfilled), places, outside)
            with _kept(comparing.differences(should, came)) as rows:
                if plan.out is not None:
                    comparing.write(rows, plan.out)
                comparison = comparing.compared(rows, uncompared)
                return Report(counts, comparison, comparing.examples(rows, _EXAMPLES))


def _published(settings: Settings, replay: Replay, topic: str, events: Sequence[str], keys: Sequence[str]) -> Report:
    """Counted first: then it is known that all of it can be matched."""
    partitions = require_target(settings, topic, events)
    counts = replay.counted(keys)
    sent = 0

    def more(count: int) -> None:
        nonlocal sent
        sent += count

    rows = replay.notifications().toLocalIterator()
    found = (Replayed(row.topic, row.partition, _bytes(row.key), bytes(row.id), bytes(row.value)) for row in rows)
    try:
        republish(settings, topic, partitions, found, more)
    except BaseException as error:
        error.add_note(f"{sent} notifications are in {topic}, in whole transactions.")
        raise
    return Report(counts, published=sent)


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


@contextmanager
def _passes(
    settings: Settings, source: ReplaySource, layouts: Sequence[Layout], events: "DataFrame", plan: Plan
) -> Iterator[tuple[list[Pass], list[str]]]:
    """And the subscriptions that may match, by their keys."""
    match plan.against:
        case Now(seconds):
            versions = current(settings, seconds)
            with one_pass(versions) as passes:
                yield passes, [version.key for version in versions]
        case FromFile(path) if is_snapshot(path):
            keys = load_match_file(path, "scan").keys
            with saved_pass(path) as passes:
                yield passes, [keys[place].decode() for place in range(len(keys))]
        case FromFile(path):
            versions, wrong = proposed(path, layouts[-1].limits)
            if wrong:
                told = "\n".join(f"  line {one.line}: {one.reason}" for one in wrong[:_TOLD_LINES])
                raise InvalidError(f"{len(wrong)} lines of {path} are no subscriptions:\n{told}")
            with one_pass(versions) as passes:
                yield passes, [version.key for version in versions]
        case AsDelivered(versions_max):
            found = delivered(source, settings.names, layouts, places_of(events))
            with passes_of(found.history, found.layout.shards, found.versions, versions_max) as passes:
                yield passes, list(dict.fromkeys(version.key for version in found.versions))


@contextmanager
def _kept(rows: "DataFrame") -> Iterator["DataFrame"]:
    """Several things are asked of them."""
    from pyspark import StorageLevel

    rows = rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield rows
    finally:
        rows.unpersist()
