// Why a message was refused.
#pragma once

namespace tamis {

// In the order of the class `Reason` in reasons.py.
enum Reason {
  ACCEPTED,
  NO_VALUE,
  MESSAGE_TOO_LONG,
  UNKNOWN_FRAMING,
  UNKNOWN_SCHEMA,
  UNUSABLE_SCHEMA,
  TRUNCATED,
  TRAILING_BYTES,
  VALUE_OVERFLOW,
  BAD_LENGTH,
  BAD_BLOCK,
  BAD_UNION_INDEX,
  BAD_ENUM_INDEX,
  BAD_BOOLEAN,
  BAD_UTF8,
  LONE_SURROGATE,
  BAD_SYNTAX,
  NOT_AN_OBJECT,
  DUPLICATE_KEY,
  TOO_DEEP,
  TOO_MANY_ITEMS,
  TOO_MANY_ATTRIBUTES,
  STRING_TOO_LONG,
  NAME_TOO_LONG,
  BAD_WEIGHT,
  BAD_ID,
  BAD_TIME,
  // No fault of the message: these end the whole call.
  OUT_OF_MEMORY,
  BATCH_FULL,
};

}  // namespace tamis
