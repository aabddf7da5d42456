"""Schemas from a registry that speaks Confluent's protocol, as decoders ask for them."""

from tamis.broker.configuration import RegistrySettings
from tamis.broker.errors import UnreachableError
from tamis.broker.kafka import registered_schema, registry_client
from tamis.codecs.registry import RegisteredSchema

_AVRO = "AVRO"
_ID_MAX = 2**31 - 1
"""A registry takes what is beyond it for a wrong address: anybody may send four bytes that no schema has for an id."""


class ConfluentRegistry:
    """A `SchemaRegistry`. The client keeps what it was told, since an id's schema never changes."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._client = registry_client(settings)

    def schema(self, schema_id: int) -> RegisteredSchema | None:
        """None if the registry has no such schema; UnreachableError if it does not answer."""
        if schema_id > _ID_MAX:
            return None
        try:
            found = registered_schema(self._client, schema_id)
        except Exception as error:  # whatever the client's HTTP library raises
            raise UnreachableError(f"The schema registry does not tell schema {schema_id}: {error}") from error
        if found is None:
            return None
        kind = found.schema_type or _AVRO
        if found.references:
            kind += " with references"  # to other schemas, which are not followed
        return RegisteredSchema(kind, found.schema_str or "")
