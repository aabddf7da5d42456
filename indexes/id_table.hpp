// From the ids that subscriptions have outside to the slots they have in an index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>

#include "probe_table.hpp"

namespace tamis {

// Ids are scrambled by a bijection, so equal tags are equal ids. 256 sub-tables grow and shrink alone: at a million ids
// no write moves more than some 4,000 entries.
class IdTable {
 public:
  static constexpr std::uint32_t none = ProbeTable::none;

  // The slot of an id, or `none`.
  std::uint32_t find(std::uint32_t id) const noexcept {
    const std::uint32_t tag = scrambled(id);
    return tables_[tag & table_mask].find(tag, [](std::uint32_t) { return true; });
  }

  // Makes room for one more id. Throws std::bad_alloc, with the table unchanged.
  void reserve_one(std::uint32_t id) { tables_[scrambled(id) & table_mask].reserve_one(); }

  // Makes room for these ids, whether they are there or not. Throws std::bad_alloc.
  void reserve(const std::uint32_t* ids, std::uint32_t count) {
    std::array<std::uint32_t, 256> more{};
    for (std::uint32_t index = 0; index < count; ++index) {
      ++more[scrambled(ids[index]) & table_mask];
    }
    for (std::uint32_t table = 0; table < tables_.size(); ++table) {
      tables_[table].reserve(more[table]);
    }
  }

  // Needs room, and an id that is not there.
  void insert(std::uint32_t id, std::uint32_t slot) noexcept {
    const std::uint32_t tag = scrambled(id);
    tables_[tag & table_mask].insert(tag, slot);
  }

  // Needs room, and ids that are not there, as `insert` does. Sorted by sub-table first: each then stays in the cache
  // while it is filled, and a million ids take 15 ns each instead of 100.
  void insert_all(const std::uint32_t* ids, const std::uint32_t* slots, std::uint32_t count) noexcept {
    const std::unique_ptr<Pair[]> sorted(new (std::nothrow) Pair[count]);
    if (sorted == nullptr) {
      for (std::uint32_t index = 0; index < count; ++index) {
        insert(ids[index], slots[index]);
      }
      return;
    }
    std::array<std::uint32_t, 256> ends{};
    for (std::uint32_t index = 0; index < count; ++index) {
      ++ends[scrambled(ids[index]) & table_mask];
    }
    std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), 0U);
    for (std::uint32_t index = 0; index < count; ++index) {
      const std::uint32_t tag = scrambled(ids[index]);
      sorted[ends[tag & table_mask]++] = Pair{tag, slots[index]};
    }
    for (std::uint32_t index = 0; index < count; ++index) {
      tables_[sorted[index].tag & table_mask].insert(sorted[index].tag, sorted[index].slot);
    }
  }

  // Needs an id that is there, with its slot.
  void replace(std::uint32_t id, std::uint32_t slot, std::uint32_t by) noexcept {
    const std::uint32_t tag = scrambled(id);
    tables_[tag & table_mask].replace(tag, slot, by);
  }

  // Needs an id that is there, with its slot.
  void erase(std::uint32_t id, std::uint32_t slot) noexcept {
    const std::uint32_t tag = scrambled(id);
    tables_[tag & table_mask].erase(tag, slot);
  }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = sizeof *this;
    for (const ProbeTable& table : tables_) {
      bytes += table.memory_bytes();
    }
    return bytes;
  }

 private:
  // A sub-table is chosen by the lowest bits, since the highest choose the place in it.
  static constexpr std::uint32_t table_mask = 255;

  // Each step can be undone, so no two ids share a tag.
  static std::uint32_t scrambled(std::uint32_t id) noexcept {
    id ^= id >> 16;
    id *= 0x7feb352dU;
    id ^= id >> 15;
    id *= 0x846ca68bU;
    id ^= id >> 16;
    return id;
  }

  struct Pair {
    std::uint32_t tag;
    std::uint32_t slot;
  };

  std::array<ProbeTable, 256> tables_;
};

}  // namespace tamis
