"""What is asked of a schema registry; the client itself is the broker's."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema, and what it is a schema of."""

    kind: str
    """`AVRO`, `JSON`, or what cannot be read."""
    text: str


class SchemaRegistry(Protocol):
    """Schemas by the ids that messages in Confluent's wire format begin with."""

    def schema(self, schema_id: int) -> RegisteredSchema | None:
        """The schema of an id, None if the registry has none.

        If the registry does not answer, it raises: no message is refused for that, and the whole call ends.
        """
