// Strict UTF-8: scalar values only, each in its shortest form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tamis {

// How many bytes the character that begins here has; 0 if there is none.
inline std::size_t utf8_length(const unsigned char* at, std::size_t left) noexcept {
  const auto follows = [at](std::size_t place, unsigned low = 0x80, unsigned high = 0xBF) noexcept {
    return at[place] >= low && at[place] <= high;
  };
  const unsigned char first = at[0];
  if (first < 0x80) {
    return 1;
  }
  if (first < 0xC2) {
    return 0;
  }
  if (first < 0xE0) {
    return left >= 2 && follows(1) ? 2 : 0;
  }
  if (first < 0xF0) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;  // ED A0 and above would be surrogates
    return left >= 3 && follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first < 0xF5) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return left >= 4 && follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

inline bool is_ascii(const char* text, std::size_t size) noexcept {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::uint64_t word = 0;
  std::uint64_t seen = 0;
  if (size >= 8) {
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
      std::memcpy(&word, text + at, 8);
      seen |= word;
    }
    std::memcpy(&word, text + size - 8, 8);  // the rest, and some bytes once more
    return ((seen | word) & high_bits) == 0;
  }
  unsigned char bits = 0;
  for (std::size_t at = 0; at < size; ++at) {
    bits |= static_cast<unsigned char>(text[at]);
  }
  return bits < 0x80;
}

inline bool is_utf8(const char* text, std::size_t size) noexcept {
  if (is_ascii(text, size)) {
    return true;
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text);
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = utf8_length(bytes + at, size - at);
    if (length == 0) {
      return false;
    }
    at += length;
  }
  return true;
}

}  // namespace tamis
