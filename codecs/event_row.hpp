// The entries of one event on their way into the columns of a batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "reasons.hpp"
#include "short_text.hpp"
#include "string_table.hpp"

namespace tamis {

// What an EventBatch holds; `batch.pxd` says what is in it.
struct BatchColumns {
  std::vector<std::uint32_t>* starts;
  std::vector<std::uint32_t>* attributes;
  std::vector<std::uint8_t>* types;
  std::vector<std::uint64_t>* values;
  std::vector<std::uint32_t>* strings;
  std::vector<char>* pool;
  std::vector<std::uint32_t>* weight_starts;
  std::vector<std::uint32_t>* weight_attributes;
  std::vector<double>* weights;
};

// The types of values, as `words.pxd` numbers them.
struct ValueTypes {
  std::uint8_t whole;
  std::uint8_t real;
  std::uint8_t string;
  std::uint8_t boolean;
};

// An event is put together in a row of its own, so one that is given up leaves nothing in the columns, and one that is
// taken is appended at once. What fails returns false, and `reason` says why; nothing here throws.
class EventRow {
 public:
  EventRow(StringTable* strings, bool bound, BatchColumns columns, ValueTypes types)
      : strings_(strings), bound_(bound), columns_(columns), types_(types) {
    grow();
  }

  Reason reason = ACCEPTED;

  bool fail(Reason why) noexcept {
    reason = why;
    return false;
  }

  // So many bytes of messages are to come.
  void expect(std::uint64_t bytes) noexcept { bytes_expected_ += bytes; }

  void abandon() noexcept {
    columns_.weights->resize(weights_start_);
    columns_.weight_attributes->resize(weights_start_);
  }

 protected:
  // Strings and names are still those of the same vocabulary.
  void begin_batch(BatchColumns columns) noexcept {
    columns_ = columns;
    bytes_expected_ = bytes_begun_ = 0;
  }

  void begin_event(std::uint64_t message_bytes) noexcept {
    bytes_begun_ += message_bytes;
    reason = ACCEPTED;
    used_ = 0;
    pool_used_ = 0;
    weights_start_ = columns_.weights->size();
  }

  bool append_event() noexcept {
    return guarded([this] {
      const std::size_t after = columns_.attributes->size() + used_;
      if (after >= batch_bound) {
        return fail(BATCH_FULL);
      }
      reserve(*columns_.starts, 1);
      reserve(*columns_.attributes, used_);
      reserve(*columns_.types, used_);
      reserve(*columns_.values, used_);
      reserve(*columns_.strings, used_);
      reserve(*columns_.pool, pool_used_);
      if (!columns_.weight_starts->empty()) {
        columns_.weight_starts->push_back(static_cast<std::uint32_t>(columns_.weights->size()));
      }
      append(*columns_.attributes, attributes_, used_);
      append(*columns_.types, value_types_, used_);
      append(*columns_.values, values_, used_);
      append(*columns_.strings, string_ids_, used_);
      append(*columns_.pool, pool_, pool_used_);
      columns_.starts->push_back(static_cast<std::uint32_t>(after));
      return true;
    });
  }

  bool put_long(std::uint32_t attribute, std::int64_t value) noexcept {
    return put(attribute, types_.whole, static_cast<std::uint64_t>(value), StringTable::none);
  }

  bool put_double(std::uint32_t attribute, double value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return put(attribute, types_.real, bits, StringTable::none);
  }

  bool put_boolean(std::uint32_t attribute, bool value) noexcept {
    return put(attribute, types_.boolean, value ? 1 : 0, StringTable::none);
  }

  bool put_string(std::uint32_t attribute, const char* text, std::size_t length, const char* end) noexcept {
    const std::size_t place = pool_used_;
    const std::size_t after = place + sizeof(std::uint32_t) + length;
    if (after + ShortText::size > pool_.size() && !grow_pool(after)) {
      return false;
    }
    const bool in_place = length <= ShortText::size && static_cast<std::size_t>(end - text) >= ShortText::size;
    const ShortText shortened = length <= ShortText::size ? ShortText::of(text, length, end) : ShortText();
    const std::uint32_t id = string_id(text, length, shortened);
    if (id == failed_id && reason != ACCEPTED) {
      return false;
    }
    const auto size = static_cast<std::uint32_t>(length);
    char* const copy = pool_.data() + place;
    std::memcpy(copy, &size, sizeof(size));
    if (in_place) {
      std::memcpy(copy + sizeof(size), &shortened, ShortText::size);  // what is too much is overwritten
    } else if (length > 0) {
      std::memcpy(copy + sizeof(size), text, length);
    }
    pool_used_ = after;
    return put(attribute, types_.string, columns_.pool->size() + place, id);
  }

  bool put_weight(std::uint32_t attribute, double weight) noexcept {
    return guarded([&] {
      if (columns_.weight_starts->empty()) {
        columns_.weight_starts->assign(columns_.starts->size(), 0);
      }
      reserve(*columns_.weights, 1);
      columns_.weight_attributes->push_back(attribute);
      columns_.weights->push_back(weight);
      return true;
    });
  }

  template <class Work>
  bool guarded(Work work) noexcept {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return fail(OUT_OF_MEMORY);
    } catch (const std::exception&) {  // a vocabulary or a vector that can hold no more
      return fail(BATCH_FULL);
    }
  }

 private:
  // A string that was looked up: many events have the same few.
  struct alignas(32) Known {
    ShortText text;
    std::uint32_t length = unknown;
    std::uint32_t id = 0;
  };

  static constexpr std::uint32_t unknown = 0xFFFFFFFF;
  static constexpr std::uint32_t batch_bound = 0xFFFFFFFF;
  static constexpr std::uint32_t failed_id = StringTable::none;
  static constexpr int known_bits = 10;

  // One entry. The byte goes last: to the compiler it may change anything, and all would be loaded again.
  [[gnu::always_inline]] bool put(std::uint32_t attribute, std::uint8_t type, std::uint64_t bits,
                                  std::uint32_t string) noexcept {
    const std::size_t place = used_;
    if (place == capacity_ && !grow_row()) {
      return false;
    }
    attributes_[place] = attribute;
    values_[place] = bits;
    string_ids_[place] = string;
    used_ = place + 1;
    value_types_[place] = type;
    return true;
  }

  // Room for so many more; if there is none, at once for all that the messages to come will need if they are like those
  // before. A batch is made anew for each poll, so growing it step by step would cost more than filling it.
  template <class Held>
  void reserve(std::vector<Held>& column, std::size_t more) {
    const std::size_t wanted = column.size() + more;
    if (wanted > column.capacity()) {
      const double ratio = static_cast<double>(bytes_expected_) / static_cast<double>(bytes_begun_ + 1);
      column.reserve(static_cast<std::size_t>(static_cast<double>(wanted) * std::max(1.5, ratio * 1.05)));
    }
  }

  // Needs the room.
  template <class Held>
  static void append(std::vector<Held>& column, const std::vector<Held>& row, std::size_t count) noexcept {
    column.insert(column.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void grow() {
    const std::size_t size = attributes_.empty() ? 64 : attributes_.size() * 2;
    attributes_.resize(size);
    value_types_.resize(size);
    values_.resize(size);
    string_ids_.resize(size);
    capacity_ = size;
  }

  [[gnu::noinline]] bool grow_row() noexcept {
    return guarded([this] { return grow(), true; });
  }

  [[gnu::noinline]] bool grow_pool(std::size_t size) noexcept {
    return guarded([this, size] { return pool_.resize((size + ShortText::size) * 2), true; });
  }

  // The id of a string in the vocabulary; `failed_id`, and a reason, without memory.
  std::uint32_t string_id(const char* text, std::size_t length, const ShortText& shortened) noexcept {
    if (length > ShortText::size) {
      return looked_up(text, length);
    }
    Known& known = known_[known_place(shortened)];
    if (known.length != length || !(known.text == shortened)) {
      const std::uint32_t found = looked_up(text, length);
      if (reason != ACCEPTED) {
        return failed_id;
      }
      known = Known{shortened, static_cast<std::uint32_t>(length), found};
    }
    return known.id;
  }

  [[gnu::noinline]] std::uint32_t looked_up(const char* text, std::size_t length) noexcept {
    std::uint32_t found = failed_id;
    guarded([&] {
      const std::string_view whole(text, length);
      found = bound_ ? strings_->find(whole) : strings_->intern(whole);
      return true;
    });
    return found;
  }

  // Whoever knows it can only make strings take each other's places.
  static std::size_t known_place(const ShortText& text) noexcept {
    const std::uint64_t mixed = (text.low ^ (text.high * 0x9E3779B97F4A7C15)) * 0xFF51AFD7ED558CCD;
    return static_cast<std::size_t>(mixed >> (64 - known_bits));
  }

  StringTable* strings_;
  bool bound_;
  BatchColumns columns_;
  ValueTypes types_;
  std::uint64_t bytes_expected_ = 0;
  std::uint64_t bytes_begun_ = 0;
  std::size_t used_ = 0;
  std::size_t capacity_ = 0;
  std::size_t pool_used_ = 0;
  std::size_t weights_start_ = 0;
  // The entries of the event in hand, `used_` of them.
  std::vector<std::uint32_t> attributes_;
  std::vector<std::uint8_t> value_types_;
  std::vector<std::uint64_t> values_;
  std::vector<std::uint32_t> string_ids_;
  std::vector<char> pool_;  // of its strings, `pool_used_` bytes
  std::vector<Known> known_ = std::vector<Known>(std::size_t{1} << known_bits);
};

}  // namespace tamis
