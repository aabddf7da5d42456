"""Where a partition begins for which its group has committed nothing."""

import logging
from collections.abc import Sequence

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError
from tamis.broker.kafka import KafkaException, TopicPartition, admin_client
from tamis.broker.positions import START, resolved
from tamis.broker.reading import BEGINNING, partitions_of, records
from tamis.broker.transactions import refuse
from tamis.codecs.errors import RecordError
from tamis.codecs.layout import Layout
from tamis.codecs.view import ViewRecord

_LOG = logging.getLogger(__name__)


class StartingPoints:
    """The layout's, or the beginning for a partition that was added later to a topic that the layout knows.

    Not where events of it were matched before: then offsets that there were are lost, and only a human can tell what to
    do. Starting anywhere would repeat events, or lose them.
    """

    def __init__(self, settings: Settings, layout: Layout, shard: int) -> None:
        self._settings = settings
        self._layout = layout
        self._shard = shard
        self._admin = admin_client(settings.kafka)

    def choose(self, partitions: Sequence[TopicPartition]) -> None:
        """Set their offsets. ConflictError if events of one of them were matched before."""
        self._refuse_lost(partitions)
        starts = {(start.topic, start.partition): start.offset for start in self._layout.starts}
        for place in partitions:
            start = starts.get((place.topic, place.partition))
            place.offset = self._beginning(place) if start is None else start
        told = ", ".join(f"{place.topic} [{place.partition}] from {place.offset}" for place in partitions)
        _LOG.info("nothing was committed yet, starting %s", told)

    def _beginning(self, place: TopicPartition) -> int:
        """As a number: what is to be committed must be one."""
        try:
            return resolved(self._admin, place.topic, [place.partition], START)[place.partition]
        except KafkaException as error:
            refuse(error)

    def _refuse_lost(self, partitions: Sequence[TopicPartition]) -> None:
        asked = {ViewRecord.key_of(self._shard, place.topic, place.partition) for place in partitions}
        views = self._settings.names.views
        places = [TopicPartition(views, number, BEGINNING) for number in partitions_of(self._settings.kafka, views)]
        for record in records(self._settings.kafka, places):
            if record.key() not in asked:  # most are of others, and there may be millions
                continue
            try:
                view = ViewRecord.decode(record.value() or b"")
            except RecordError:
                continue
            if view.view.layout == self._layout.number and self._is_same_topic(view):
                raise ConflictError(
                    f"Group {self._settings.names.group(self._layout.number, self._shard)} has no offset for "
                    f"{view.topic} [{view.partition}], though it matched events there from {view.first_offset} on: its "
                    f"offsets were lost. Say where to go on: tamis topics set-start {view.topic} --at OFFSET"
                )

    def _is_same_topic(self, view: ViewRecord) -> bool:
        return self._layout.topics.get(view.topic) == view.topic_id
