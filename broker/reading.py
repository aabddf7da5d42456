"""Reading topics from here to there, as anyone may who is no member of a group.

A topic's last offsets may be transaction markers, aborted data, or compacted away, so "until the record before the end"
might never come: what ends a partition is Kafka's own word that nothing more was there.
"""

import time
from collections.abc import Iterable, Iterator, Mapping

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import InvalidError, MissingError, UnreachableError
from tamis.broker.kafka import (
    TOPIC_FORBIDDEN,
    AdminClient,
    Consumer,
    KafkaException,
    Message,
    Producer,
    Properties,
    TopicPartition,
    admin_client,
    is_end,
    offset_of,
    place_of,
    reader,
)

BEGINNING = -2
"""As an offset: wherever the log begins."""
TELLING_ENDS: Properties = {"enable.partition.eof": True}
"""For a consumer that is told where partitions end: behind markers of transactions, too."""
TO_THE_END: Properties = {**TELLING_ENDS, "fetch.wait.max.ms": 10}
"""For one that waits for it: Kafka says it once it has waited for more, here not for as long as by default."""
_POLL_SECONDS = 0.5


def partitions_of(settings: KafkaSettings, topic: str, seconds: float = 10.0) -> list[int]:
    """Its partitions' numbers. MissingError if there is no such topic, InvalidError if this user may not see it."""
    return partitions_known_to(admin_client(settings), settings, topic, seconds)


def partitions_known_to(
    client: AdminClient | Producer, settings: KafkaSettings, topic: str, seconds: float = 10.0
) -> list[int]:
    """As a client has them from now on. One that knows nothing yet may take seconds for what it is asked first."""
    try:
        found = client.list_topics(topic, timeout=seconds).topics[topic]
    except KafkaException as error:
        raise UnreachableError(
            f"Kafka at {settings.bootstrap_servers} does not answer: {error.args[0].str()}"
        ) from error
    if found.error is not None and found.error.code() in TOPIC_FORBIDDEN:
        raise InvalidError(f"Kafka forbids {topic}: {found.error.str()}. docs/rights.md lists who needs what.")
    if found.error is not None:
        raise MissingError(f"There is no topic {topic}: {found.error.str()}.")
    return sorted(found.partitions)


def records(
    settings: KafkaSettings,
    starts: Iterable[TopicPartition],
    ends: Mapping[tuple[str, int], int] | None = None,
    seconds: float = 30.0,
) -> Iterator[Message]:
    """Committed records of a topic from each start up to its end (exclusive), or up to what is there now.

    Of one partition in its order. UnreachableError if for so many seconds nothing comes.
    """
    assigned = list(starts)
    if not assigned:
        return
    left = {(start.topic, start.partition) for start in assigned}
    client = reader(settings, assigned[0].topic, TO_THE_END)
    try:
        client.assign(assigned)
        while left:
            message = _next(client, seconds, left)
            place = place_of(message)
            end = None if ends is None else ends.get(place)
            if is_end(message) or (end is not None and offset_of(message) >= end - 1):
                left.discard(place)
            if not is_end(message) and (end is None or offset_of(message) < end):
                yield message
    finally:
        client.close()


def _next(client: Consumer, seconds: float, left: Iterable[tuple[str, int]]) -> Message:
    deadline = time.monotonic() + seconds
    while (message := client.poll(_POLL_SECONDS)) is None:
        if time.monotonic() > deadline:
            raise UnreachableError(f"Kafka sent nothing for {seconds:g} s of {_told(left)}.")
    return message


def _told(places: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{topic} [{partition}]" for topic, partition in sorted(places))
