// What is known of one attribute: the ranges that ask about it, and what values it has.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "key_domains.hpp"
#include "posting_list.hpp"
#include "predicate_spaces.hpp"

namespace tamis {

// Numbers of an attribute in sixteen cells, of about as many values each: predicate spaces that are the same for all
// expressions, so that their numbers can be parts of keys.
struct Cells {
  static constexpr std::size_t count_max = 16;

  std::vector<std::uint64_t> cuts;
  std::array<std::uint32_t, count_max> uses{};  // how many keys each is a part of

  // Of values in order.
  explicit Cells(const std::vector<std::uint64_t>& sample) {
    for (std::size_t cell = 1; cell < count_max; ++cell) {
      cuts.push_back(sample[cell * sample.size() / count_max]);
    }
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }

  std::uint32_t of(std::uint64_t key) const noexcept {
    return static_cast<std::uint32_t>(std::upper_bound(cuts.begin(), cuts.end(), key) - cuts.begin());
  }
};

// What is known of an attribute.
struct AttributeColumn {
  std::uint32_t attribute;
  // Predicates of expressions in the index that ask about it.
  std::uint32_t uses = 0;
  // Found wherever there is a value.
  PostingList any;
  // Whether signatures have bits of the attribute, of values, in the second word: else events need not have them.
  bool asks_presence = false;
  bool asks_points = false;
  std::unique_ptr<PredicateSpaces<Numbers>> numbers;
  std::unique_ptr<PredicateSpaces<Strings>> strings;
  std::unique_ptr<Cells> cells;
  // Of learned events, weighed by age: how many there were, how many have the attribute; some of their values, sorted.
  double seen = 0;
  double present = 0;
  std::vector<std::uint64_t> number_keys;
  std::vector<std::uint64_t> point_codes;
  // The first numbers that predicates name, and the least and the greatest one.
  std::vector<std::uint64_t> ends;
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();

  std::uint32_t range_count() const noexcept {
    return (numbers == nullptr ? 0 : numbers->size()) + (strings == nullptr ? 0 : strings->size());
  }
  std::size_t leaf_count() const noexcept {
    return (numbers == nullptr ? 0 : numbers->leaf_count()) + (strings == nullptr ? 0 : strings->leaf_count());
  }

  // The cells, made when enough is known of where they should be; else null. Throws std::bad_alloc.
  Cells* make_cells() {
    constexpr std::size_t enough = 4 * Cells::count_max;
    if (cells == nullptr && (number_keys.size() >= enough || ends.size() >= enough)) {
      std::vector<std::uint64_t> sample = number_keys.size() >= enough ? number_keys : ends;
      std::sort(sample.begin(), sample.end());
      cells = std::make_unique<Cells>(sample);
    }
    return cells.get();
  }

  // Makes room in what was learned for so many events more: beyond the greatest number all of it counts half.
  void remember(std::size_t events, double events_max, std::size_t values_max) noexcept {
    seen += static_cast<double>(events);
    if (seen > events_max) {
      seen /= 2;
      present /= 2;
    }
    thin(number_keys, values_max);
    thin(point_codes, values_max);
  }

  // After values were added.
  void settle(std::size_t values_max) noexcept {
    for (std::vector<std::uint64_t>* const values : {&number_keys, &point_codes}) {
      std::sort(values->begin(), values->end());
      thin(*values, values_max);
      if (values->capacity() > 2 * values_max) {
        values->shrink_to_fit();
      }
    }
  }

  void span(double number) {
    constexpr std::size_t ends_max = 256;
    least = std::min(least, number);
    greatest = std::max(greatest, number);
    if (ends.size() < ends_max) {
      ends.push_back(Numbers::key_of(number));
    }
  }

  // Which part of the values is there, as far as is known; half a value more, since none seen is not none.
  double share_of_numbers(std::uint64_t first, std::uint64_t end) const noexcept {
    const auto from = std::lower_bound(number_keys.begin(), number_keys.end(), first);
    return share(std::lower_bound(from, number_keys.end(), end) - from, number_keys.size());
  }
  double share_of_point(std::uint64_t code) const noexcept {
    const auto equal = std::equal_range(point_codes.begin(), point_codes.end(), code);
    return share(equal.second - equal.first, point_codes.size());
  }

 private:
  // Of values in order, so many at equal distances.
  static void thin(std::vector<std::uint64_t>& values, std::size_t values_max) noexcept {
    const std::size_t count = values.size();
    if (count > values_max) {
      for (std::size_t index = 0; index < values_max; ++index) {
        values[index] = values[index * count / values_max];
      }
      values.resize(values_max);
    }
  }

  static double share(std::ptrdiff_t count, std::size_t all) noexcept {
    return (static_cast<double>(count) + 0.5) / (static_cast<double>(all) + 1.0);
  }
};

}  // namespace tamis
