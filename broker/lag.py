"""How far each shard is behind in each event partition, and who has it: `tamis lag`.

What is committed is asked for as a member would (`Consumer.committed`), which waits while a transaction that has
offsets in it is being decided.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.errors import UnreachableError
from tamis.broker.kafka import (
    EARLIEST,
    AdminClient,
    KafkaException,
    Properties,
    TopicPartition,
    admin_client,
    consumer,
    is_end,
    place_of,
    reader,
)
from tamis.broker.lag_ends import Owner, Place, log_ends, offsets, owners, places_of
from tamis.broker.layouts import require_layout
from tamis.broker.reading import TO_THE_END
from tamis.codecs.layout import Layout

_DECIDED: Properties = {"isolation.level": "read_uncommitted"}
"""Offsets that are not decided are never told; with the other level they are waited for."""
_LOOKED_AT_MAX = 1000
"""Where no more offsets than these are left, it is worth a look whether any of them is an event."""
_PROPERTIES = {**TO_THE_END, "queued.min.messages": 1}


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Of one shard in one event partition."""

    shard: int
    group: str
    topic: str
    partition: int
    committed: int | None
    """The next offset, None if nothing was committed: then the shard starts where its layout says."""
    end: int | None
    """None if that cannot be told: the partition has no leader."""
    lag: int | None
    """Offsets to go, 0 if no event is among them."""
    hidden: int
    """How many of them lie behind a transaction that is open, and cannot be read yet."""
    owner: Owner | None


def lags(settings: Settings, seconds: float = 10.0) -> list[PartitionLag]:
    """By shard, topic and partition."""
    layout = require_layout(settings, seconds)
    admin = admin_client(settings.kafka)
    try:
        return _lags(settings, layout, admin, seconds)
    except KafkaException as error:
        raise UnreachableError(f"Kafka does not tell how far brokers are: {error.args[0].str()}") from error


def matched_up_to(settings: Settings, seconds: float = 10.0) -> dict[Place, int]:
    """The offset in each event partition before which every shard has matched all, in transactions that are decided.

    By the ids of topics, as the layout has them. What is being decided is left out, and not waited for.
    """
    layout = require_layout(settings, seconds)
    admin = admin_client(settings.kafka)
    try:
        places = places_of(admin, _event_topics(settings, layout), seconds)
        begins = _begins(admin, layout, places, seconds)
        groups = _groups(settings, layout)
        committed = [_committed(settings, group, places, seconds, _DECIDED) for group in groups]
    except KafkaException as error:
        raise UnreachableError(f"Kafka does not tell how far brokers are: {error.args[0].str()}") from error
    return {
        (layout.topics[topic], partition): min(
            _next(of_shard[topic, partition], begins.get((topic, partition))) for of_shard in committed
        )
        for topic, partition in places
    }


def _event_topics(settings: Settings, layout: Layout) -> list[str]:
    return sorted(topic for topic in layout.topics if topic != settings.names.subscriptions)


def _groups(settings: Settings, layout: Layout) -> list[str]:
    return [settings.names.group(layout.number, shard) for shard in range(layout.shards)]


def _next(committed: int | None, begin: int | None) -> int:
    return begin or 0 if committed is None else committed


def _lags(settings: Settings, layout: Layout, admin: AdminClient, seconds: float) -> list[PartitionLag]:
    groups = _groups(settings, layout)
    places = places_of(admin, _event_topics(settings, layout), seconds)
    committed = {group: _committed(settings, group, places, seconds, {}) for group in groups}
    owned = owners(admin, groups, seconds)
    readable = log_ends(admin, places, seconds, committed=True)
    # Asked for last, so that nothing is committed beyond them.
    ends = log_ends(admin, places, seconds)
    begins = _begins(admin, layout, places, seconds)
    found: list[PartitionLag] = []
    for shard, group in enumerate(groups):
        nexts = {place: _next(at, begins.get(place)) for place, at in committed[group].items()}
        idle = _without_events(settings, nexts, ends, readable, seconds)
        for place in places:
            end = ends.get(place)
            lag = None if end is None else max(0, end - nexts[place])
            found.append(
                PartitionLag(
                    *(shard, group, *place, committed[group][place], end),
                    lag=0 if place in idle else lag,
                    hidden=0 if end is None else end - readable.get(place, end),
                    owner=owned.get(group, {}).get(place),
                )
            )
    return found


def _committed(
    settings: Settings, group: str, places: Iterable[Place], seconds: float, properties: Properties
) -> dict[Place, int | None]:
    client = consumer(settings.kafka, group, properties)
    try:
        found = client.committed([TopicPartition(*place) for place in places], seconds)
    finally:
        client.close()
    for at in found:
        if at.error is not None:
            raise UnreachableError(f"Where {group} is in {at.topic} [{at.partition}] is not told: {at.error.str()}")
    return {(at.topic, at.partition): None if at.offset < 0 else at.offset for at in found}


def _begins(admin: AdminClient, layout: Layout, places: Iterable[Place], seconds: float) -> dict[Place, int]:
    """Where a group starts that has committed nothing: at the layout's start, else at the first record."""
    firsts = offsets(admin, dict.fromkeys(places, EARLIEST), seconds)
    starts = {(start.topic, start.partition): start.offset for start in layout.starts}
    return {place: starts.get(place, first) for place, first in firsts.items()}


def _without_events(
    settings: Settings,
    nexts: Mapping[Place, int],
    ends: Mapping[Place, int],
    readable: Mapping[Place, int],
    seconds: float,
) -> Collection[Place]:
    """Partitions in which nothing but markers of transactions and aborted records is left, if there is anything."""
    wanted = {
        place
        for place, at in nexts.items()
        if place in ends and readable.get(place) == ends[place] and 0 < ends[place] - at <= _LOOKED_AT_MAX
    }
    if not wanted:
        return wanted
    empty: set[Place] = set()
    client = reader(settings.kafka, settings.names.layout, _PROPERTIES)  # by the name that the layout was read by
    try:
        client.assign([TopicPartition(*place, nexts[place]) for place in sorted(wanted)])
        deadline = time.monotonic() + seconds
        while wanted and time.monotonic() < deadline:
            message = client.poll(0.1)
            if message is None:
                continue
            place = place_of(message)
            if place in wanted and is_end(message):
                empty.add(place)
            wanted.discard(place)
    finally:
        client.close()
    return empty
