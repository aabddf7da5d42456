"""Events as JSON, for notifications that are JSON."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tamis.codecs.errors import RecordError
from tamis.codecs.event_columns import values_of
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.messages import Framing, Messages
from tamis.indexes.values import Value


def rendered(decoder: EventDecoder, messages: Messages) -> list[bytes]:
    """Of each message a JSON value: what is JSON as it came, of any other an object of its attributes, flattened.

    RecordError if one of them is no event: they are to have been decoded before.
    """
    values = values_of(messages)
    places = [place for place, value in enumerate(values) if not _is_json(value, messages.format.framing)]
    if places:
        chosen = replace(
            messages,
            values=[values[place] for place in places],
            offsets=[messages.offsets[place] for place in places],
            timestamps=[messages.timestamps[place] for place in places],
            partition=np.broadcast_to(messages.partition, len(values))[places],
            keys=None,
        )
        decoded = decoder.decode(chosen)
        if decoded.refusals:
            raise RecordError(decoded.refusals[0].reason, str(decoded.refusals[0]))
        for place, attributes in zip(places, decoded.batch, strict=True):
            values[place] = _object(attributes).encode()
    return values


def _is_json(value: bytes, framing: Framing) -> bool:
    return framing is Framing.JSON or (framing is Framing.DETECT and value.lstrip().startswith(b"{"))


def _object(attributes: Mapping[str, Value]) -> str:
    own = {name: value for name, value in attributes.items() if not name.startswith("$")}
    try:
        return json.dumps(own, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return f"{{{','.join(f'{_text(name)}:{_text(value)}' for name, value in own.items())}}}"


def _text(value: Value) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"  # JSON has no infinity; readers round this to it
    return json.dumps(value, ensure_ascii=False)
