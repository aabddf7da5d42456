// SipHash-1-3: a keyed hash of short byte strings.
//
// Subscribers choose the strings, so an unkeyed hash would let one of them make every lookup linear. The
// algorithm is that of J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT
// 2012), with one round for each word and three at the end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tamis {

struct HashKey {
  std::uint64_t low;
  std::uint64_t high;
};

namespace sip {

struct State {
  std::uint64_t a, b, c, d;

  void round() noexcept {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32) + d;
    c += b;
    d = std::rotl(d, 21) ^ a;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }

  void absorb(std::uint64_t word) noexcept {
    d ^= word;
    round();
    a ^= word;
  }
};

// The first `count` bytes, at most eight, as a little-endian number.
inline std::uint64_t word_at(const char* bytes, std::size_t count) noexcept {
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&word, bytes, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
  }
  return word;
}

}  // namespace sip

inline std::uint64_t sip_hash(std::string_view text, HashKey key) noexcept {
  // The four constants spell "somepseudorandomlygeneratedbytes", as in the paper.
  sip::State state{key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d, key.low ^ 0x6c7967656e657261,
                   key.high ^ 0x7465646279746573};
  const char* bytes = text.data();
  std::size_t left = text.size();
  for (; left >= 8; bytes += 8, left -= 8) {
    state.absorb(sip::word_at(bytes, 8));
  }
  const std::uint64_t rest = left == 0 ? 0 : sip::word_at(bytes, left);
  state.absorb(rest | (std::uint64_t{text.size()} << 56));
  state.c ^= 0xff;
  state.round();
  state.round();
  state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace tamis
