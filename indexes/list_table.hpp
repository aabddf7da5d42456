// Postings by a key of 128 bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "ask_for.hpp"
#include "posting_list.hpp"
#include "probe_table.hpp"

namespace tamis {

struct ListKey {
  std::uint64_t high;
  std::uint64_t low;

  bool operator==(const ListKey& other) const = default;
};

// Keys have stable numbers while they are in use. What is here comes from subscribers, so the hash has a secret. 256
// sub-tables grow and shrink alone, and entries lie in chunks that never move and are given back when nothing is left
// in them: no insertion takes long.
class ListTable {
 public:
  static constexpr std::uint32_t none = ProbeTable::none;

  ListTable() {
    std::random_device random;
    for (std::uint64_t& secret : secrets_) {
      secret = std::uint64_t{random()} << 32 | random() | 1;
    }
  }

  std::uint32_t find(const ListKey& key) const noexcept {
    const std::uint64_t hash = hash_of(key);
    return tables_[hash & table_mask].find(tag_of(hash),
                                           [&](std::uint32_t number) { return entry(number).key == key; });
  }

  // Brings nearer what `find` begins with.
  void prefetch(const ListKey& key) const noexcept {
    const std::uint64_t hash = hash_of(key);
    tables_[hash & table_mask].prefetch(tag_of(hash));
  }

  // Brings nearer what insertions under these keys would wait for: where a key is looked up, what is there, its
  // postings, and where another one goes. Each is asked for when the one before it may be there for all.
  void bring_near(const std::vector<ListKey>& keys) const noexcept {
    static constexpr std::size_t at_once = 64;
    std::array<const Entry*, at_once> found;
    for (std::size_t begin = 0; begin < keys.size(); begin += at_once) {
      const std::size_t count = std::min(at_once, keys.size() - begin);
      for (std::size_t index = 0; index < count; ++index) {
        prefetch(keys[begin + index]);
      }
      std::size_t entries = 0;
      for (std::size_t index = 0; index < count; ++index) {
        const std::uint64_t hash = hash_of(keys[begin + index]);
        // Most likely what has this tag has the key.
        const std::uint32_t number = tables_[hash & table_mask].find(tag_of(hash), [](std::uint32_t) { return true; });
        if (number != none) {
          found[entries++] = &entry(number);
          ask_for(&entry(number));
          ask_for(&entry(number).uses);
        }
      }
      for (std::size_t index = 0; index < entries; ++index) {
        found[index]->list.prefetch();
      }
      for (std::size_t index = 0; index < entries; ++index) {
        found[index]->list.prefetch_end();
      }
    }
  }

  PostingList& operator[](std::uint32_t number) noexcept { return entry(number).list; }
  const PostingList& operator[](std::uint32_t number) const noexcept { return entry(number).list; }
  // By how many the key is used otherwise; it stays while this is not 0.
  void add_uses(std::uint32_t number, int change) noexcept { entry(number).uses += static_cast<std::uint32_t>(change); }
  std::uint32_t uses(std::uint32_t number) const noexcept { return entry(number).uses; }

  // The number of a key; a new one is there until `let_go`. Throws std::bad_alloc; nothing has changed then.
  std::uint32_t take(const ListKey& key) {
    const std::uint32_t known = find(key);
    if (known != none) {
      return known;
    }
    const std::uint64_t hash = hash_of(key);
    ProbeTable& table = tables_[hash & table_mask];
    table.reserve_one();
    const std::uint32_t number = free_number();
    entry(number).key = key;
    table.insert(tag_of(hash), number);
    ++size_;
    return number;
  }

  // Forgets the key if it is used for nothing any more.
  void let_go(std::uint32_t number) noexcept {
    Entry& gone = entry(number);
    if (gone.list.size() > 0 || gone.uses > 0) {
      return;
    }
    const std::uint64_t hash = hash_of(gone.key);
    tables_[hash & table_mask].erase(tag_of(hash), number);
    --size_;
    give_back(number);
  }

  std::uint32_t size() const noexcept { return size_; }

  template <class Look>
  void each(Look look) const {
    for (const std::unique_ptr<Chunk>& chunk : chunks_) {
      for (std::uint32_t index = 0; chunk != nullptr && index < chunk_entries; ++index) {
        if (chunk->entries[index].list.size() > 0) {
          look(chunk->entries[index].list);
        }
      }
    }
  }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = (chunks_.size() - absent_.size()) * sizeof(Chunk) + chunks_.capacity() * sizeof(chunks_[0]) +
                        (roomy_.capacity() + absent_.capacity()) * sizeof(std::uint32_t) + listed_.capacity() / 8;
    for (const ProbeTable& table : tables_) {
      bytes += table.memory_bytes();
    }
    each([&](const PostingList& list) { bytes += list.memory_bytes(); });
    return bytes;
  }

 private:
  static constexpr std::uint64_t table_mask = 255;
  static constexpr std::uint32_t chunk_entries = 64;

  struct Entry {
    ListKey key{};
    PostingList list;
    std::uint32_t uses = 0;
  };

  struct Chunk {
    std::uint64_t free = ~std::uint64_t{0};  // a bit an entry
    std::array<Entry, chunk_entries> entries;
  };

  Entry& entry(std::uint32_t number) noexcept {
    return chunks_[number / chunk_entries]->entries[number % chunk_entries];
  }
  const Entry& entry(std::uint32_t number) const noexcept {
    return chunks_[number / chunk_entries]->entries[number % chunk_entries];
  }

  std::uint64_t hash_of(const ListKey& key) const noexcept {
    std::uint64_t hash = folded(key.high ^ secrets_[0], key.low ^ secrets_[1]);
    return folded(hash ^ secrets_[2], secrets_[1]);
  }

  static std::uint64_t folded(std::uint64_t a, std::uint64_t b) noexcept {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }

  std::uint32_t free_number() {
    while (!roomy_.empty() && (chunks_[roomy_.back()] == nullptr || chunks_[roomy_.back()]->free == 0)) {
      listed_[roomy_.back()] = false;
      roomy_.pop_back();
    }
    if (roomy_.empty()) {
      add_chunk();
    }
    Chunk& chunk = *chunks_[roomy_.back()];
    const auto index = static_cast<std::uint32_t>(std::countr_zero(chunk.free));
    chunk.free &= chunk.free - 1;
    return roomy_.back() * chunk_entries + index;
  }

  void add_chunk() {
    auto chunk = std::make_unique<Chunk>();
    if (absent_.empty()) {
      make_room(roomy_, chunks_.size() + 1);
      make_room(absent_, chunks_.size() + 1);
      make_room(chunks_, chunks_.size() + 1);
      listed_.push_back(false);
      chunks_.push_back(std::move(chunk));
      list(static_cast<std::uint32_t>(chunks_.size() - 1));
    } else {
      chunks_[absent_.back()] = std::move(chunk);
      list(absent_.back());
      absent_.pop_back();
    }
  }

  void give_back(std::uint32_t number) noexcept {
    const std::uint32_t place = number / chunk_entries;
    entry(number).key = ListKey{};
    chunks_[place]->free |= std::uint64_t{1} << (number % chunk_entries);
    if (size_ == 0) {
      for (auto* const places : {&roomy_, &absent_}) {
        std::vector<std::uint32_t>().swap(*places);
      }
      std::vector<std::unique_ptr<Chunk>>().swap(chunks_);
      std::vector<bool>().swap(listed_);
    } else if (~chunks_[place]->free == 0) {
      chunks_[place].reset();
      absent_.push_back(place);  // there is room
    } else {
      list(place);
    }
  }

  void list(std::uint32_t place) noexcept {
    if (!listed_[place]) {
      listed_[place] = true;
      roomy_.push_back(place);  // there is room
    }
  }

  std::array<std::uint64_t, 3> secrets_;
  std::array<ProbeTable, 256> tables_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::uint32_t> absent_;  // places without a chunk
  std::vector<std::uint32_t> roomy_;   // places of chunks with free entries, and some others
  std::vector<bool> listed_;           // by places: whether they are among these
  std::uint32_t size_ = 0;
};

}  // namespace tamis
