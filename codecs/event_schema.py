"""How the record `Event` is recognised, under whatever framing it comes."""

from tamis.codecs.fingerprint import crc64

EVENT_FORM = (
    '{"name":"tamis.Event","type":"record","fields":[{"name":"id","type":"string"},{"name":"time","type":"long"},'
    '{"name":"attributes","type":{"type":"map","values":["long","double","string","boolean"]}},'
    '{"name":"weights","type":{"type":"map","values":"double"}}]}'
)
"""The canonical form of its schema."""
EVENT_FINGERPRINT = crc64(EVENT_FORM.encode())
EVENT_HEADER = b"\xc3\x01" + EVENT_FINGERPRINT.to_bytes(8, "little")
"""What every `Event` in single-object encoding begins with."""
