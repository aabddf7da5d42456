// One-dimensional orders, as a PS-Tree needs them: keys that cut a domain, and values that lie between cuts.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tamis {

// A number as the bits of the nearest double, so that they ascend with it. Whole numbers beyond 2**53 share keys with
// their neighbours: who finds something by such a key has to look at the number itself.
struct Numbers {
  using Key = std::uint64_t;
  using Value = std::uint64_t;

  static Key lowest() noexcept { return 0; }
  static Key highest() noexcept { return ~Key{0}; }
  static bool is_below(Value value, Key cut) noexcept { return value < cut; }

  static Key key_of(double number) noexcept {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    return (bits & sign) != 0 ? ~bits : bits | sign;
  }

  // The key above `low` and not above `high` that ends in the most zeros.
  static Key between(Key low, Key high) noexcept { return high & ~((std::uint64_t{1} << (63 - std::countl_zero(low ^ high))) - 1); }

  static std::size_t memory_bytes(Key) noexcept { return 0; }
};

// Strings by their bytes. A cut is a string too; bytes that no UTF-8 has make cuts behind all that begin with a prefix.
struct Strings {
  using Key = std::string;
  using Value = std::string_view;

  static Key lowest() { return {}; }
  static Key highest() { return "\xff"; }
  static bool is_below(Value value, const Key& cut) noexcept { return value < std::string_view(cut); }

  static Key after(std::string_view text) { return std::string(text) + '\0'; }
  static Key after_prefix(std::string_view text) { return std::string(text) + '\xff'; }

  // A short string above `low` and not above `high`, such that of all between them only few go to one side for ever.
  static Key between(const Key& low, const Key& high) {
    const auto [mine, theirs] = std::mismatch(low.begin(), low.end(), high.begin(), high.end());
    const auto same = static_cast<std::size_t>(theirs - high.begin());
    Key found(high, 0, same + 1);
    if (mine != low.end()) {
      const auto below = static_cast<unsigned char>(*mine);
      const auto above = static_cast<unsigned char>(*theirs);
      const unsigned differing = static_cast<unsigned>(below ^ above);
      found[same] = static_cast<char>(above & ~(std::bit_floor(differing) - 1));
    }
    return found;
  }

  static std::size_t memory_bytes(const Key& key) noexcept { return key.capacity() > sizeof(Key) / 2 ? key.capacity() + 1 : 0; }
};

}  // namespace tamis
