// Up to 64 events side by side: what they have for one attribute, and comparisons of all at once.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tamis {

using Lanes = std::uint64_t;  // a bit an event

constexpr std::uint32_t lane_count = 64;

struct Column {
  // By type: the events that have a value of it here.
  std::array<Lanes, 8> types;
  // What 32 bits say of a value, where they say all of it; else where the value is told in full.
  alignas(64) std::array<std::int32_t, lane_count> small;
  std::array<std::uint32_t, lane_count> entries;
};

// How values stand to two bounds, of which the second is not below the first.
struct Standing {
  Lanes not_below;
  Lanes above;
};

inline Standing standing_of_all(const std::int32_t* values, std::int32_t low, std::int32_t high) noexcept {
  Standing standing{0, 0};
#ifdef __SSE2__
  const __m128i lows = _mm_set1_epi32(low);
  const __m128i highs = _mm_set1_epi32(high);
  const auto packed = [](__m128i a, __m128i b, __m128i c, __m128i d) {
    return static_cast<Lanes>(
        static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)))));
  };
  for (std::uint32_t lane = 0; lane < lane_count; lane += 16) {
    const auto* const at = reinterpret_cast<const __m128i*>(values + lane);
    const __m128i a = _mm_load_si128(at), b = _mm_load_si128(at + 1);
    const __m128i c = _mm_load_si128(at + 2), d = _mm_load_si128(at + 3);
    const Lanes below = packed(_mm_cmpgt_epi32(lows, a), _mm_cmpgt_epi32(lows, b), _mm_cmpgt_epi32(lows, c),
                               _mm_cmpgt_epi32(lows, d));
    const Lanes above = packed(_mm_cmpgt_epi32(a, highs), _mm_cmpgt_epi32(b, highs), _mm_cmpgt_epi32(c, highs),
                               _mm_cmpgt_epi32(d, highs));
    standing.not_below |= (below ^ 0xFFFF) << lane;
    standing.above |= above << lane;
  }
#else
  for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
    standing.not_below |= static_cast<Lanes>(values[lane] >= low) << lane;
    standing.above |= static_cast<Lanes>(values[lane] > high) << lane;
  }
#endif
  return standing;
}

// The same, asked of some lanes only; what it says of others means nothing.
inline Standing standing_of(const std::int32_t* values, Lanes lanes, std::int32_t low, std::int32_t high) noexcept {
  constexpr int few = 8;
  if (std::popcount(lanes) > few) {
    return standing_of_all(values, low, high);
  }
  Standing standing{0, 0};
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    standing.not_below |= static_cast<Lanes>(values[lane] >= low) << lane;
    standing.above |= static_cast<Lanes>(values[lane] > high) << lane;
  }
  return standing;
}

}  // namespace tamis
