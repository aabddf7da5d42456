"""The errors of this layer."""


class CodecError(ValueError):
    """Bytes, a schema or a value that this layer cannot take."""


class SchemaError(CodecError):
    """An Avro schema that cannot be used; the message names the place in it."""


class RecordError(CodecError):
    """Bytes that are none of Tamis's own records, or a record that no bytes may be made of.

    `reason` is one word for counting; the message tells the rest.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
