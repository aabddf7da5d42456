// Items under dense 32-bit ids.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ask_for.hpp"

namespace tamis {

// Items live in chunks of 1,024 that never move; a chunk without an id in use is given back. A bit an id
// says whether it is free, so the smallest free id is found without a walk over the ids, and ids stay dense.
//
// A copy shares the chunks, so it costs some 10 ns for a thousand items; whoever writes to a chunk that is shared makes
// one of its own first. A copy may be read, and dropped, by any thread while the original is written.
//
// A default Item is vacant, and says so by `vacant()`; one in use is not.
template <class Item>
class SlotTable {
 public:
  explicit SlotTable(std::uint32_t ids_max) : ids_max_(ids_max) {}

  // The item of an id in use, else null.
  const Item* find(std::uint32_t id) const noexcept {
    const std::size_t place = id / chunk_ids;
    if (place >= chunks_.size() || chunks_[place] == nullptr) {
      return nullptr;
    }
    const Item& item = chunks_[place]->items[id % chunk_ids];
    return item.vacant() ? nullptr : &item;
  }

  // Brings the item of an id in use nearer.
  void prefetch(std::uint32_t id) const noexcept { ask_for(&chunks_[id / chunk_ids]->items[id % chunk_ids]); }

  // The item of an id in use, to be written. Throws std::bad_alloc.
  Item& at(std::uint32_t id) { return own(id / chunk_ids).items[id % chunk_ids]; }

  // The same where `at` was called since the table was last copied.
  Item& owned(std::uint32_t id) noexcept { return chunks_[id / chunk_ids]->items[id % chunk_ids]; }

  // Puts the item under the smallest free id. Throws std::overflow_error when there is none, std::bad_alloc; nothing
  // has changed then.
  std::uint32_t take(const Item& item) {
    const std::size_t place = first_chunk_with_room();
    const Chunk* present = place < chunks_.size() ? chunks_[place].get() : nullptr;
    const std::uint32_t first = present == nullptr ? 0 : present->smallest_free();
    const std::uint64_t id = std::uint64_t{place} * chunk_ids + first;
    if (id >= ids_max_) {
      throw std::overflow_error("there is no free id");
    }
    put(place, first, item);
    return static_cast<std::uint32_t>(id);
  }

  // Puts the item under an id that is free. Throws std::bad_alloc, std::overflow_error; nothing has changed then.
  void take_at(std::uint32_t id, const Item& item) {
    if (id >= ids_max_) {
      throw std::overflow_error("the id is beyond the greatest one");
    }
    try {
      while (chunks_.size() < id / chunk_ids) {
        append_place();
      }
      put(id / chunk_ids, id % chunk_ids, item);
    } catch (...) {
      trim();
      throw;
    }
  }

  // Needs an id in use. Throws std::bad_alloc, with nothing changed.
  void give_back(std::uint32_t id) {
    const std::size_t place = id / chunk_ids;
    Chunk& chunk = own(place);
    chunk.mark_free(id % chunk_ids);
    chunk.items[id % chunk_ids] = Item();
    room_[place / 64] |= std::uint64_t{1} << (place % 64);
    first_room_ = std::min(first_room_, place / 64);
    if (chunk.used == 0) {
      chunks_[place].reset();
      --present_;
      trim();
    }
  }

  // One above the greatest id in use, or 0.
  std::uint32_t bound() const noexcept {
    if (chunks_.empty()) {
      return 0;
    }
    const auto last = static_cast<std::uint32_t>(chunks_.size() - 1);
    return last * chunk_ids + chunks_.back()->bound();
  }

  std::size_t memory_bytes() const noexcept {
    return present_ * sizeof(Chunk) + chunks_.capacity() * sizeof(chunks_[0]) +
           room_.capacity() * sizeof(room_[0]);
  }

 private:
  static constexpr std::uint32_t chunk_ids = 1024;
  static constexpr std::uint32_t chunk_words = chunk_ids / 64;

  struct Chunk {
    std::array<Item, chunk_ids> items{};
    std::array<std::uint64_t, chunk_words> free;
    std::uint32_t words_with_room = (1U << chunk_words) - 1;
    std::uint32_t used = 0;

    Chunk() { free.fill(~std::uint64_t{0}); }

    std::uint32_t smallest_free() const noexcept {
      const auto word = static_cast<std::uint32_t>(std::countr_zero(words_with_room));
      return word * 64 + static_cast<std::uint32_t>(std::countr_zero(free[word]));
    }

    void mark_used(std::uint32_t place) noexcept {
      const std::uint32_t word = place / 64;
      free[word] &= ~(std::uint64_t{1} << (place % 64));
      if (free[word] == 0) {
        words_with_room &= ~(1U << word);
      }
      ++used;
    }

    void mark_free(std::uint32_t place) noexcept {
      free[place / 64] |= std::uint64_t{1} << (place % 64);
      words_with_room |= 1U << (place / 64);
      --used;
    }

    // Needs an id in use.
    std::uint32_t bound() const noexcept {
      std::uint32_t word = chunk_words - 1;
      while (~free[word] == 0) {
        --word;
      }
      return word * 64 + 64 - static_cast<std::uint32_t>(std::countl_zero(~free[word]));
    }
  };

  std::size_t first_chunk_with_room() noexcept {
    while (first_room_ < room_.size() && room_[first_room_] == 0) {
      ++first_room_;
    }
    if (first_room_ == room_.size()) {
      return chunks_.size();
    }
    return first_room_ * 64 + static_cast<std::size_t>(std::countr_zero(room_[first_room_]));
  }

  void put(std::size_t place, std::uint32_t index, const Item& item) {
    if (place >= chunks_.size() || chunks_[place] == nullptr) {
      make_chunk(place);
    }
    Chunk& chunk = own(place);
    chunk.mark_used(index);
    if (chunk.words_with_room == 0) {
      room_[place / 64] &= ~(std::uint64_t{1} << (place % 64));
    }
    chunk.items[index] = item;
  }

  Chunk& own(std::size_t place) {
    std::shared_ptr<Chunk>& chunk = chunks_[place];
    if (chunk.use_count() > 1) {
      chunk = std::make_shared<Chunk>(*chunk);
    }
    // Whoever shared it before has read it before.
    std::atomic_thread_fence(std::memory_order_acquire);
    return *chunk;
  }

  // One more chunk, which is not there.
  void append_place() {
    const std::size_t place = chunks_.size();
    if (place % 64 == 0) {
      room_.reserve(place / 64 + 1);
    }
    chunks_.emplace_back();
    if (place % 64 == 0) {
      room_.push_back(0);
    }
    room_[place / 64] |= std::uint64_t{1} << (place % 64);
    first_room_ = std::min(first_room_, place / 64);
  }

  void make_chunk(std::size_t place) {
    auto chunk = std::make_shared<Chunk>();
    if (place == chunks_.size()) {
      append_place();
    }
    chunks_[place] = std::move(chunk);
    ++present_;
  }

  // No chunk that is there is empty, and the last one is there.
  void trim() noexcept {
    while (!chunks_.empty() && chunks_.back() == nullptr) {
      chunks_.pop_back();
      room_[chunks_.size() / 64] &= ~(std::uint64_t{1} << (chunks_.size() % 64));
    }
    room_.resize((chunks_.size() + 63) / 64);
    first_room_ = std::min(first_room_, room_.size());
    if (chunks_.size() <= chunks_.capacity() / 4) {
      chunks_.shrink_to_fit();
      room_.shrink_to_fit();
    }
  }

  std::vector<std::shared_ptr<Chunk>> chunks_;  // null: all its ids are free
  std::vector<std::uint64_t> room_;             // a bit a chunk: whether it has a free id
  std::size_t first_room_ = 0;                  // no word of `room_` below this one has a bit
  std::size_t present_ = 0;
  std::uint32_t ids_max_;
};

}  // namespace tamis
