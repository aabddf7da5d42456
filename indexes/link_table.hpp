// The links of a one-dimensional index: predicates, each with an id.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "expression_store.hpp"
#include "probe_table.hpp"
#include "sip_hash.hpp"

namespace tamis {

// A link is a record of words: its predicate's, and last its id. It has a slot while it is there, and is found by what
// it says: no two links say the same.
class LinkTable {
 public:
  static constexpr std::uint32_t none = ProbeTable::none;

  explicit LinkTable(const HashKey& key) : key_(key) {}

  std::uint32_t find(const std::uint32_t* record, std::uint32_t size) const noexcept {
    const std::uint64_t hash = hash_of(record, size);
    return tables_[hash & table_mask].find(tag_of(hash), [&](std::uint32_t slot) {
      const Words words = store_.words(slot);
      return words.size == size && std::memcmp(words.data, record, size * sizeof *record) == 0;
    });
  }

  // Needs a record that is not there. Throws std::bad_alloc, std::overflow_error; nothing has changed then.
  std::uint32_t insert(const std::uint32_t* record, std::uint32_t size) {
    const std::uint64_t hash = hash_of(record, size);
    tables_[hash & table_mask].reserve_one();
    const std::uint32_t slot = store_.put(nobody, record, size);
    tables_[hash & table_mask].insert(tag_of(hash), slot);
    return slot;
  }

  // Needs a slot in use.
  void erase(std::uint32_t slot) noexcept {
    const Words record = store_.words(slot);
    const std::uint64_t hash = hash_of(record.data, record.size);
    tables_[hash & table_mask].erase(tag_of(hash), slot);
    store_.erase(slot);
    try {
      store_.compact(moved_a_step);
    } catch (const std::bad_alloc&) {  // what is dead takes its room a little longer
    }
  }

  Words words(std::uint32_t slot) const noexcept { return store_.words(slot); }
  bool holds(std::uint32_t slot) const noexcept { return store_.holds(slot); }
  std::uint32_t slot_bound() const noexcept { return store_.slot_bound(); }
  std::uint32_t size() const noexcept { return store_.size(); }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = store_.words_bytes() + store_.slots_bytes() + store_.ids_bytes();
    for (const ProbeTable& table : tables_) {
      bytes += sizeof table + table.memory_bytes();
    }
    return bytes;
  }

 private:
  static constexpr std::uint64_t table_mask = 255;
  // The store finds expressions by ids, of which there may be one here for many links: it is told of none.
  static constexpr std::uint32_t nobody = 0;
  // Words, twice the size of most records: so compacting keeps up with what is erased.
  static constexpr std::uint32_t moved_a_step = 16;

  std::uint64_t hash_of(const std::uint32_t* record, std::uint32_t size) const noexcept {
    return sip_hash(std::string_view(reinterpret_cast<const char*>(record), size * sizeof *record), key_);
  }
  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }

  HashKey key_;
  ExpressionStore store_;
  std::array<ProbeTable, 256> tables_;
};

}  // namespace tamis
