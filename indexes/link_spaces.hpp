// The links of a one-dimensional index: between the predicate spaces of an attribute's domain and ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "key_domains.hpp"
#include "list_table.hpp"
#include "posting_list.hpp"
#include "predicate_spaces.hpp"

namespace tamis {

// Where a predicate holds. The ranges of one kind are disjoint, and no two of them touch.
struct Pieces {
  std::vector<PredicateSpaces<Numbers>::Range> numbers;
  std::vector<PredicateSpaces<Strings>::Range> strings;
  // Single values; and keys that several numbers share, of which some may be outside.
  std::vector<ListKey> points;

  void clear() noexcept {
    numbers.clear();
    strings.clear();
    points.clear();
  }
  void add_numbers(std::uint64_t first, std::uint64_t end) {
    if (first < end) {
      numbers.push_back({first, end});
    }
  }
  void add_strings(const Strings::Key& first, const Strings::Key& end) {
    if (first < end) {
      strings.push_back({first, end});
    }
  }
};

// Ranges are in PS-Trees, single values in a hash table beside them (the links `e` of the paper's section 4.1). A
// posting carries its id in the place of a signature's second word, so that ids are found without a look at the links.
class LinkSpaces {
 public:
  explicit LinkSpaces(std::uint32_t leaf_max) : numbers_(leaf_max), strings_(leaf_max) {}

  // Throws std::bad_alloc; what was begun is then to be erased.
  void insert(const Pieces& pieces, std::uint32_t slot, std::uint32_t id) {
    const Signature link{0, id};
    for (const auto& range : pieces.numbers) {
      numbers_.insert(range, slot, link);
    }
    for (const auto& range : pieces.strings) {
      strings_.insert(range, slot, link);
    }
    for (const ListKey& key : pieces.points) {
      const std::uint32_t number = points_.take(key);
      try {
        points_[number].insert(slot, link);
      } catch (...) {
        points_.let_go(number);
        throw;
      }
    }
  }

  void erase(const Pieces& pieces, std::uint32_t slot) noexcept {
    for (const auto& range : pieces.numbers) {
      numbers_.erase(range, slot);
    }
    for (const auto& range : pieces.strings) {
      strings_.erase(range, slot);
    }
    for (const ListKey& key : pieces.points) {
      const std::uint32_t number = points_.find(key);
      if (number != ListTable::none && points_[number].erase(slot)) {
        points_.let_go(number);
      }
    }
  }

  const PredicateSpaces<Numbers>& numbers() const noexcept { return numbers_; }
  const PredicateSpaces<Strings>& strings() const noexcept { return strings_; }
  const ListTable& points() const noexcept { return points_; }

  // The list of a single value, or null.
  const PostingList* point(const ListKey& key) const noexcept {
    const std::uint32_t number = points_.size() == 0 ? ListTable::none : points_.find(key);
    return number == ListTable::none ? nullptr : &points_[number];
  }

  // At how many places ids stand.
  std::size_t posting_count() const noexcept {
    std::size_t count = numbers_.posting_count() + strings_.posting_count();
    points_.each([&](const PostingList& list) { count += list.size(); });
    return count;
  }

  std::size_t memory_bytes() const noexcept {
    return numbers_.memory_bytes() + strings_.memory_bytes() + points_.memory_bytes();
  }

 private:
  PredicateSpaces<Numbers> numbers_;
  PredicateSpaces<Strings> strings_;
  ListTable points_;
};

inline void append_ids(const PostingList& list, std::vector<std::uint32_t>& ids) {
  list.each_run([&](const std::uint64_t*, const PostingList::Rest* rests, std::uint32_t count) {
    const std::size_t size = ids.size();
    make_room(ids, size + count);
    ids.resize(size + count);
    std::transform(rests, rests + count, ids.begin() + static_cast<std::ptrdiff_t>(size),
                   [](const PostingList::Rest& rest) { return rest.second[0]; });
  });
}

inline void append_slots(const PostingList& list, std::vector<std::uint32_t>& slots) {
  list.each_run([&](const std::uint64_t*, const PostingList::Rest* rests, std::uint32_t count) {
    for (std::uint32_t index = 0; index < count; ++index) {
      slots.push_back(rests[index].slot);
    }
  });
}

// The ids whose ranges cover the value.
template <class Spaces, class Value>
void append_ids(const Spaces& spaces, Value value, std::vector<std::uint32_t>& ids) {
  spaces.visit(
      value, [&](const PostingList& list) { append_ids(list, ids); },
      [&](std::uint32_t, const Signature& link) { ids.push_back(static_cast<std::uint32_t>(link.second)); });
}

}  // namespace tamis
