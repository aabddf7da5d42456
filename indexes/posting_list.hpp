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

namespace tamis {

// Bits that an event must have for the expression to hold. An event's bits are compared with those of many postings in a
// row, so most of them are dropped at less than a nanosecond, without a look at the expression.
using Signature = std::uint64_t;

// Of a posting whose expression has others, which the same event may lead to. No event's bit.
constexpr Signature one_of_several = Signature{1} << 63;
constexpr std::uint32_t signature_bits = 63;

// Room for so many items, such that asking again and again costs no more than adding them.
template <class Item>
void make_room(std::vector<Item>& items, std::size_t count) {
  if (items.capacity() < count) {
    items.reserve(std::max(count, 2 * items.capacity()));
  }
}

// Slots and signatures lie side by side. A list of one costs nothing beside its 16 bytes; up to 512 are in one block;
// longer lists are cut into blocks by slots, so that an insertion or deletion touches one block, however long the list.
// Within a block there is no order.
class PostingList {
 public:
  struct Block {
    std::uint32_t capacity;
    std::uint32_t count;

    Signature* signatures() noexcept { return reinterpret_cast<Signature*>(this + 1); }
    const Signature* signatures() const noexcept { return reinterpret_cast<const Signature*>(this + 1); }
    std::uint32_t* slots() noexcept { return reinterpret_cast<std::uint32_t*>(signatures() + capacity); }
    const std::uint32_t* slots() const noexcept { return reinterpret_cast<const std::uint32_t*>(signatures() + capacity); }
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
    std::swap(slot_, other.slot_);
    std::swap(size_, other.size_);
  }

  std::uint32_t size() const noexcept { return size_; }

  // Throws std::bad_alloc; nothing has changed then.
  void insert(std::uint32_t slot, Signature signature) {
    if (size_ == 0) {
      held_.signature = signature;
      slot_ = slot;
    } else if (size_ == 1) {
      Block* const block = allocate(small_capacity);
      append(*block, slot_, held_.signature);
      append(*block, slot, signature);
      held_.block = block;
      slot_ = in_block;
    } else if (slot_ == in_block && size_ < block_max) {
      append(*with_room(held_.block), slot, signature);
    } else {
      if (slot_ == in_block) {
        auto directory = std::make_unique<Directory>(1, Entry{held_.block, 0});
        try {
          insert_into(*directory, slot, signature);
        } catch (...) {
          held_.block = directory->front().block;  // it may have grown
          throw;
        }
        held_.directory = directory.release();
        slot_ = in_directory;
      } else {
        insert_into(*held_.directory, slot, signature);
      }
    }
    ++size_;
  }

  // Whether there was one. Of several under this slot, one goes.
  bool erase(std::uint32_t slot) noexcept {
    if (size_ == 0 || (size_ == 1 && slot_ != slot)) {
      return false;
    }
    if (size_ == 1) {
      size_ = 0;
      return true;
    }
    if (slot_ == in_block) {
      if (!remove(*held_.block, slot)) {
        return false;
      }
    } else if (!erase_from(*held_.directory, slot)) {
      return false;
    }
    --size_;
    if (slot_ == in_directory && held_.directory->size() == 1) {
      Directory* const directory = held_.directory;
      held_.block = directory->front().block;
      slot_ = in_block;
      delete directory;
    }
    if (slot_ == in_block) {
      if (size_ == 1) {
        Block* const block = held_.block;
        slot_ = block->slots()[0];
        held_.signature = block->signatures()[0];
        std::free(block);
      } else {
        held_.block = shrunk(held_.block);
      }
    }
    return true;
  }

  // `look(signatures, slots, count)` for each run of postings.
  template <class Look>
  void each_run(Look look) const {
    if (size_ <= 1) {
      if (size_ == 1) {
        look(&held_.signature, &slot_, 1U);
      }
    } else if (slot_ == in_block) {
      look(static_cast<const Block*>(held_.block)->signatures(), static_cast<const Block*>(held_.block)->slots(), size_);
    } else {
      for (const Entry& entry : *held_.directory) {
        const Block* const block = entry.block;
        look(block->signatures(), block->slots(), block->count);
      }
    }
  }

  void prefetch() const noexcept {
    if (size_ > 1) {
      __builtin_prefetch(held_.block);
    }
  }

  // Beside the list itself.
  std::size_t memory_bytes() const noexcept {
    if (size_ <= 1) {
      return 0;
    }
    if (slot_ == in_block) {
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
  // What `slot_` says where the postings are elsewhere.
  static constexpr std::uint32_t in_block = 0;
  static constexpr std::uint32_t in_directory = 1;

  // The slots of a block are not below `first`, and below that of the next block.
  struct Entry {
    Block* block;
    std::uint32_t first;
  };
  using Directory = std::vector<Entry>;

  static std::size_t bytes_of(std::uint32_t capacity) noexcept {
    return sizeof(Block) + capacity * (sizeof(Signature) + sizeof(std::uint32_t));
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

  static void append(Block& block, std::uint32_t slot, Signature signature) noexcept {
    block.signatures()[block.count] = signature;
    block.slots()[block.count] = slot;
    ++block.count;
  }

  static void copy(const Block& from, Block& to) noexcept {
    std::memcpy(to.signatures(), from.signatures(), from.count * sizeof(Signature));
    std::memcpy(to.slots(), from.slots(), from.count * sizeof(std::uint32_t));
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
    std::uint32_t* const end = block.slots() + block.count;
    std::uint32_t* const found = std::find(block.slots(), end, slot);
    if (found == end) {
      return false;
    }
    --block.count;
    *found = block.slots()[block.count];
    block.signatures()[found - block.slots()] = block.signatures()[block.count];
    return true;
  }

  static std::size_t place_of(const Directory& directory, std::uint32_t slot) noexcept {
    const auto above = std::upper_bound(directory.begin(), directory.end(), slot,
                                        [](std::uint32_t wanted, const Entry& entry) { return wanted < entry.first; });
    return static_cast<std::size_t>(above - directory.begin()) - 1;
  }

  static void insert_into(Directory& directory, std::uint32_t slot, Signature signature) {
    std::size_t place = place_of(directory, slot);
    if (directory[place].block->count >= block_max && divide(directory, place)) {
      place = place_of(directory, slot);
    }
    append(*with_room(directory[place].block), slot, signature);
  }

  // Moves the upper half of a block into one of its own. False if all are of one slot.
  static bool divide(Directory& directory, std::size_t place) {
    Block& block = *directory[place].block;
    std::vector<std::uint32_t> sorted(block.slots(), block.slots() + block.count);
    std::sort(sorted.begin(), sorted.end());
    // Slots that ascend fill their blocks: only a little goes on.
    const bool ascends = place + 1 == directory.size();
    std::uint32_t first = sorted[ascends ? sorted.size() - sorted.size() / 16 : sorted.size() / 2];
    if (first == sorted.front()) {
      const auto above = std::upper_bound(sorted.begin(), sorted.end(), first);
      if (above == sorted.end()) {
        return false;
      }
      first = *above;
    }
    directory.reserve(directory.size() + 1);
    Block* const upper = allocate(block.capacity);
    std::uint32_t kept = 0;
    for (std::uint32_t index = 0; index < block.count; ++index) {
      const std::uint32_t slot = block.slots()[index];
      if (slot >= first) {
        append(*upper, slot, block.signatures()[index]);
      } else {
        block.slots()[kept] = slot;
        block.signatures()[kept++] = block.signatures()[index];
      }
    }
    block.count = kept;
    directory.insert(directory.begin() + static_cast<std::ptrdiff_t>(place) + 1, {upper, first});
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
      append(*joined, upper->slots()[index], upper->signatures()[index]);
    }
    directory[place].block = joined;
    directory.erase(directory.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    std::free(lower);
    std::free(upper);
  }

  void clear() noexcept {
    if (size_ > 1) {
      if (slot_ == in_block) {
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
    Signature signature;
    Block* block;
    Directory* directory;
  } held_{};
  std::uint32_t slot_ = 0;  // of the only posting; else where they are
  std::uint32_t size_ = 0;
};

}  // namespace tamis
