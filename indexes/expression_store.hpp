// The expressions of an index: their words, by slots, and the slots by ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "ask_for.hpp"
#include "id_table.hpp"
#include "slot_table.hpp"

namespace tamis {

// Where an expression's words are, and whose they are.
struct Place {
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t segment = nowhere;
  std::uint32_t offset = 0;
  std::uint32_t id = 0;

  bool vacant() const noexcept { return segment == nowhere; }
};

struct Words {
  const std::uint32_t* data;
  std::uint32_t size;
};

// Expressions of a file that is mapped into memory: they are read in place and never written.
struct Base {
  const std::uint32_t* words = nullptr;
  const std::uint64_t* starts = nullptr;  // one more than there are expressions
  std::uint32_t count = 0;
};

// Memory for many words. Large pieces are put on huge pages where the system has them: a million expressions are then
// taken in a third less time, since every page that is touched first costs a fault.
inline std::shared_ptr<std::uint32_t[]> allocate_words(std::uint32_t capacity) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  const std::size_t size = std::size_t{capacity} * sizeof(std::uint32_t);
  if (size % huge_page == 0) {
    void* const memory = std::aligned_alloc(huge_page, size);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    madvise(memory, size, MADV_HUGEPAGE);  // advice only
    return std::shared_ptr<std::uint32_t[]>(static_cast<std::uint32_t*>(memory), std::free);
  }
#endif
  return std::shared_ptr<std::uint32_t[]>(new std::uint32_t[capacity]);
}

// Words are appended to segments of 2 MiB (an expression above 256 KiB gets one of its own) behind a slot and a size,
// and are never moved by insertions and deletions. A segment without a living expression is given back; one of which
// half is dead is emptied by `compact`, in steps.
class WordSegments {
 public:
  static constexpr std::uint32_t header = 2;
  static constexpr std::uint32_t dead = std::numeric_limits<std::uint32_t>::max();

  struct Segment {
    std::shared_ptr<std::uint32_t[]> words;  // null: this place is free
    std::uint32_t capacity = 0;
    std::uint32_t used = 0;
    std::uint32_t live = 0;
  };

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(segments_.size()); }
  const Segment& operator[](std::uint32_t index) const noexcept { return segments_[index]; }
  // Null: there is no such segment just now.
  const std::uint32_t* words(std::uint32_t index) const noexcept { return segments_[index].words.get(); }

  bool is_closed(std::uint32_t index) const noexcept {
    return index >= segments_.size() || segments_[index].words == nullptr;
  }

  Words view(std::uint32_t segment, std::uint32_t offset) const noexcept {
    const std::uint32_t* const record = &segments_[segment].words[offset];
    return {record + header, record[1]};
  }

  // Copies the words into the head, and says where they are. Throws std::bad_alloc, std::overflow_error; nothing has
  // changed then.
  std::pair<std::uint32_t, std::uint32_t> append(std::uint32_t slot, const std::uint32_t* words, std::uint32_t size) {
    const std::uint32_t needed = header + size;
    const std::uint32_t index = needed > alone_min ? open(needed) : with_room(needed);
    Segment& segment = segments_[index];
    const std::uint32_t offset = segment.used;
    std::uint32_t* const record = &segment.words[offset];
    record[0] = slot;
    record[1] = size;
    std::memcpy(record + header, words, std::size_t{size} * sizeof *words);
    segment.used += needed;
    segment.live += needed;
    return {index, offset};
  }

  void release(std::uint32_t index, std::uint32_t offset) noexcept {
    Segment& segment = segments_[index];
    std::uint32_t* const record = &segment.words[offset];
    record[0] = dead;
    segment.live -= header + record[1];
    if (segment.live == 0) {
      close(index);
    }
  }

  // A segment that is worth emptying, or `dead`.
  std::uint32_t sparse() const noexcept {
    for (std::uint32_t index = 0; index < segments_.size(); ++index) {
      const Segment& segment = segments_[index];
      if (segment.words != nullptr && index != head_ && segment.live <= segment.used / 2) {
        return index;
      }
    }
    return dead;
  }

  std::size_t memory_bytes() const noexcept {
    return capacity_ * sizeof(std::uint32_t) + segments_.capacity() * sizeof(Segment);
  }

 private:
  static constexpr std::uint32_t segment_size = 512 * 1024;
  static constexpr std::uint32_t segment_size_min = 1024;
  static constexpr std::uint32_t alone_min = segment_size / 8;

  // The head, or a new one. The first segments are small and double, so a small index is small.
  std::uint32_t with_room(std::uint32_t needed) {
    if (head_ == dead || segments_[head_].capacity - segments_[head_].used < needed) {
      const std::size_t wanted = std::max<std::size_t>(capacity_, needed);
      head_ = open(std::clamp(static_cast<std::uint32_t>(std::min<std::size_t>(wanted, segment_size)), segment_size_min,
                              segment_size));
    }
    return head_;
  }

  std::uint32_t open(std::uint32_t capacity) {
    std::uint32_t index = 0;
    if (free_.empty()) {
      if (segments_.size() >= dead) {
        throw std::overflow_error("the index is full: its expressions fill all segments");
      }
      free_.reserve(segments_.size() + 1);  // so that closing never fails
      index = static_cast<std::uint32_t>(segments_.size());
      segments_.emplace_back();
    } else {
      index = free_.back();
    }
    try {
      segments_[index].words = allocate_words(capacity);
    } catch (...) {
      if (free_.empty()) {
        segments_.pop_back();
      }
      throw;
    }
    if (!free_.empty()) {
      free_.pop_back();
    }
    segments_[index].capacity = capacity;
    capacity_ += capacity;
    return index;
  }

  void close(std::uint32_t index) noexcept {
    capacity_ -= segments_[index].capacity;
    segments_[index] = Segment();
    free_.push_back(index);
    if (index == head_) {
      head_ = dead;
    }
    if (free_.size() == segments_.size()) {
      std::vector<Segment>().swap(segments_);
      std::vector<std::uint32_t>().swap(free_);
    }
  }

  std::vector<Segment> segments_;
  std::vector<std::uint32_t> free_;
  std::uint32_t head_ = dead;
  std::size_t capacity_ = 0;
};

// What a store held once. Any thread may read it while the store is written.
class FrozenStore {
 public:
  FrozenStore() : slots_(0) {}
  FrozenStore(const SlotTable<Place>& slots, const WordSegments& segments, const Base& base, std::uint32_t size)
      : slots_(slots), segments_(segments), base_(base), size_(size) {}

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t slot_bound() const noexcept { return slots_.bound(); }
  bool holds(std::uint32_t slot) const noexcept { return slots_.find(slot) != nullptr; }
  std::uint32_t id(std::uint32_t slot) const noexcept { return slots_.find(slot)->id; }

  // Both need a slot in use: the words' place comes nearer, and when it is there, the words.
  void prefetch_place(std::uint32_t slot) const noexcept { slots_.prefetch(slot); }
  void prefetch_words(std::uint32_t slot) const noexcept {
    const std::uint32_t* const data = words(slot).data;
    ask_for(data);
    ask_for(data + 16);
  }

  // Needs a slot in use.
  Words words(std::uint32_t slot) const noexcept {
    const Place* const place = slots_.find(slot);
    if (place->segment == base_segment) {
      const std::uint64_t start = base_.starts[place->offset];
      return {base_.words + start, static_cast<std::uint32_t>(base_.starts[place->offset + 1] - start)};
    }
    return segments_.view(place->segment, place->offset);
  }

 protected:
  static constexpr std::uint32_t base_segment = Place::nowhere - 1;

  SlotTable<Place> slots_;
  WordSegments segments_;
  Base base_;
  std::uint32_t size_ = 0;
};

// One writer; any number of readers between writes.
class ExpressionStore : public FrozenStore {
 public:
  static constexpr std::uint32_t none = IdTable::none;

  ExpressionStore() { slots_ = SlotTable<Place>(base_segment); }

  // Of an empty store: takes the expressions of a base, in slots from 0, under ids that are distinct. Throws
  // std::bad_alloc; the store is then of no use.
  void adopt(const Base& base, const std::uint32_t* ids) {
    std::vector<std::uint32_t> strange_ids;
    std::vector<std::uint32_t> strange_slots;
    base_ = base;
    for (std::uint32_t position = 0; position < base.count; ++position) {
      const std::uint32_t slot = slots_.take(Place{base_segment, position, ids[position]});
      if (slot != ids[position]) {
        strange_ids.push_back(ids[position]);
        strange_slots.push_back(slot);
      }
    }
    ids_.insert_all(strange_ids.data(), strange_slots.data(), static_cast<std::uint32_t>(strange_ids.size()));
    size_ = base.count;
  }

  // The slot of an id, or `none`.
  std::uint32_t find(std::uint32_t id) const noexcept {
    const Place* const home = slots_.find(id);
    return home != nullptr && home->id == id ? id : ids_.find(id);
  }

  // Takes a copy of the words, for an id that `bind` gives to them. Throws std::bad_alloc, std::overflow_error; nothing
  // has changed then.
  std::uint32_t put(std::uint32_t id, const std::uint32_t* words, std::uint32_t size) {
    const std::uint32_t slot = take(id);
    try {
      const auto [segment, offset] = segments_.append(slot, words, size);
      Place& place = slots_.owned(slot);
      place.segment = segment;
      place.offset = offset;
    } catch (...) {
      slots_.give_back(slot);
      throw;
    }
    ++size_;
    return slot;
  }

  // Needs a slot that was just put. From now on its id finds it, once a slot that had the id before is erased.
  void bind(std::uint32_t slot) noexcept {
    const std::uint32_t id = slots_.find(slot)->id;
    const std::uint32_t old = ids_.find(id);
    if (slot == id) {
      if (old != none) {
        ids_.erase(id, old);
      }
    } else if (old == none) {
      ids_.insert(id, slot);
    } else {
      ids_.replace(id, old, slot);
    }
  }

  // Makes sure that `erase` will not fail. Throws std::bad_alloc.
  void prepare_erase(std::uint32_t slot) { slots_.at(slot); }

  // Needs a slot in use, and `prepare_erase`.
  void erase(std::uint32_t slot) noexcept {
    const Place place = slots_.owned(slot);
    if (slot != place.id && ids_.find(place.id) == slot) {
      ids_.erase(place.id, slot);
    }
    slots_.give_back(slot);
    if (place.segment != base_segment) {
      release(place.segment, place.offset);
    }
    --size_;
  }

  // Moves up to so many words out of sparse segments; false if nothing is left to move. Throws std::bad_alloc.
  bool compact(std::uint32_t words_max) {
    for (std::uint32_t moved = 0; moved < words_max;) {
      if (emptied_ == none) {
        emptied_ = segments_.sparse();
        emptied_from_ = 0;
        if (emptied_ == none) {
          return false;
        }
      }
      const std::uint32_t index = emptied_;
      const std::uint32_t offset = emptied_from_;
      const std::uint32_t slot = segments_[index].words[offset];
      const Words words = segments_.view(index, offset);
      if (slot != WordSegments::dead) {
        slots_.at(slot);
        const auto [segment, to] = segments_.append(slot, words.data, words.size);
        Place& place = slots_.owned(slot);
        place.segment = segment;
        place.offset = to;
        moved += words.size;
      }
      emptied_from_ += WordSegments::header + words.size;
      moved += WordSegments::header;
      if (slot != WordSegments::dead) {
        release(index, offset);  // the last one closes the segment
      }
    }
    return true;
  }

  const WordSegments& segments() const noexcept { return segments_; }
  const Base& base() const noexcept { return base_; }
  // Whether a base's expression is still there; its slot is its position.
  bool holds_base(std::uint32_t position) const noexcept {
    const Place* const place = slots_.find(position);
    return place != nullptr && place->segment == base_segment && place->offset == position;
  }

  FrozenStore freeze() const { return *this; }

  std::size_t words_bytes() const noexcept { return segments_.memory_bytes(); }
  std::size_t mapped_bytes() const noexcept {
    return base_.count == 0 ? 0 : base_.starts[base_.count] * sizeof(std::uint32_t) +
                                      (std::size_t{base_.count} + 1) * sizeof(std::uint64_t);
  }
  std::size_t slots_bytes() const noexcept { return slots_.memory_bytes(); }
  std::size_t ids_bytes() const noexcept { return ids_.memory_bytes(); }

 private:
  void release(std::uint32_t segment, std::uint32_t offset) noexcept {
    segments_.release(segment, offset);
    if (segment == emptied_ && segments_.is_closed(segment)) {
      emptied_ = none;
    }
  }

  // An id's own number as its slot, where that is free and slots stay dense; else the smallest free one, and room for
  // the id in the table.
  std::uint32_t take(std::uint32_t id) {
    const Place place{base_segment, 0, id};
    if (id < 2 * std::uint64_t{size_} + home_min && slots_.find(id) == nullptr) {
      slots_.take_at(id, place);
      return id;
    }
    ids_.reserve_one(id);
    return slots_.take(place);
  }

  static constexpr std::uint32_t home_min = 1024;

  // Of the ids that are not their own slots.
  IdTable ids_;
  // The segment that `compact` is emptying, and how far it is.
  std::uint32_t emptied_ = none;
  std::uint32_t emptied_from_ = 0;
};

}  // namespace tamis
