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
      ListTable& table = table_of(key);
      const std::uint32_t number = table.take(key);
      try {
        table[number].insert(slot, link);
      } catch (...) {
        table.let_go(number);
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
      ListTable& table = table_of(key);
      const std::uint32_t number = table.find(key);
      if (number != ListTable::none && table[number].erase(slot)) {
        table.let_go(number);
      }
    }
  }

  const PredicateSpaces<Numbers>& numbers() const noexcept { return numbers_; }
  const PredicateSpaces<Strings>& strings() const noexcept { return strings_; }
  // Single values, and keys that numbers share.
  std::uint32_t point_count() const noexcept { return points_.size() + shared_.size(); }

  // The list of a single value, or of a key that numbers share, or null.
  const PostingList* point(const ListKey& key) const noexcept {
    const ListTable& table = table_of(key);
    const std::uint32_t number = table.size() == 0 ? ListTable::none : table.find(key);
    return number == ListTable::none ? nullptr : &table[number];
  }

  // Brings nearer what `point` begins with.
  void prefetch(const ListKey& key) const noexcept {
    if (table_of(key).size() > 0) {
      table_of(key).prefetch(key);
    }
  }

  // At how many places ids stand.
  std::size_t posting_count() const noexcept {
    std::size_t count = numbers_.posting_count() + strings_.posting_count();
    for (const ListTable* const table : {&points_, &shared_}) {
      table->each([&](const PostingList& list) { count += list.size(); });
    }
    return count;
  }

  std::size_t memory_bytes() const noexcept {
    return numbers_.memory_bytes() + strings_.memory_bytes() + points_.memory_bytes() + shared_.memory_bytes();
  }

 private:
  // Keys that numbers share have no type. They are apart: where there are no others, a value is looked up once.
  const ListTable& table_of(const ListKey& key) const noexcept { return key.high == 0 ? shared_ : points_; }
  ListTable& table_of(const ListKey& key) noexcept { return key.high == 0 ? shared_ : points_; }

  PredicateSpaces<Numbers> numbers_;
  PredicateSpaces<Strings> strings_;
  ListTable points_;
  ListTable shared_;
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
