"""What a notification tells of a subscription, a name and tags, as the bytes that it has there; read again.

`SubscriptionTable` writes them. Here they are read where a snapshot brings them: for a check, or to be spelled in the
other format.
"""

import io
import json
from collections.abc import Mapping

import fastavro

from tamis.codecs.formats import NotificationFormat
from tamis.indexes.errors import SnapshotError

_NAME = fastavro.parse_schema({"type": "string"})
_TAGS = fastavro.parse_schema({"type": "map", "values": "string"})


def told_by(format: NotificationFormat, text: bytes) -> tuple[str, Mapping[str, str]]:
    """Name and tags. SnapshotError if the text is none."""
    try:
        return _by_json(text) if format is NotificationFormat.JSON else _by_avro(text)
    except (ValueError, EOFError, IndexError) as error:
        raise SnapshotError(f"a subscription's name and tags cannot be read: {error}") from None


def check_json_text(text: bytes) -> None:
    """SnapshotError unless it is one."""
    told_by(NotificationFormat.JSON, text)


def _by_json(text: bytes) -> tuple[str, Mapping[str, str]]:
    match json.loads(text + b"}"):  # it ends where a score may follow
        case {"name": str(name), "tags": dict(tags), **others} if not others:
            if all(isinstance(value, str) for value in tags.values()):
                return name, tags
    raise ValueError("it is no object of a name and tags")


def _by_avro(text: bytes) -> tuple[str, Mapping[str, str]]:
    stream = io.BytesIO(text)
    name = fastavro.schemaless_reader(stream, _NAME, None)
    tags = fastavro.schemaless_reader(stream, _TAGS, None)
    if stream.read(1) or not isinstance(name, str) or not isinstance(tags, dict):
        raise ValueError("bytes follow that belong to nothing")
    return name, {str(key): str(value) for key, value in tags.items()}
