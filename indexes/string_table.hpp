// Strings interned to dense 32-bit ids, with reference counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "probe_table.hpp"
#include "sip_hash.hpp"
#include "slot_table.hpp"
#include "string_heap.hpp"

namespace tamis {

// Where a string lies and how many references it has.
struct Entry {
  std::uint32_t location = 0;
  std::uint32_t references = 0;

  bool vacant() const noexcept { return references == 0; }
};

// The strings that a table held once, by their ids: any thread may read them while the table is written.
class FrozenStrings {
 public:
  FrozenStrings() : entries_(0), heap_(0) {}
  FrozenStrings(const SlotTable<Entry>& entries, const StringHeap& heap) : entries_(entries), heap_(heap) {}

  std::uint32_t id_bound() const noexcept { return entries_.bound(); }

  // The data are null if the id was free.
  std::string_view view(std::uint32_t id) const noexcept {
    const Entry* const entry = entries_.find(id);
    return entry == nullptr ? std::string_view() : heap_.view(entry->location);
  }

 private:
  SlotTable<Entry> entries_;
  StringHeap heap_;
};

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
  std::uint32_t intern(std::string_view text) { return intern_with(text, 1); }

  // The same with so many references more, at least one.
  std::uint32_t intern_with(std::string_view text, std::uint32_t references) {
    const std::uint64_t hash = sip_hash(text, key_);
    const std::uint32_t known = find(text, hash);
    if (known != none) {
      retain(known, references);
      return known;
    }
    tables_[hash >> table_shift].reserve_one();
    const std::uint32_t id = take(references);
    add(id, text, hash);
    return id;
  }

  // Puts a string under an id that is free, with so many references, at least one; false if the string is there
  // already. Throws std::overflow_error, std::bad_alloc; nothing has changed then.
  bool restore(std::uint32_t id, std::string_view text, std::uint32_t references) {
    const std::uint64_t hash = sip_hash(text, key_);
    if (find(text, hash) != none) {
      return false;
    }
    tables_[hash >> table_shift].reserve_one();
    entries_.take_at(id, Entry{0, references});
    add(id, text, hash);
    return true;
  }

  // Makes room where so many strings more will soon be found. Throws std::bad_alloc, with no string changed.
  void reserve(std::uint32_t count) {
    for (ProbeTable& table : tables_) {
      table.reserve(count / tables_.size());  // one that gets more than its share has a sixth to spare
    }
  }

  // The string's id, or `none`.
  std::uint32_t find(std::string_view text) const noexcept { return find(text, sip_hash(text, key_)); }

  bool holds(std::uint32_t id) const noexcept { return entries_.find(id) != nullptr; }

  // The string of an id; the data are null if the id is free, and never otherwise.
  std::string_view view(std::uint32_t id) const noexcept {
    const Entry* const entry = entries_.find(id);
    return entry == nullptr ? std::string_view() : heap_.view(entry->location);
  }

  // Asks for the memory of a string that will soon be looked at: who reads many in any order waits for nothing else.
  void prefetch(std::uint32_t id) const noexcept {
    const Entry* const entry = entries_.find(id);
    if (entry != nullptr) {
      heap_.prefetch(entry->location);
    }
  }

  // 0: the id is free.
  std::uint32_t references(std::uint32_t id) const noexcept {
    const Entry* const entry = entries_.find(id);
    return entry == nullptr ? 0 : entry->references;
  }

  // False if the id is free. Throws std::overflow_error rather than wrap the count.
  bool retain(std::uint32_t id, std::uint32_t count) {
    const Entry* const entry = entries_.find(id);
    if (entry == nullptr) {
      return false;
    }
    if (count > std::numeric_limits<std::uint32_t>::max() - entry->references) {
      throw std::overflow_error("the string has too many references: a vocabulary counts up to 2**32 - 1");
    }
    entries_.at(id).references += count;
    return true;
  }

  // Drops one reference, and with the last one the string. False if the id is free.
  bool release(std::uint32_t id) noexcept {
    if (entries_.find(id) == nullptr) {
      return false;
    }
    try {
      entries_.at(id);
    } catch (const std::bad_alloc&) {
      return true;  // a reference too many: the string stays, and that is all
    }
    Entry& entry = entries_.owned(id);
    if (entry.references > 1) {
      --entry.references;
    } else {
      forget(id, entry.location);
    }
    return true;
  }

  FrozenStrings freeze() const { return FrozenStrings(entries_, heap_); }

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

  std::uint32_t take(std::uint32_t references) {
    try {
      return entries_.take(Entry{0, references});
    } catch (const std::overflow_error&) {
      throw std::overflow_error("the vocabulary is full: it holds as many distinct strings as it has ids; "
                                "release strings, or use one more vocabulary");
    }
  }

  // Completes an entry that was just taken, or gives it back. Needs room for it in the hash's sub-table.
  void add(std::uint32_t id, std::string_view text, std::uint64_t hash) {
    try {
      entries_.owned(id).location = heap_.append(text);
    } catch (...) {
      entries_.give_back(id);
      throw;
    }
    tables_[hash >> table_shift].insert(static_cast<std::uint32_t>(hash), id);
    ++size_;
    ++generation_;
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
      const std::uint32_t id = find(text);
      const Entry* const owner = entries_.find(id);
      return owner != nullptr && owner->location == where ? &entries_.at(id).location : nullptr;
    });
  }

  HashKey key_;
  std::array<ProbeTable, 256> tables_;
  SlotTable<Entry> entries_;
  StringHeap heap_;
  std::uint32_t size_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace tamis
