"""The matching step: from messages and what is in force to what is to be sent. No I/O, no clock, no logging."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

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
    """What one transaction may hold: of an event that needs more it holds a part."""

    notifications: int
    topics: int
    bytes: int

    def halved(self, times: int) -> Self:
        """Once for each time that what was within them was too much."""
        return replace(self, topics=max(1, self.topics >> times), notifications=max(1, self.notifications >> times))


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


def matched(
    state: SubscriptionState,
    decoder: EventDecoder,
    batch: MessageBatch,
    bounds: Bounds,
    sent: Mapping[int, str] | None = None,
) -> Matched:
    """Decode and match messages, as many as the bounds allow.

    What one event needs may be beyond them: then it is done alone, by its subscribers' names, for `within` to cut.
    Of the messages at some positions, the notifications of the subscribers up to a name were `sent` before.
    """
    decoded = decoder.decode(batch.parts, state.index.vocabulary)
    matches = state.index.match_batch(decoded.batch, ids_max=_IDS_MAX, scores=state.tells_scores)
    groups = grouped(matches, state.table)
    if sent:
        groups = _without(groups, state, decoded, sent)
    columns = EventColumns.of(decoded, batch.parts)
    if state.table.format is NotificationFormat.JSON:  # now, since as JSON they are larger: that is what must fit
        columns = replace(columns, values=_as_json(decoder, batch, decoded, groups))
    fitting = _fitting(groups, columns, bounds)
    whole = fitting == len(groups) and matches.events == len(decoded)
    done, events, chosen = len(batch), len(decoded), groups
    if not whole:
        events = matches.events if fitting == len(groups) else int(groups.events[fitting])
        is_too_large = fitting < len(groups) and groups.events[0] == events
        if is_too_large and decoded.positions[events] == 0:
            events += 1
            done = 1
        else:
            done = int(decoded.positions[events])
        chosen = groups.part(0, int(np.searchsorted(groups.events, events)))
        if is_too_large:
            chosen = chosen.taken(_by_name(chosen, state))
    refusals = [refusal for refusal in decoded.refusals if refusal.position < done]
    places = decoded.positions[chosen.events].tolist()
    return Matched(done, events, decoded.batch, places, chosen, columns, refusals, matches.work["expressions"])


def within(step: Matched, bounds: Bounds) -> tuple[Matched, Matched | None]:
    """What one transaction may hold of a step, and what is left of it: the rest of one event's subscribers.

    The bounds are those that it was matched with: what holds more than one message is within them already.
    """
    if step.done != 1:
        return step, None
    count = max(1, _fitting(step.groups, step.columns, bounds))
    total = len(step.groups)
    if count >= total:
        return step, None
    first, rest = (
        replace(step, groups=step.groups.part(begin, end), places=step.places[begin:end])
        for begin, end in ((0, count), (count, total))
    )
    return first, rest


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


def _fitting(groups: Groups, columns: EventColumns, bounds: Bounds) -> int:
    """How many of the first groups are within the bounds."""
    sizes = np.array([len(value) for value in columns.values], np.int64)[groups.events]
    counts = [len(groups), bounds.notifications, int(np.searchsorted(np.cumsum(sizes), bounds.bytes, "right"))]
    _, firsts = np.unique(groups.subscribers, return_index=True)
    if len(firsts) > bounds.topics:
        counts.append(int(np.sort(firsts)[bounds.topics]))
    return min(counts)


def _without(groups: Groups, state: SubscriptionState, decoded: DecodedEvents, sent: Mapping[int, str]) -> Groups:
    """Those whose notifications were not sent before."""
    is_left = np.ones(len(groups), np.bool_)
    for position, subscriber in sent.items():
        event = int(np.searchsorted(decoded.positions, position))
        if event == len(decoded.positions) or decoded.positions[event] != position:
            continue
        first, end = np.searchsorted(groups.events, [event, event + 1]).tolist()
        numbers = groups.subscribers[first:end].tolist()
        names, last = state.subscriber_names(numbers), subscriber.encode()
        is_left[first:end] = [names[number] > last for number in numbers]
    return groups.taken(np.flatnonzero(is_left))


def _by_name(groups: Groups, state: SubscriptionState) -> NDArray[np.intp]:
    """The places of one event's groups in the order of their subscribers' names, which all processes share."""
    numbers = groups.subscribers.tolist()
    names = state.subscriber_names(numbers)
    return np.array(sorted(range(len(numbers)), key=lambda place: names[numbers[place]]), np.intp)


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
