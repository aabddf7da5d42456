"""The matching step: from messages and what is in force to what is to be sent. No I/O, no clock, no logging."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tamis.broker.message_batch import MessageBatch
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.decoded_events import DecodedEvents
from tamis.codecs.event_columns import EventColumns
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.grouping import grouped
from tamis.codecs.groups import Groups
from tamis.codecs.notification_encoder import encoded
from tamis.codecs.notification_ids import notification_ids
from tamis.codecs.reasons import Refusal
from tamis.codecs.rendering import rendered
from tamis.indexes.batch import EventBatch

_IDS_MAX = 5_000_000
_ENCODED_BYTES = 4 << 20
"""A piece at a time: small enough to stay in the cache until it is copied."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one transaction may hold; one event is always done, whatever it needs."""

    notifications: int
    topics: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Matched:
    """What became of the first so many messages."""

    done: int
    """How many messages."""
    events: int
    """How many of them were events."""
    batch: EventBatch
    places: Sequence[int]
    """Of each group, its event's message."""
    groups: Groups
    columns: EventColumns
    refusals: Sequence[Refusal]
    candidates: int = 0
    """Subscriptions that the engine looked at."""


def matched(state: SubscriptionState, decoder: EventDecoder, batch: MessageBatch, bounds: Bounds) -> Matched:
    """Decode and match messages, as many as the bounds allow."""
    decoded = decoder.decode(batch.parts, state.index.vocabulary)
    matches = state.index.match_batch(decoded.batch, ids_max=_IDS_MAX, scores=state.tells_scores)
    groups = grouped(matches, state.table)
    columns = EventColumns.of(decoded, batch.parts)
    events = min(matches.events, _events_within(groups, columns, bounds))
    whole = events == len(decoded)
    done = len(batch) if whole else int(decoded.positions[events])
    chosen = groups if whole else _until(groups, events)
    if state.table.format is NotificationFormat.JSON:
        columns = replace(columns, values=_as_json(decoder, batch, decoded, chosen))
    refusals = [refusal for refusal in decoded.refusals if refusal.position < done]
    places = decoded.positions[chosen.events].tolist()
    return Matched(done, events, decoded.batch, places, chosen, columns, refusals, matches.work["expressions"])


def notifications(
    state: SubscriptionState, matched: Matched, topic_ids: Mapping[str, str], subscribers: Sequence[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    """Of each group, in their order: its notification's id, and its bytes."""
    first = 0
    while first < len(matched.groups):
        part = encoded(matched.groups, state.table, matched.columns, first, _ENCODED_BYTES)
        ids = notification_ids(matched.groups, matched.columns, topic_ids, subscribers, first, part.end)
        yield from zip(ids, part, strict=True)
        first = part.end


def _events_within(groups: Groups, columns: EventColumns, bounds: Bounds) -> int:
    """How many events fit; a great number if all that matched do."""
    ends = []
    sizes = np.cumsum(np.array([len(value) for value in columns.values], np.int64)[groups.events])
    if len(sizes) > 0 and sizes[-1] > bounds.bytes:
        ends.append(int(groups.events[np.searchsorted(sizes, bounds.bytes, "right")]))
    if len(groups) > bounds.notifications:
        ends.append(int(groups.events[bounds.notifications]))
    _, firsts = np.unique(groups.subscribers, return_index=True)
    if len(firsts) > bounds.topics:
        ends.append(int(groups.events[np.sort(firsts)[bounds.topics]]))
    if not ends:
        return np.iinfo(np.int64).max
    return max(min(ends), int(groups.events[0]) + 1)


def _until(groups: Groups, events: int) -> Groups:
    count = int(np.searchsorted(groups.events, events))
    ids = int(groups.starts[count])
    return Groups(
        groups.events[:count],
        groups.subscribers[:count],
        groups.starts[: count + 1],
        groups.ids[:ids],
        None if groups.scores is None else groups.scores[:ids],
    )


def _as_json(decoder: EventDecoder, batch: MessageBatch, decoded: DecodedEvents, groups: Groups) -> list[bytes]:
    """The events that matched, as JSON; the others are not looked at."""
    wanted = decoded.positions[np.unique(groups.events)]
    found: dict[int, bytes] = {}
    first = 0
    for part in batch.parts:
        count = len(part.offsets)
        places = [int(place) - first for place in wanted if first <= place < first + count]
        chosen = replace(
            part,
            partition=np.broadcast_to(part.partition, count)[places],
            offsets=np.asarray(part.offsets)[places],
            timestamps=np.asarray(part.timestamps)[places],
            values=[part.values[place] for place in places],  # type: ignore[index]
            keys=None,
        )
        found |= {first + place: value for place, value in zip(places, rendered(decoder, chosen), strict=True)}
        first += count
    return [found.get(position, b"null") for position in decoded.positions.tolist()]
