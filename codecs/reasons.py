"""Why a message was refused: what rejected records carry, and what is counted."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """In the order of the enumeration in reasons.hpp, which begins one earlier."""

    NO_VALUE = "no_value"
    MESSAGE_TOO_LONG = "message_too_long"
    UNKNOWN_FRAMING = "unknown_framing"
    UNKNOWN_SCHEMA = "unknown_schema"
    UNUSABLE_SCHEMA = "unusable_schema"
    TRUNCATED = "truncated"
    TRAILING_BYTES = "trailing_bytes"
    OVERFLOW = "overflow"
    BAD_LENGTH = "bad_length"
    BAD_BLOCK = "bad_block"
    BAD_UNION_INDEX = "bad_union_index"
    BAD_ENUM_INDEX = "bad_enum_index"
    BAD_BOOLEAN = "bad_boolean"
    BAD_UTF8 = "bad_utf8"
    LONE_SURROGATE = "lone_surrogate"
    BAD_SYNTAX = "bad_syntax"
    NOT_AN_OBJECT = "not_an_object"
    DUPLICATE_KEY = "duplicate_key"
    TOO_DEEP = "too_deep"
    TOO_MANY_ITEMS = "too_many_items"
    TOO_MANY_ATTRIBUTES = "too_many_attributes"
    STRING_TOO_LONG = "string_too_long"
    NAME_TOO_LONG = "name_too_long"
    BAD_WEIGHT = "bad_weight"
    BAD_ID = "bad_id"
    BAD_TIME = "bad_time"
    POISON = "poison"
    """No decoder says this: it is what processes died of."""


_WHY = {
    Reason.NO_VALUE: "the record has no value",
    Reason.MESSAGE_TOO_LONG: "the message has more bytes than the limit allows",
    Reason.UNKNOWN_FRAMING: "it begins neither with C3 01 (Avro single-object), nor with 00 (a registry's schema id), "
    "nor with { (JSON): name the topic's format",
    Reason.UNKNOWN_SCHEMA: "neither the known schemas nor the registry have the one it names",
    Reason.UNUSABLE_SCHEMA: "the schema it names cannot be used",
    Reason.TRUNCATED: "it ends too early",
    Reason.TRAILING_BYTES: "bytes follow the value",
    Reason.OVERFLOW: "a number does not fit its type",
    Reason.BAD_LENGTH: "a length is negative",
    Reason.BAD_BLOCK: "a block has not the size that it says",
    Reason.BAD_UNION_INDEX: "a union has no such branch",
    Reason.BAD_ENUM_INDEX: "an enum has no such symbol",
    Reason.BAD_BOOLEAN: "a boolean is neither 0 nor 1",
    Reason.BAD_UTF8: "a string is not UTF-8",
    Reason.LONE_SURROGATE: "an escaped surrogate stands alone: only a pair, high and low, is a character",
    Reason.BAD_SYNTAX: "it is not JSON",
    Reason.NOT_AN_OBJECT: "it is JSON, but no object",
    Reason.DUPLICATE_KEY: "an object or map has a key twice",
    Reason.TOO_DEEP: "it is nested too deeply",
    Reason.TOO_MANY_ITEMS: "it has too many members, entries and elements",
    Reason.TOO_MANY_ATTRIBUTES: "it has too many attributes",
    Reason.STRING_TOO_LONG: "a string is too long",
    Reason.NAME_TOO_LONG: "an attribute's name is too long",
    Reason.BAD_WEIGHT: "a weight is not finite, or below 0",
    Reason.BAD_ID: "the field that is to be the event's id is missing, or neither a string nor a long",
    Reason.BAD_TIME: "the field that is to be the event's time is missing, or no long, or beyond all times",
    Reason.POISON: "processes died of it, or hung",
}


@dataclass(frozen=True)
class Refusal:
    """A message that was not understood: which one of those given, why, and how many bytes into it."""

    position: int
    reason: Reason
    byte: int
    detail: str = ""
    """What the schema registry or the schema says, where the reason lies there."""

    @property
    def why(self) -> str:
        told = f"{_WHY[self.reason]} (byte {self.byte})"
        return f"{told}: {self.detail}" if self.detail else told

    def __str__(self) -> str:
        return f"message {self.position}: {self.why}"
