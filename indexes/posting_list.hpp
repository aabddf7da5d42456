// Which expressions are to be looked at where a key holds: their slots, each with a signature.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "ask_for.hpp"

namespace tamis {

// Bits that an event must have for the expression to hold. The first word of many postings in a row is compared with an
// event's, so most of them are dropped at less than a nanosecond; the second word is asked of what is left, before the
// expression itself is looked at.
struct Signature {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

// Of a posting whose expression has others, which the same event may lead to: in the first word. No event's bit.
constexpr std::uint64_t one_of_several = std::uint64_t{1} << 63;
constexpr std::uint32_t first_bits = 63;
constexpr std::uint32_t second_bits = 64;

// Room for so many items, such that asking again and again costs no more than adding them.
template <class Item>
void make_room(std::vector<Item>& items, std::size_t count) {
  if (items.capacity() < count) {
    items.reserve(std::max(count, 2 * items.capacity()));
  }
}

// First words lie side by side, and so does what belongs to them. A list of one costs nothing beside its 24 bytes; up
// to 512 are in one block; longer lists are cut into blocks by slots, so that an insertion or deletion touches one
// block, however long the list. Within a block there is no order.
class PostingList {
 public:
  // The rest of a posting: 12 bytes, since that many words are read at once.
  struct Rest {
    std::uint32_t slot;
    std::uint32_t second[2];

    Rest(std::uint32_t at, std::uint64_t bits) noexcept
        : slot(at), second{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)} {}
    std::uint64_t bits() const noexcept { return std::uint64_t{second[1]} << 32 | second[0]; }
  };

  struct Block {
    std::uint32_t capacity;
    std::uint32_t count;

    std::uint64_t* firsts() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
    const std::uint64_t* firsts() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }
    Rest* rests() noexcept { return reinterpret_cast<Rest*>(firsts() + capacity); }
    const Rest* rests() const noexcept { return reinterpret_cast<const Rest*>(firsts() + capacity); }
  };

  PostingList() = default;
  PostingList(PostingList&& other) noexcept { swap(other); }
  PostingList& operator=(PostingList&& other) noexcept {
    swap(other);
    return *this;
  }
  PostingList(const PostingList&) = delete;
  PostingList& operator=(const PostingList&) = delete;
  ~PostingList() { clear(); }

  void swap(PostingList& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(rest_, other.rest_);
    std::swap(size_, other.size_);
  }

  std::uint32_t size() const noexcept { return size_; }

  // Throws std::bad_alloc; nothing has changed then.
  void insert(std::uint32_t slot, const Signature& signature) {
    const Rest rest(slot, signature.second);
    if (size_ == 0) {
      held_.first = signature.first;
      rest_ = rest;
    } else if (size_ == 1) {
      Block* const block = allocate(small_capacity);
      append(*block, held_.first, rest_);
      append(*block, signature.first, rest);
      held_.block = block;
      rest_.slot = in_block;
    } else if (rest_.slot == in_block && size_ < block_max) {
      append(*with_room(held_.block), signature.first, rest);
    } else {
      if (rest_.slot == in_block) {
        auto directory = std::make_unique<Directory>(1, Entry{held_.block, 0});
        try {
          insert_into(*directory, signature.first, rest);
        } catch (...) {
          held_.block = directory->front().block;  // it may have grown
          throw;
        }
        held_.directory = directory.release();
        rest_.slot = in_directory;
      } else {
        insert_into(*held_.directory, signature.first, rest);
      }
    }
    ++size_;
  }

  // Whether there was one. Of several under this slot, one goes.
  bool erase(std::uint32_t slot) noexcept {
    if (size_ == 0 || (size_ == 1 && rest_.slot != slot)) {
      return false;
    }
    if (size_ == 1) {
      size_ = 0;
      return true;
    }
    if (rest_.slot == in_block) {
      if (!remove(*held_.block, slot)) {
        return false;
      }
    } else if (!erase_from(*held_.directory, slot)) {
      return false;
    }
    --size_;
    if (rest_.slot == in_directory && held_.directory->size() == 1) {
      Directory* const directory = held_.directory;
      held_.block = directory->front().block;
      rest_.slot = in_block;
      delete directory;
    }
    if (rest_.slot == in_block) {
      if (size_ == 1) {
        Block* const block = held_.block;
        rest_ = block->rests()[0];
        held_.first = block->firsts()[0];
        std::free(block);
      } else {
        held_.block = shrunk(held_.block);
      }
    }
    return true;
  }

  // `look(firsts, rests, count)` for each run of postings.
  template <class Look>
  void each_run(Look look) const {
    if (size_ <= 1) {
      if (size_ == 1) {
        look(&held_.first, &rest_, 1U);
      }
    } else if (rest_.slot == in_block) {
      const Block& block = *held_.block;
      look(block.firsts(), block.rests(), size_);
    } else {
      for (const Entry& entry : *held_.directory) {
        const Block& block = *entry.block;
        look(block.firsts(), block.rests(), block.count);
      }
    }
  }

  void prefetch() const noexcept {
    if (size_ > 1) {
      ask_for(held_.block);
    }
  }

  // What an insertion writes, once what `prefetch` asked for is there.
  void prefetch_end() const noexcept {
    if (size_ > 1 && rest_.slot == in_block) {
      ask_for(held_.block->firsts() + size_);
      ask_for(held_.block->rests() + size_);
    }
  }

  // Beside the list itself.
  std::size_t memory_bytes() const noexcept {
    if (size_ <= 1) {
      return 0;
    }
    if (rest_.slot == in_block) {
      return bytes_of(held_.block->capacity);
    }
    std::size_t bytes = sizeof(Directory) + held_.directory->capacity() * sizeof(Entry);
    for (const Entry& entry : *held_.directory) {
      bytes += bytes_of(entry.block->capacity);
    }
    return bytes;
  }

 private:
  static constexpr std::uint32_t small_capacity = 3;
  static constexpr std::uint32_t block_max = 512;
  // What the slot says where the postings are elsewhere.
  static constexpr std::uint32_t in_block = 0;
  static constexpr std::uint32_t in_directory = 1;

  // The slots of a block are not below `first`, and below that of the next block.
  struct Entry {
    Block* block;
    std::uint32_t first;
  };
  using Directory = std::vector<Entry>;

  static std::size_t bytes_of(std::uint32_t capacity) noexcept {
    return sizeof(Block) + capacity * (sizeof(std::uint64_t) + sizeof(Rest));
  }

  static Block* try_allocate(std::uint32_t capacity) noexcept {
    auto* const block = static_cast<Block*>(std::malloc(bytes_of(capacity)));
    if (block != nullptr) {
      block->capacity = capacity;
      block->count = 0;
    }
    return block;
  }

  static Block* allocate(std::uint32_t capacity) {
    Block* const block = try_allocate(capacity);
    if (block == nullptr) {
      throw std::bad_alloc();
    }
    return block;
  }

  static void append(Block& block, std::uint64_t first, const Rest& rest) noexcept {
    block.firsts()[block.count] = first;
    block.rests()[block.count] = rest;
    ++block.count;
  }

  static void copy(const Block& from, Block& to) noexcept {
    std::memcpy(to.firsts(), from.firsts(), from.count * sizeof(std::uint64_t));
    std::memcpy(to.rests(), from.rests(), from.count * sizeof(Rest));
    to.count = from.count;
  }

  static Block* with_room(Block*& block) {
    if (block->count == block->capacity) {
      Block* const larger = allocate(block->capacity + block->capacity / 3 + 2);
      copy(*block, *larger);
      std::free(std::exchange(block, larger));
    }
    return block;
  }

  static Block* shrunk(Block* block) noexcept {
    if (block->count * 2 < block->capacity) {
      Block* const smaller = try_allocate(block->count + block->count / 4 + 1);
      if (smaller != nullptr) {
        copy(*block, *smaller);
        std::free(block);
        return smaller;
      }
    }
    return block;
  }

  static bool remove(Block& block, std::uint32_t slot) noexcept {
    Rest* const end = block.rests() + block.count;
    Rest* const found = std::find_if(block.rests(), end, [slot](const Rest& rest) { return rest.slot == slot; });
    if (found == end) {
      return false;
    }
    --block.count;
    *found = block.rests()[block.count];
    block.firsts()[found - block.rests()] = block.firsts()[block.count];
    return true;
  }

  static std::size_t place_of(const Directory& directory, std::uint32_t slot) noexcept {
    const auto above = std::upper_bound(directory.begin(), directory.end(), slot,
                                        [](std::uint32_t wanted, const Entry& entry) { return wanted < entry.first; });
    return static_cast<std::size_t>(above - directory.begin()) - 1;
  }

  static void insert_into(Directory& directory, std::uint64_t first, const Rest& rest) {
    std::size_t place = place_of(directory, rest.slot);
    if (directory[place].block->count >= block_max && divide(directory, place)) {
      place = place_of(directory, rest.slot);
    }
    append(*with_room(directory[place].block), first, rest);
  }

  // Moves the upper part of a block into one of its own. False if all are of one slot.
  static bool divide(Directory& directory, std::size_t place) {
    Block& block = *directory[place].block;
    std::vector<std::uint32_t> sorted;
    sorted.reserve(block.count);
    for (std::uint32_t index = 0; index < block.count; ++index) {
      sorted.push_back(block.rests()[index].slot);
    }
    std::sort(sorted.begin(), sorted.end());
    // Slots that ascend fill their blocks: then only a little goes on.
    const bool ascends = place + 1 == directory.size();
    std::uint32_t bound = sorted[ascends ? sorted.size() - sorted.size() / 16 : sorted.size() / 2];
    if (bound == sorted.front()) {
      const auto above = std::upper_bound(sorted.begin(), sorted.end(), bound);
      if (above == sorted.end()) {
        return false;
      }
      bound = *above;
    }
    make_room(directory, directory.size() + 1);
    Block* const upper = allocate(block.capacity);
    std::uint32_t kept = 0;
    for (std::uint32_t index = 0; index < block.count; ++index) {
      const Rest rest = block.rests()[index];
      if (rest.slot >= bound) {
        append(*upper, block.firsts()[index], rest);
      } else {
        block.rests()[kept] = rest;
        block.firsts()[kept++] = block.firsts()[index];
      }
    }
    block.count = kept;
    directory.insert(directory.begin() + static_cast<std::ptrdiff_t>(place) + 1, {upper, bound});
    return true;
  }

  static bool erase_from(Directory& directory, std::uint32_t slot) noexcept {
    std::size_t place = place_of(directory, slot);
    if (!remove(*directory[place].block, slot)) {
      return false;
    }
    if (place > 0 && directory[place].block->count + directory[place - 1].block->count <= block_max / 2) {
      --place;
    }
    if (place + 1 < directory.size() &&
        directory[place].block->count + directory[place + 1].block->count <= block_max / 2) {
      join(directory, place);
    } else {
      directory[place].block = shrunk(directory[place].block);
    }
    return true;
  }

  // Two neighbours into one; without memory for it they stay two, which is as good.
  static void join(Directory& directory, std::size_t place) noexcept {
    Block* const lower = directory[place].block;
    Block* const upper = directory[place + 1].block;
    Block* const joined = try_allocate(lower->count + upper->count + 8);
    if (joined == nullptr) {
      return;
    }
    copy(*lower, *joined);
    for (std::uint32_t index = 0; index < upper->count; ++index) {
      append(*joined, upper->firsts()[index], upper->rests()[index]);
    }
    directory[place].block = joined;
    directory.erase(directory.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    std::free(lower);
    std::free(upper);
  }

  void clear() noexcept {
    if (size_ > 1) {
      if (rest_.slot == in_block) {
        std::free(held_.block);
      } else {
        for (const Entry& entry : *held_.directory) {
          std::free(entry.block);
        }
        delete held_.directory;
      }
    }
    size_ = 0;
  }

  union {
    std::uint64_t first;
    Block* block;
    Directory* directory;
  } held_{};
  Rest rest_{0, 0};  // of the only posting; else its slot says where they are
  std::uint32_t size_ = 0;
};

}  // namespace tamis
