// The first sixteen bytes of a string as two words, zeros where it ends before: compared faster than any loop would.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tamis {

struct ShortText {
  static constexpr std::size_t size = 16;

  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const ShortText&) const = default;

  // `end` is where readable memory ends, at or behind the text's own end.
  static ShortText of(const char* text, std::size_t length, const char* end) noexcept {
    ShortText result;
    if (static_cast<std::size_t>(end - text) >= size) {
      ShortText mask;
      std::memcpy(&result, text, size);
      std::memcpy(&mask, masks.data() + (length < size ? size - length : 0), size);
      result.low &= mask.low;
      result.high &= mask.high;
    } else if (length > 0) {
      std::memcpy(&result, text, length < size ? length : size);
    }
    return result;
  }

 private:
  // From place 16 - n on: n bytes of ones, then zeros.
  static constexpr std::array<unsigned char, 32> masks = [] {
    std::array<unsigned char, 32> bytes{};
    for (std::size_t at = 0; at < size; ++at) {
      bytes[at] = 0xFF;
    }
    return bytes;
  }();
};

}  // namespace tamis
