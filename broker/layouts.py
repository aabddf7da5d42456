"""The layout, as the topic has it: how a cluster's work is cut, for every process the same."""

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError, MissingError
from tamis.broker.kafka import TopicPartition, admin_client, consumer, end_offsets
from tamis.broker.reading import BEGINNING, partitions_of, records
from tamis.codecs.errors import RecordError
from tamis.codecs.layout import KEY, Layout


def read_layout(settings: Settings) -> Layout | None:
    """The newest one, None if none was written. MissingError if there is no topic for it."""
    partitions_of(settings.kafka, settings.names.layout)  # a topic that is not there would be waited for
    newest = None
    for record in records(settings.kafka, [TopicPartition(settings.names.layout, 0, BEGINNING)]):
        value = record.value()
        if record.key() != KEY or value is None:
            continue
        try:
            newest = Layout.decode(value)
        except RecordError as error:
            raise ConflictError(
                f"The layout at offset {record.offset()} of {settings.names.layout} cannot be read: {error}. "
                "Was it written by a newer version of Tamis?"
            ) from error
    return newest


def require_layout(settings: Settings) -> Layout:
    """The newest one. MissingError says how one is made."""
    advice = f"Make the topics first: tamis topics create (the prefix is {settings.prefix!r})."
    try:
        layout = read_layout(settings)
    except MissingError as error:
        raise MissingError(f"{error} {advice}") from error
    if layout is None:
        raise MissingError(f"No layout is written in {settings.names.layout}. {advice}")
    return layout


class LayoutWatch:
    """Notices when a layout is written."""

    def __init__(self, settings: Settings) -> None:
        topic = settings.names.layout
        end = end_offsets(admin_client(settings.kafka), topic, [0])[0]
        self._client = consumer(settings.kafka, _NO_GROUP)
        self._client.assign([TopicPartition(topic, 0, end)])
        self._news = False

    def has_news(self) -> bool:
        """Whether one was written since this was made, or since `forget`. It waits for nothing."""
        self._news = self._news or any(message.error() is None for message in self._client.consume(_AT_ONCE, 0))
        return self._news

    def forget(self) -> None:
        """What was written so far is no news any more."""
        self._news = False

    def close(self) -> None:
        self._client.close()


_NO_GROUP = "tamis-layout"
_AT_ONCE = 10
