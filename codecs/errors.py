"""The errors of this layer."""


class CodecError(ValueError):
    """Bytes, a schema or a value that this layer cannot take."""


class SchemaError(CodecError):
    """An Avro schema that cannot be used; the message names the place in it."""
