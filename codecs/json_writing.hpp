// JSON as text: strings and numbers.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace tamis {

// Appends a string of valid UTF-8, in quotes.
inline void append_json_string(std::vector<char>& target, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  target.push_back('"');
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20) {
      constexpr std::string_view begin = "\\u00";
      target.insert(target.end(), begin.begin(), begin.end());
      target.push_back(digits[byte >> 4]);
      target.push_back(digits[byte & 15]);
      continue;
    }
    if (character == '"' || character == '\\') {
      target.push_back('\\');
    }
    target.push_back(character);
  }
  target.push_back('"');
}

inline void append_json_whole(std::vector<char>& target, std::int64_t value) {
  char text[24];
  const std::to_chars_result result = std::to_chars(text, text + sizeof text, value);
  target.insert(target.end(), static_cast<const char*>(text), static_cast<const char*>(result.ptr));
}

constexpr std::size_t json_double_max = 32;

// Writes the shortest number that is read as this one, in at most `json_double_max` bytes. For what is infinite there is
// none: it is one that readers round to it.
inline char* write_json_double(double value, char* at) {
  if (!std::isfinite(value)) {
    constexpr std::string_view beyond = "-1e999";
    const std::size_t skipped = value > 0 ? 1 : 0;
    std::memcpy(at, beyond.data() + skipped, beyond.size() - skipped);
    return at + beyond.size() - skipped;
  }
#if defined(__cpp_lib_to_chars)
  return std::to_chars(at, at + json_double_max, value).ptr;
#else
  return at + std::snprintf(at, json_double_max, "%.17g", value);
#endif
}

}  // namespace tamis
