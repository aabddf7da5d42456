// From the id of a string to where its bytes lie and how many references it has.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tamis {

struct Entry {
  std::uint32_t location;
  std::uint32_t references;  // 0: the id is free
};

// Entries live in chunks of 1,024 that never move; a chunk without an id in use is given back. A bit an id
// says whether it is free, so the smallest free id is found without a walk over the ids, and ids stay dense.
class EntryTable {
 public:
  explicit EntryTable(std::uint32_t ids_max) : ids_max_(ids_max) {}

  // The entry of an id in use, else null.
  Entry* find(std::uint32_t id) noexcept {
    const std::size_t place = id / chunk_ids;
    if (place >= chunks_.size() || chunks_[place] == nullptr) {
      return nullptr;
    }
    Entry& entry = chunks_[place]->entries[id % chunk_ids];
    return entry.references == 0 ? nullptr : &entry;
  }

  const Entry* find(std::uint32_t id) const noexcept { return const_cast<EntryTable*>(this)->find(id); }

  // Takes the smallest free id, with one reference. Throws std::overflow_error when there is none,
  // std::bad_alloc; nothing has changed then.
  std::uint32_t take() {
    const std::size_t place = first_chunk_with_room();
    const Chunk* present = place < chunks_.size() ? chunks_[place].get() : nullptr;
    const std::uint32_t first = present == nullptr ? 0 : present->smallest_free();
    const std::uint64_t id = std::uint64_t{place} * chunk_ids + first;
    if (id >= ids_max_) {
      throw std::overflow_error("the vocabulary is full: it holds as many distinct strings as it has ids; "
                                "release strings, or use one more vocabulary");
    }
    if (present == nullptr) {
      make_chunk(place);
    }
    Chunk& chunk = *chunks_[place];
    chunk.mark_used(id % chunk_ids);
    if (chunk.words_with_room == 0) {
      room_[place / 64] &= ~(std::uint64_t{1} << (place % 64));
    }
    chunk.entries[id % chunk_ids].references = 1;
    return static_cast<std::uint32_t>(id);
  }

  // Needs an id in use.
  void give_back(std::uint32_t id) noexcept {
    const std::size_t place = id / chunk_ids;
    Chunk& chunk = *chunks_[place];
    chunk.mark_free(id % chunk_ids);
    chunk.entries[id % chunk_ids].references = 0;
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
    std::array<Entry, chunk_ids> entries{};
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

  void make_chunk(std::size_t place) {
    auto chunk = std::make_unique<Chunk>();
    if (place == chunks_.size()) {
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

  std::vector<std::unique_ptr<Chunk>> chunks_;  // null: all its ids are free
  std::vector<std::uint64_t> room_;             // a bit a chunk: whether it has a free id
  std::size_t first_room_ = 0;                  // no word of `room_` below this one has a bit
  std::size_t present_ = 0;
  std::uint32_t ids_max_;
};

}  // namespace tamis
