// JSON's strings and numbers, where they are better read eight bytes at a time or by the standard library.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "characters.hpp"

namespace tamis {

// Where the first byte is that is not ASCII as it stands in a string: a quotation mark, a backslash, a control
// character, a byte from 0x80 on; or the end.
inline const char* plain_end(const char* at, const char* end) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t tops = 0x8080808080808080;
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - at >= 8; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      const std::uint64_t quotes = word ^ (ones * '"');
      const std::uint64_t slashes = word ^ (ones * '\\');
      // A borrow makes false marks only above a true one, and the lowest counts.
      const std::uint64_t marks =
          (((quotes - ones) & ~quotes) | ((slashes - ones) & ~slashes) | (word - ones * 0x20) | word) & tops;
      if (marks != 0) {
        return at + (std::countr_zero(marks) >> 3);
      }
    }
  }
  for (; at != end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') {
      break;
    }
  }
  return at;
}

// The double nearest to a number's text; false without memory.
inline bool double_of(const char* begin, const char* end, double* value) noexcept {
  try {
    *value = nearest_double(begin, end);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace tamis
