// Avro's decimals as numbers.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "characters.hpp"

namespace tamis {

constexpr std::size_t decimal_bytes_max = 16;

struct Decimal {
  bool is_whole;
  std::int64_t whole;
  double real;  // the nearest one, if it is not whole
};

// How many bytes at the beginning say nothing but the sign, of more than sixteen.
inline std::size_t sign_bytes(const char* bytes, std::size_t size) noexcept {
  std::size_t count = 0;
  while (size - count > decimal_bytes_max) {
    const auto sign = static_cast<unsigned char>(bytes[count]);
    const bool next_negative = (static_cast<unsigned char>(bytes[count + 1]) & 0x80) != 0;
    if (sign != (next_negative ? 0xFF : 0x00)) {
      break;
    }
    ++count;
  }
  return count;
}

// Of one to sixteen bytes in two's complement, the highest first, divided by ten to the power of `scale`.
inline Decimal decimal_of(const char* bytes, std::size_t size, std::uint32_t scale) {
  using Wide = unsigned __int128;
  const bool negative = (static_cast<unsigned char>(bytes[0]) & 0x80) != 0;
  Wide bits = negative ? ~Wide{0} : Wide{0};
  for (std::size_t at = 0; at < size; ++at) {
    bits = bits << 8 | static_cast<unsigned char>(bytes[at]);
  }
  Wide magnitude = negative ? ~bits + 1 : bits;
  const Wide largest = Wide{INT64_MAX} + (negative ? 1 : 0);
  if (scale == 0 && magnitude <= largest) {
    return Decimal{true, static_cast<std::int64_t>(static_cast<std::uint64_t>(bits)), 0};
  }
  std::array<char, 64> text{};  // a sign, 39 digits, e-, ten digits
  char* const middle = text.data() + 40;
  char* first = middle;
  do {
    *--first = static_cast<char>('0' + static_cast<int>(magnitude % 10));
    magnitude /= 10;
  } while (magnitude != 0);
  if (middle - first + 324 <= std::int64_t{scale}) {
    return Decimal{false, 0, 0};  // below half of the least double
  }
  if (negative) {
    *--first = '-';
  }
  middle[0] = 'e';
  middle[1] = '-';
  const std::to_chars_result end = std::to_chars(middle + 2, text.data() + text.size(), scale);
  return Decimal{false, 0, nearest_double(first, end.ptr)};
}

}  // namespace tamis
