"""What a client hands out, as much of it as an event source asks for."""

from tamis.broker.kafka import KafkaError


class Record:
    """Of the first partition of `events`; or what the client has to say of it."""

    def __init__(self, offset: int, error: KafkaError | None = None) -> None:
        self._offset = offset
        self._error = error

    def error(self) -> KafkaError | None:
        return self._error

    def topic(self) -> str:
        return "events"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset
