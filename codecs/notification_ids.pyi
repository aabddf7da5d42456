from collections.abc import Mapping, Sequence

from tamis.codecs.event_columns import EventColumns
from tamis.codecs.groups import Groups

def notification_ids(
    groups: Groups,
    events: EventColumns,
    topic_ids: Mapping[str, str],
    subscribers: Sequence[bytes],
    first: int = 0,
    end: int | None = None,
) -> list[bytes]: ...
