// Strings interned to dense 32-bit ids, with reference counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "entry_table.hpp"
#include "probe_table.hpp"
#include "sip_hash.hpp"
#include "string_heap.hpp"

namespace tamis {

// The top eight bits of a string's hash choose one of 256 sub-tables, which grow and shrink alone: at a
// million strings no write moves more than a sub-table of some 4,000 entries or a segment of 32 KiB.
//
// One writer; any number of readers (the const methods) between writes. A view is good until the next write.
class StringTable {
 public:
  static constexpr std::uint32_t none = ProbeTable::none;

  StringTable(HashKey key, std::uint32_t ids_max, std::uint32_t segments_max)
      : key_(key), entries_(ids_max), heap_(segments_max) {}

  // The string's id, with one reference more. Throws std::overflow_error when ids, references or the heap are
  // exhausted, std::bad_alloc; no string, id or count has changed then.
  std::uint32_t intern(std::string_view text) {
    const std::uint64_t hash = sip_hash(text, key_);
    const std::uint32_t known = find(text, hash);
    if (known != none) {
      retain(known, 1);
      return known;
    }
    ProbeTable& table = tables_[hash >> table_shift];
    table.reserve_one();
    const std::uint32_t id = entries_.take();
    try {
      entries_.find(id)->location = heap_.append(text);
    } catch (...) {
      entries_.give_back(id);
      throw;
    }
    table.insert(static_cast<std::uint32_t>(hash), id);
    ++size_;
    ++generation_;
    return id;
  }

  // The string's id, or `none`.
  std::uint32_t find(std::string_view text) const noexcept { return find(text, sip_hash(text, key_)); }

  bool holds(std::uint32_t id) const noexcept { return entries_.find(id) != nullptr; }

  // The string of an id; the data are null if the id is free, and never otherwise.
  std::string_view view(std::uint32_t id) const noexcept {
    const Entry* const entry = entries_.find(id);
    return entry == nullptr ? std::string_view() : heap_.view(entry->location);
  }

  // 0: the id is free.
  std::uint32_t references(std::uint32_t id) const noexcept {
    const Entry* const entry = entries_.find(id);
    return entry == nullptr ? 0 : entry->references;
  }

  // False if the id is free. Throws std::overflow_error rather than wrap the count.
  bool retain(std::uint32_t id, std::uint32_t count) {
    Entry* const entry = entries_.find(id);
    if (entry == nullptr) {
      return false;
    }
    if (count > std::numeric_limits<std::uint32_t>::max() - entry->references) {
      throw std::overflow_error("the string has too many references: a vocabulary counts up to 2**32 - 1");
    }
    entry->references += count;
    return true;
  }

  // Drops one reference, and with the last one the string. False if the id is free.
  bool release(std::uint32_t id) noexcept {
    Entry* const entry = entries_.find(id);
    if (entry == nullptr) {
      return false;
    }
    if (entry->references > 1) {
      --entry->references;
    } else {
      forget(id, entry->location);
    }
    return true;
  }

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t id_bound() const noexcept { return entries_.bound(); }
  std::uint64_t generation() const noexcept { return generation_; }

  // What the table has allocated, without malloc's own headers: it makes few and large requests.
  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = sizeof *this + entries_.memory_bytes() + heap_.memory_bytes();
    for (const ProbeTable& table : tables_) {
      bytes += table.memory_bytes();
    }
    return bytes;
  }

 private:
  static constexpr int table_shift = 56;

  std::uint32_t find(std::string_view text, std::uint64_t hash) const noexcept {
    return tables_[hash >> table_shift].find(static_cast<std::uint32_t>(hash),
                                             [&](std::uint32_t id) { return view(id) == text; });
  }

  void forget(std::uint32_t id, std::uint32_t location) noexcept {
    const std::uint64_t hash = sip_hash(heap_.view(location), key_);
    tables_[hash >> table_shift].erase(static_cast<std::uint32_t>(hash), id);
    entries_.give_back(id);
    --size_;
    ++generation_;
    // A record is alive if its string is found, and found there: a forgotten string may have come back
    // elsewhere.
    heap_.release(location, [this](std::string_view text, std::uint32_t where) -> std::uint32_t* {
      Entry* const owner = entries_.find(find(text));
      return owner != nullptr && owner->location == where ? &owner->location : nullptr;
    });
  }

  HashKey key_;
  std::array<ProbeTable, 256> tables_;
  EntryTable entries_;
  StringHeap heap_;
  std::uint32_t size_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace tamis
