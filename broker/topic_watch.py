"""Noticing that a topic was deleted and made anew while it is read.

Its records are others from then on, at offsets that begin again: who goes on by the old ones reads a log that never
was. That it is shorter than before is noticed anyway; this is for one that has grown beyond where the reader was.
"""

import logging
import time
from collections.abc import Mapping

from tamis.broker.errors import ConflictError
from tamis.broker.kafka import AdminClient, KafkaException, learn_leaders
from tamis.broker.topic_facts import topic_ids

_EVERY_SECONDS = 0.2
"""The question takes a millisecond, which a batch that comes alone should not wait for each time."""
_SECONDS = 1.0
_PAUSE_SECONDS = 3.0
"""After which it is asked again where nobody told."""
_LOG = logging.getLogger(__name__)


class TopicWatch:
    """Knows the topics' ids, as the layout has them."""

    def __init__(self, admin: AdminClient, ids: Mapping[str, str]) -> None:
        self._admin = admin
        self._ids = ids
        self._looked_at = 0.0

    def require_same(self) -> None:
        """ConflictError if one is another one now. One that is missing is for its reader to tell."""
        if time.monotonic() - self._looked_at < _EVERY_SECONDS:
            return
        try:
            found = topic_ids(self._admin, list(self._ids), _SECONDS)
        except KafkaException as error:
            _LOG.warning("whether topics are the same cannot be learnt: %s", error.args[0].str())
            # The client may ask a broker that has died, and would for minutes; and events do not wait for this.
            learn_leaders(self._admin, next(iter(self._ids)))
            self._looked_at = time.monotonic() + _PAUSE_SECONDS
            return
        self._looked_at = time.monotonic()
        for topic, wanted in self._ids.items():
            if found.get(topic, wanted) != wanted:
                raise ConflictError(
                    f"{topic} was deleted and made anew: its id is {found[topic]}, and the layout knows {wanted}. "
                    f"Say where to go on: tamis topics set-start {topic} --at start"
                )
