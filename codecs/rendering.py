"""Events as JSON, for notifications that are JSON."""

import json
import math

from tamis.codecs.event import Event
from tamis.indexes.values import Value

_AVRO = b"\xc3\x01"


def rendered(value: bytes) -> bytes:
    """An event as it came, where that is JSON; of an Avro `Event` an object of its attributes.

    RecordError if it is a record of another schema, or damaged.
    """
    if not value.startswith(_AVRO):
        return value
    members = (
        f"{_text(name)}:{_text(held)}"
        for name, held in Event.decode(value).attributes.items()
        if held is not None and not (isinstance(held, float) and math.isnan(held))
    )
    return f"{{{','.join(members)}}}".encode()


def _text(value: Value) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"  # JSON has no infinity; readers round this to it
    return json.dumps(value, ensure_ascii=False)
