// By which of their predicates expressions are found, and what an event finds by them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attribute_column.hpp"
#include "key_domains.hpp"
#include "list_table.hpp"
#include "posting_list.hpp"
#include "predicate_spaces.hpp"

namespace tamis {

// What an event found: slots whose signatures it meets.
class Candidates {
 public:
  void begin(const Signature& has) noexcept {
    lacks_ = {~has.first & ~one_of_several, ~has.second};
    single.clear();
    several.clear();
    lists_.clear();
    looked_at = 0;
  }

  void one(std::uint32_t slot, const Signature& signature) {
    ++looked_at;
    if (((signature.first & lacks_.first) | (signature.second & lacks_.second)) == 0) {
      ((signature.first & one_of_several) != 0 ? several : single).push_back(slot);
    }
  }

  // To be looked at by `end`, when its memory has come nearer.
  void list(const PostingList& postings) {
    if (postings.size() > 0) {
      postings.prefetch();
      lists_.push_back(&postings);
    }
  }

  void end() {
    std::size_t count = 0;
    for (const PostingList* const postings : lists_) {
      postings->each_run([&](const std::uint64_t* firsts, const PostingList::Rest* rests, std::uint32_t size) {
        looked_at += size;
        if (met_.size() < count + size) {
          met_.resize(std::max(count + size, 2 * met_.size()));
        }
        Met* met = met_.data() + count;
        for (std::uint32_t index = 0; index < size; ++index) {
          if ((firsts[index] & lacks_.first) == 0) [[unlikely]] {
            __builtin_prefetch(rests + index);
            *met++ = {rests + index, (firsts[index] & one_of_several) != 0};
          }
        }
        count = static_cast<std::size_t>(met - met_.data());
      });
    }
    for (std::size_t index = 0; index < count; ++index) {
      const PostingList::Rest& rest = *met_[index].rest;
      if ((rest.bits() & lacks_.second) == 0) {
        (met_[index].is_one_of_several ? several : single).push_back(rest.slot);
      }
    }
    std::sort(several.begin(), several.end());
    several.erase(std::unique(several.begin(), several.end()), several.end());
  }

  std::size_t memory_bytes() const noexcept {
    return (single.capacity() + several.capacity()) * sizeof(std::uint32_t) + lists_.capacity() * sizeof(lists_[0]) +
           met_.capacity() * sizeof(Met);
  }

  // Each once: of those with one posting, of the others.
  std::vector<std::uint32_t> single;
  std::vector<std::uint32_t> several;
  std::uint64_t looked_at = 0;

 private:
  // A posting whose first word is met.
  struct Met {
    const PostingList::Rest* rest;
    bool is_one_of_several;
  };

  Signature lacks_;
  std::vector<const PostingList*> lists_;
  std::vector<Met> met_;
};

// Postings under what their access predicates ask for: a value (a point), a range, or only that there is something.
class AccessLists {
 public:
  static constexpr std::uint32_t none = ListTable::none;

  using NumberRange = PredicateSpaces<Numbers>::Range;

  explicit AccessLists(std::uint32_t leaf_max) : leaf_max_(leaf_max) {}

  // The column of an attribute, or null.
  const AttributeColumn* column(std::uint32_t attribute) const noexcept {
    const std::uint32_t place = place_of(attribute);
    return place == none ? nullptr : columns_[place].get();
  }
  AttributeColumn* column(std::uint32_t attribute) noexcept {
    return const_cast<AttributeColumn*>(static_cast<const AccessLists*>(this)->column(attribute));
  }

  // What a value of this attribute adds to its event's signature; nothing without a column.
  Signature bits_of_value(std::uint32_t attribute, const ListKey& point) const noexcept {
    const std::uint32_t place = place_of(attribute);
    if (place == none) {
      return {};
    }
    const AttributeColumn& held = *columns_[place];
    Signature bits{first_bit(place), 0};
    if (held.asks_presence) {
      bits.second |= presence_bit(place);
    }
    if (held.asks_points) {
      bits.second |= point_bit(point);
    }
    return bits;
  }

  // What an expression's need of any value, or of this one, adds to its signature. Needs an attribute that is used.
  // While there are few columns each has a bit of its own in the first word. In the second the attribute has another
  // one, so that two that share a bit differ there; where it is nearly always there, the value has one instead.
  Signature bits_of_any(std::uint32_t attribute) noexcept {
    const std::uint32_t place = places_[attribute];
    columns_[place]->asks_presence = true;
    return {first_bit(place), presence_bit(place)};
  }
  Signature bits_of_point(std::uint32_t attribute, const ListKey& point) noexcept {
    const std::uint32_t place = places_[attribute];
    AttributeColumn& held = *columns_[place];
    if (held.seen > 0 && held.present < common * held.seen) {
      return bits_of_any(attribute);
    }
    held.asks_points = true;
    return {first_bit(place), point_bit(point)};
  }

  // Makes the column, if there is none, and keeps it until it is left as often. Throws std::bad_alloc.
  void use(std::uint32_t attribute) {
    if (attribute >= places_.size()) {
      places_.resize(std::max<std::size_t>(attribute + 1, places_.size() + places_.size() / 4), none);
    }
    if (places_[attribute] == none) {
      auto made = std::make_unique<AttributeColumn>();
      made->attribute = attribute;
      if (free_.empty()) {
        make_room(free_, columns_.size() + 1);
        columns_.push_back(std::move(made));
        places_[attribute] = static_cast<std::uint32_t>(columns_.size() - 1);
      } else {
        places_[attribute] = free_.back();
        free_.pop_back();
        columns_[places_[attribute]] = std::move(made);
      }
    }
    ++column(attribute)->uses;
  }

  // Needs an attribute that is used, and no postings under it if this is the last use.
  void leave(std::uint32_t attribute) noexcept {
    const std::uint32_t place = places_[attribute];
    if (--columns_[place]->uses == 0) {
      columns_[place].reset();
      places_[attribute] = none;
      free_.push_back(place);  // there is room: it was reserved
      if (free_.size() == columns_.size()) {
        std::vector<std::unique_ptr<AttributeColumn>>().swap(columns_);
        std::vector<std::uint32_t>().swap(free_);
        std::vector<std::uint32_t>().swap(places_);
      }
    }
  }

  // The number of an attribute that is used; no other one has it at the time.
  std::uint32_t number_of(std::uint32_t attribute) const noexcept { return places_[attribute]; }

  // All of these need an attribute that is used. The insertions throw std::bad_alloc, and what was begun is then to be
  // erased; so does the erasure of strings, with nothing changed.
  void insert_point(const ListKey& key, std::uint32_t slot, const Signature& signature) {
    const std::uint32_t number = points.take(key);
    try {
      points[number].insert(slot, signature);
    } catch (...) {
      points.let_go(number);
      throw;
    }
  }
  void erase_point(const ListKey& key, std::uint32_t slot) noexcept {
    const std::uint32_t number = points.find(key);
    if (number != none && points[number].erase(slot)) {
      points.let_go(number);
    }
  }

  void insert_numbers(std::uint32_t attribute, std::uint64_t first, std::uint64_t end, std::uint32_t slot,
                      const Signature& signature) {
    AttributeColumn& held = *column(attribute);
    if (held.numbers == nullptr) {
      held.numbers = std::make_unique<PredicateSpaces<Numbers>>(leaf_max_);
    }
    held.numbers->insert({first, end}, slot, signature);
  }
  void erase_numbers(std::uint32_t attribute, std::uint64_t first, std::uint64_t end, std::uint32_t slot) noexcept {
    AttributeColumn& held = *column(attribute);
    if (held.numbers != nullptr) {
      held.numbers->erase({first, end}, slot);
    }
  }

  void insert_strings(std::uint32_t attribute, const std::string& first, const std::string& end, std::uint32_t slot,
                      const Signature& signature) {
    AttributeColumn& held = *column(attribute);
    if (held.strings == nullptr) {
      held.strings = std::make_unique<PredicateSpaces<Strings>>(leaf_max_);
    }
    held.strings->insert({first, end}, slot, signature);
  }
  void erase_strings(std::uint32_t attribute, const std::string& first, const std::string& end, std::uint32_t slot) {
    AttributeColumn& held = *column(attribute);
    if (held.strings != nullptr) {
      held.strings->erase({first, end}, slot);
    }
  }

  // What an event's value finds, but for points.
  void find_any(const AttributeColumn& held, Candidates& found) const { found.list(held.any); }
  void find_number(const AttributeColumn& held, double number, Candidates& found) const {
    if (held.numbers != nullptr) {
      find_in(*held.numbers, Numbers::key_of(number), found);
    }
  }
  void find_string(const AttributeColumn& held, std::string_view text, Candidates& found) const {
    if (held.strings != nullptr) {
      find_in(*held.strings, text, found);
    }
  }

  std::size_t column_bound() const noexcept { return columns_.size(); }
  AttributeColumn* column_at(std::size_t place) noexcept { return columns_[place].get(); }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = points.memory_bytes() + always.memory_bytes() + columns_.capacity() * sizeof(columns_[0]) +
                        (places_.capacity() + free_.capacity()) * sizeof(std::uint32_t);
    for (const std::unique_ptr<AttributeColumn>& held : columns_) {
      if (held != nullptr) {
        bytes += sizeof(AttributeColumn) + held->any.memory_bytes() +
                 (held->number_keys.capacity() + held->point_codes.capacity() + held->ends.capacity()) *
                     sizeof(std::uint64_t);
        if (held->cells != nullptr) {
          bytes += sizeof(*held->cells) + held->cells->cuts.capacity() * sizeof(std::uint64_t);
        }
        if (held->numbers != nullptr) {
          bytes += sizeof(*held->numbers) + held->numbers->memory_bytes();
        }
        if (held->strings != nullptr) {
          bytes += sizeof(*held->strings) + held->strings->memory_bytes();
        }
      }
    }
    return bytes;
  }

  ListTable points;
  // What no value leads to.
  PostingList always;

 private:
  // From this share of events on an attribute is common.
  static constexpr double common = 0.5;

  static std::uint64_t first_bit(std::uint32_t place) noexcept { return std::uint64_t{1} << (place % first_bits); }
  static std::uint64_t presence_bit(std::uint32_t place) noexcept {
    return std::uint64_t{1} << ((place * 37 + place / first_bits * 11) % second_bits);
  }
  static std::uint64_t point_bit(const ListKey& point) noexcept {
    const std::uint64_t mixed = (point.low ^ point.high * 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93;
    return std::uint64_t{1} << (mixed >> 58);
  }

  std::uint32_t place_of(std::uint32_t attribute) const noexcept {
    return attribute < places_.size() ? places_[attribute] : none;
  }

  template <class Spaces, class Value>
  static void find_in(const Spaces& spaces, Value value, Candidates& found) {
    spaces.visit(
        value, [&](const PostingList& postings) { found.list(postings); },
        [&](std::uint32_t slot, const Signature& signature) { found.one(slot, signature); });
  }

  std::uint32_t leaf_max_;
  std::vector<std::uint32_t> places_;  // by attributes
  std::vector<std::unique_ptr<AttributeColumn>> columns_;
  std::vector<std::uint32_t> free_;
};

}  // namespace tamis
