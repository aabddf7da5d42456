// Where decoders put what they read: one event at a time, into the columns of a batch, or nowhere.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "attribute_names.hpp"
#include "reasons.hpp"
#include "short_text.hpp"
#include "string_table.hpp"
#include "utf8.hpp"

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

struct SinkBounds {
  std::uint32_t depth;
  std::uint32_t items;
  std::uint32_t attributes;
  std::uint32_t string_bytes;
  std::uint32_t name_bytes;
};

// What was left out of events.
struct LeftOut {
  std::uint64_t reserved = 0;
  std::uint64_t collisions = 0;
  std::uint64_t arrays = 0;
  std::uint64_t binaries = 0;

  void add(const LeftOut& other) noexcept {
    reserved += other.reserved;
    collisions += other.collisions;
    arrays += other.arrays;
    binaries += other.binaries;
  }
};

// Nothing here throws: what fails returns false (or no node), and `reason` says why. An event that fails leaves no trace
// in the columns; names and strings that only it had may stay in a vocabulary that is the batch's own.
class EventSink {
 public:
  static constexpr std::uint32_t no_node = AttributeNames::none;

  EventSink(StringTable* strings, bool bound, HashKey key, SinkBounds limits, BatchColumns columns, ValueTypes types)
      : bounds(limits), names(strings, bound, key, limits.name_bytes), strings_(strings), bound_(bound),
        columns_(columns), types_(types) {
    grow();
  }

  // Begins another batch with the same vocabulary, which has not changed: what names and strings are stays known. False
  // if that has become too much, and a new sink is better.
  bool renew(BatchColumns columns) noexcept {
    columns_ = columns;
    left_out = LeftOut();
    bytes_expected_ = bytes_begun_ = 0;
    return event_ < events_max && names.size() < names_max;
  }

  SinkBounds bounds;
  Reason reason = ACCEPTED;
  const char* stopped = nullptr;  // where in the message
  LeftOut left_out;       // of all events that were taken
  LeftOut left_out_here;  // of the event in hand
  // The id and time that the event in hand has in its own fields, if it has.
  std::string_view id;
  std::int64_t time = 0;
  bool has_id = false;
  bool has_time = false;
  AttributeNames names;

  // So many bytes of messages are to come.
  void expect(std::uint64_t bytes) noexcept { bytes_expected_ += bytes; }

  void begin(std::uint64_t message_bytes) noexcept {
    names.begin(++event_);
    bytes_begun_ += message_bytes;
    reason = ACCEPTED;
    left_out_here = LeftOut();
    has_id = has_time = false;
    items_ = 0;
    counted_ = 0;
    used_ = 0;
    pool_used_ = 0;
    weights_start_ = columns_.weights->size();
  }

  void abandon() noexcept {
    columns_.weights->resize(weights_start_);
    columns_.weight_attributes->resize(weights_start_);
  }

  bool finish() noexcept {
    return guarded([this] {
      const std::size_t after = columns_.attributes->size() + used_;
      if (after >= AttributeNames::none) {
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
      left_out.add(left_out_here);
      return true;
    });
  }

  bool fail(Reason why) noexcept {
    reason = why;
    return false;
  }

  // So many items more: members, entries, elements.
  bool add_items(std::uint64_t count) noexcept {
    if (count > bounds.items - items_) {
      return fail(TOO_MANY_ITEMS);
    }
    items_ += static_cast<std::uint32_t>(count);
    return true;
  }

  // A key of an object or map in `parent`. `end` is where memory that may be read ends.
  std::uint32_t key(std::uint32_t parent, const char* text, std::size_t length, const char* end) noexcept {
    const std::uint32_t guessed = names.guessed_key(parent, text, length, end);
    return guessed != no_node ? guessed : other_key(parent, text, length, end);
  }

  // The key that is expected here, up to the next quotation mark; none, and no failure, if another one is here.
  std::uint32_t quoted_key(std::uint32_t parent, const char* text, const char* end, std::size_t* length) noexcept {
    return names.quoted_key(parent, text, end, length);
  }

  // A record's field, which may be asked for again and again.
  std::uint32_t field(std::uint32_t parent, const char* text, std::size_t length) noexcept {
    std::uint32_t found = no_node;
    guarded([&] {
      found = names.field(parent, std::string_view(text, length), &reason);
      return true;
    });
    return found;
  }

  // A node's attribute in the batch's vocabulary; `none` if nobody asks about it, or if it fails.
  std::uint32_t id_of(std::uint32_t node) noexcept {
    const std::uint32_t found = attribute(node);
    return found == no_node ? StringTable::none : names[found].id;
  }

  // From here on, until it is told otherwise, the field at a node is (with others) what `flag` says.
  bool mark(std::uint32_t node, std::uint8_t flag, bool marked) noexcept {
    const std::uint32_t found = attribute(node);
    if (found == no_node) {
      return false;
    }
    std::uint8_t& flags = names[found].flags;
    flags = static_cast<std::uint8_t>(marked ? flags | flag : flags & ~flag);
    return true;
  }

  bool add_long(std::uint32_t node, std::int64_t value) noexcept {
    Attribute* const attribute = admitted(node);
    return attribute == nullptr ? reason == ACCEPTED : put_long(*attribute, value);
  }

  bool add_double(std::uint32_t node, double value) noexcept {
    if (std::isnan(value)) {
      return true;
    }
    Attribute* const attribute = admitted(node);
    if (attribute == nullptr) {
      return reason == ACCEPTED;
    }
    // A double that is integral and fits a long becomes one, so that equal numbers have equal bits.
    if (value >= -9223372036854775808.0 && value < 9223372036854775808.0) {
      const auto whole = static_cast<std::int64_t>(value);
      if (static_cast<double>(whole) == value) {
        return put_long(*attribute, whole);
      }
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return (attribute->flags & Attribute::kept) == 0 || put(attribute->id, types_.real, bits, StringTable::none);
  }

  bool add_boolean(std::uint32_t node, bool value) noexcept {
    Attribute* const attribute = admitted(node);
    if (attribute == nullptr) {
      return reason == ACCEPTED;
    }
    return (attribute->flags & Attribute::kept) == 0 ||
           put(attribute->id, types_.boolean, value ? 1 : 0, StringTable::none);
  }

  // Of valid UTF-8, which stays where it is until the event ends.
  bool add_string(std::uint32_t node, const char* text, std::size_t length, const char* end) noexcept {
    Attribute* const attribute = admitted(node);
    if (attribute == nullptr) {
      return reason == ACCEPTED;
    }
    if ((attribute->flags & Attribute::is_id) != 0) {
      id = std::string_view(text, length);
      has_id = true;
    }
    return (attribute->flags & Attribute::kept) == 0 || put_string(attribute->id, text, length, end);
  }

  bool add_weight(std::uint32_t node, double weight) noexcept {
    if (!(weight >= 0) || std::isinf(weight)) {
      return fail(BAD_WEIGHT);
    }
    const std::uint32_t found = attribute(node);
    if (found == no_node) {
      return false;
    }
    if (++counted_ > bounds.attributes) {
      return fail(TOO_MANY_ATTRIBUTES);
    }
    const std::uint32_t weighted = names[found].id;
    return weighted == StringTable::none || guarded([&] {
      if (columns_.weight_starts->empty()) {
        columns_.weight_starts->assign(columns_.starts->size(), 0);
      }
      reserve(*columns_.weights, 1);
      columns_.weight_attributes->push_back(weighted);
      columns_.weights->push_back(weight);
      return true;
    });
  }

  // What every event has, under an attribute's id in the vocabulary; `none` is one that nobody asks about.
  bool add_given_long(std::uint32_t given, std::int64_t value) noexcept {
    return given == StringTable::none || put(given, types_.whole, static_cast<std::uint64_t>(value), StringTable::none);
  }

  bool add_given_string(std::uint32_t given, const char* text, std::size_t length) noexcept {
    return given == StringTable::none || put_string(given, text, length, text + length);
  }

 private:
  // A string that was looked up: many events have the same few.
  struct alignas(32) Known {
    ShortText text;
    std::uint32_t length = AttributeNames::none;
    std::uint32_t id = 0;
  };

  static constexpr std::uint32_t events_max = std::uint32_t{1} << 31;
  static constexpr std::size_t names_max = 4096;
  static constexpr int known_bits = 10;
  static constexpr std::uint32_t failed_id = StringTable::none;

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

  [[gnu::noinline]] std::uint32_t other_key(std::uint32_t parent, const char* text, std::size_t length,
                                            const char* end) noexcept {
    std::uint32_t found = no_node;
    guarded([&] {
      found = names.key(parent, text, length, end, &reason);
      return true;
    });
    return found;
  }

  std::uint32_t attribute(std::uint32_t node) noexcept {
    const std::uint32_t known = names.known_attribute(node);
    return known != no_node ? known : new_attribute(node);
  }

  [[gnu::noinline]] std::uint32_t new_attribute(std::uint32_t node) noexcept {
    std::uint32_t found = no_node;
    guarded([&] {
      found = names.attribute(node);
      return true;
    });
    return found;
  }

  // The attribute of a node, if this event has it for the first time and someone wants its value.
  Attribute* admitted(std::uint32_t node) noexcept {
    const std::uint32_t found = attribute(node);
    if (found == no_node) {
      return nullptr;
    }
    Attribute& attribute = names[found];
    if (attribute.event == event_) {
      ++left_out_here.collisions;
      return nullptr;
    }
    attribute.event = event_;
    if (++counted_ > bounds.attributes) {
      fail(TOO_MANY_ATTRIBUTES);
      return nullptr;
    }
    if ((attribute.flags & Attribute::reserved) != 0) {
      ++left_out_here.reserved;
    }
    return (attribute.flags & Attribute::wanted) == 0 ? nullptr : &attribute;
  }

  bool put_long(Attribute& attribute, std::int64_t value) noexcept {
    if ((attribute.flags & (Attribute::is_id | Attribute::is_time)) != 0) {
      if ((attribute.flags & Attribute::is_time) != 0) {
        time = value;
        has_time = true;
      }
      if ((attribute.flags & Attribute::is_id) != 0) {
        const std::to_chars_result result = std::to_chars(digits_.data(), digits_.data() + digits_.size(), value);
        id = std::string_view(digits_.data(), static_cast<std::size_t>(result.ptr - digits_.data()));
        has_id = true;
      }
    }
    return (attribute.flags & Attribute::kept) == 0 ||
           put(attribute.id, types_.whole, static_cast<std::uint64_t>(value), StringTable::none);
  }

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
  std::uint32_t event_ = 0;
  std::uint32_t items_ = 0;
  std::uint32_t counted_ = 0;  // values and weights, whether they are kept or not
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
  std::array<char, 24> digits_{};
  std::vector<Known> known_ = std::vector<Known>(std::size_t{1} << known_bits);
};

}  // namespace tamis
