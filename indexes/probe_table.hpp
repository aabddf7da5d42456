// One sub-table of the string table: from hash bits to ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "ask_for.hpp"

namespace tamis {

// Open addressing in Robin Hood order: along a run of slots, no entry is nearer to its home than the one
// before it is, plus one. So a search for what is absent ends as early as one for what is present (4.5 slots
// on average at the greatest load, one or two cache lines), and removal shifts the run back: there are no
// tombstones.
//
// The home of a tag grows with the tag, so a rebuild writes from left to right, and any capacity will do:
// growing by a sixth keeps the load between 3/4 and 7/8, which is 9.1 to 10.7 bytes an entry.
//
// 256 of these share at most 2**32 ids by a keyed hash: the capacity of one is far below 2**32.
class ProbeTable {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  // The id under this tag for which `same(id)` holds, or `none`.
  template <class Same>
  std::uint32_t find(std::uint32_t tag, Same same) const {
    if (count_ == 0) {
      return none;
    }
    std::uint32_t place = home(tag);
    for (std::uint32_t walked = 0;; ++walked, place = after(place)) {
      const Slot slot = slots_[place];
      if (slot.id == none) {
        return none;
      }
      if (slot.tag == tag) {
        if (same(slot.id)) {
          return slot.id;
        }
      } else if (distance(place, slot.tag) < walked) {
        return none;
      }
    }
  }

  // Brings nearer where a search for this tag begins.
  void prefetch(std::uint32_t tag) const noexcept {
    if (count_ > 0) {
      ask_for(&slots_[home(tag)]);
    }
  }

  // Makes room for one more entry. Throws std::bad_alloc, with the table unchanged.
  void reserve_one() { reserve(1); }

  // The same for so many more.
  void reserve(std::uint32_t more) {
    if ((std::uint64_t{count_} + more) * 8 > std::uint64_t{capacity_} * 7 && !rebuild(count_ + more)) {
      throw std::bad_alloc();
    }
  }

  // Needs the room that `reserve_one` makes, and an id that is not in the table.
  void insert(std::uint32_t tag, std::uint32_t id) noexcept {
    put(Slot{tag, id});
    ++count_;
  }

  // Needs an id that is in the table under this tag, and another that is not.
  void replace(std::uint32_t tag, std::uint32_t id, std::uint32_t by) noexcept { slots_[place_of(tag, id)].id = by; }

  // Needs an id that is in the table under this tag.
  void erase(std::uint32_t tag, std::uint32_t id) noexcept {
    std::uint32_t place = place_of(tag, id);
    for (std::uint32_t next = after(place);; place = next, next = after(next)) {
      const Slot slot = slots_[next];
      if (slot.id == none || distance(next, slot.tag) == 0) {
        break;
      }
      slots_[place] = slot;
    }
    slots_[place].id = none;
    --count_;
    if (count_ == 0) {
      slots_.reset();
      capacity_ = 0;
    } else if (capacity_ > capacity_min && count_ < capacity_ / 2) {
      rebuild(count_);  // without memory for it, the table stays as large as it was
    }
  }

  std::size_t memory_bytes() const noexcept { return std::size_t{capacity_} * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t tag;
    std::uint32_t id;
  };

  static constexpr std::uint32_t capacity_min = 8;

  std::uint32_t home(std::uint32_t tag) const noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{tag} * capacity_) >> 32);
  }

  std::uint32_t after(std::uint32_t place) const noexcept { return place + 1 == capacity_ ? 0 : place + 1; }

  std::uint32_t distance(std::uint32_t place, std::uint32_t tag) const noexcept {
    const std::uint32_t start = home(tag);
    return place >= start ? place - start : place + (capacity_ - start);
  }

  // Needs an id that is in the table under this tag.
  std::uint32_t place_of(std::uint32_t tag, std::uint32_t id) const noexcept {
    std::uint32_t place = home(tag);
    while (slots_[place].id != id) {
      place = after(place);
    }
    return place;
  }

  void put(Slot slot) noexcept {
    std::uint32_t place = home(slot.tag);
    for (std::uint32_t walked = 0; slots_[place].id != none; ++walked, place = after(place)) {
      const std::uint32_t theirs = distance(place, slots_[place].tag);
      if (theirs < walked) {
        std::swap(slot, slots_[place]);
        walked = theirs;
      }
    }
    slots_[place] = slot;
  }

  // Moves to a capacity that `count` entries fill to three quarters; false, and nothing changed, without
  // memory.
  bool rebuild(std::uint32_t count) noexcept {
    const std::uint32_t capacity = std::max(capacity_min, count + count / 3 + 1);
    std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[capacity]);
    if (slots == nullptr) {
      return false;
    }
    std::fill_n(slots.get(), capacity, Slot{0, none});
    slots_.swap(slots);
    const std::uint32_t before = std::exchange(capacity_, capacity);
    for (std::uint32_t i = 0; i < before; ++i) {
      if (slots[i].id != none) {
        put(slots[i]);
      }
    }
    return true;
  }

  std::unique_ptr<Slot[]> slots_;
  std::uint32_t capacity_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace tamis
