"""The schemas that messages may name, each compiled once."""

from collections.abc import Iterable

from tamis.codecs.avro_record import FieldPlan
from tamis.codecs.avro_schema import load_json, parse_record
from tamis.codecs.errors import SchemaError
from tamis.codecs.event_schema import EVENT_FINGERPRINT, EVENT_FORM
from tamis.codecs.fingerprint import canonical_form, crc64
from tamis.codecs.limits import SchemaLimits
from tamis.codecs.registry import SchemaRegistry

JSON_PAYLOAD = "json"
"""In place of a plan: the messages are JSON."""
Reader = FieldPlan | str | SchemaError
"""What reads the messages of a schema, or why nothing can."""


class SchemaCatalogue:
    """By fingerprint, by registry id, by text. Good for any number of threads."""

    def __init__(self, schemas: Iterable[str], registry: SchemaRegistry | None, limits: SchemaLimits) -> None:
        self._registry = registry
        self._limits = limits
        self._by_text: dict[str, FieldPlan] = {}
        self._by_fingerprint: dict[int, FieldPlan] = {}
        self._by_id: dict[int, Reader] = {}
        for text in schemas:
            form, plan = self._compile(text)
            self._by_fingerprint[crc64(form.encode())] = plan
        event = parse_record(load_json(EVENT_FORM))
        self._by_fingerprint[EVENT_FINGERPRINT] = FieldPlan(event, is_event=True)

    def by_text(self, text: str) -> FieldPlan:
        """SchemaError if it cannot be used."""
        if text not in self._by_text:
            self._by_text[text] = self._compile(text)[1]
        return self._by_text[text]

    def by_fingerprint(self, fingerprint: int) -> FieldPlan | None:
        return self._by_fingerprint.get(fingerprint)

    def by_id(self, schema_id: int) -> Reader | None:
        """None if the registry has no such schema, or if there is no registry."""
        known = self._by_id.get(schema_id)
        if known is not None or self._registry is None:
            return known
        found = self._registry.schema(schema_id)
        if found is None:
            return None  # and asked for again: it may be there by then
        reader: Reader
        if found.kind == "AVRO":
            try:
                reader = self._compile(found.text)[1]
            except SchemaError as error:
                reader = error.with_traceback(None)
        elif found.kind == "JSON":
            reader = JSON_PAYLOAD
        else:
            reader = SchemaError(f"messages with schemas of type {found.kind!r} cannot be read, only AVRO and JSON")
        self._by_id[schema_id] = reader
        return reader

    def _compile(self, text: str) -> tuple[str, FieldPlan]:
        schema = load_json(text, self._limits)
        parsed = parse_record(schema, self._limits)
        form = canonical_form(schema)
        return form, FieldPlan(parsed, is_event=form == EVENT_FORM)
