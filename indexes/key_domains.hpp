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

  // The key not below `low` and not above `high` that ends in the most zeros.
  static Key simplest(Key low, Key high) noexcept {
    if (low == high) {
      return low;
    }
    const Key below = (Key{1} << (63 - std::countl_zero(low ^ high))) - 1;  // the highest differing bit
    return (low & below) == 0 ? low : high & ~below;
  }

  static bool may_cut(Key) noexcept { return true; }

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

  // The simplest string not below `low` and not above `high`: of all such, fewest bits have to be read until the rest
  // of it is zero, where each byte has a bit before it that says it is there.
  static Key simplest(const Key& low, const Key& high) {
    const auto [mine, theirs] = std::mismatch(low.begin(), low.end(), high.begin(), high.end());
    if (mine == low.end()) {
      return low;
    }
    const auto same = static_cast<std::size_t>(mine - low.begin());
    const auto below = static_cast<unsigned char>(*mine);
    const auto above = static_cast<unsigned char>(*theirs);
    const unsigned rest = std::bit_floor(static_cast<unsigned>(below ^ above)) - 1;
    if (low.size() == same + 1 && (below & rest) == 0) {
      return low;
    }
    Key found(high, 0, same + 1);
    found[same] = static_cast<char>(above & ~rest);
    return found;
  }

  // What strings have in common is cut no further than so far: it bounds how deep they can make a tree.
  static bool may_cut(const Key& key) noexcept { return key.size() <= 256; }

  static std::size_t memory_bytes(const Key& key) noexcept {
    return key.capacity() > sizeof(Key) / 2 ? key.capacity() + 1 : 0;
  }
};

}  // namespace tamis
