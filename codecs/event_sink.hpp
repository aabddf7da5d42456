// Where decoders put what they read: what an event may have is seen to here.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attribute_names.hpp"
#include "event_row.hpp"
#include "reasons.hpp"
#include "string_table.hpp"

namespace tamis {

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
class EventSink : public EventRow {
 public:
  static constexpr std::uint32_t no_node = AttributeNames::none;

  EventSink(StringTable* strings, bool bound, HashKey key, SinkBounds limits, BatchColumns columns, ValueTypes types)
      : EventRow(strings, bound, columns, types), bounds(limits), names(strings, bound, key, limits.name_bytes) {}

  SinkBounds bounds;
  const char* stopped = nullptr;  // where in the message
  LeftOut left_out;       // of all events that were taken
  LeftOut left_out_here;  // of the event in hand
  // The id and time that the event in hand has in its own fields, if it has.
  std::string_view id;
  std::int64_t time = 0;
  bool has_id = false;
  bool has_time = false;

  // Begins another batch with the same vocabulary, which has not changed: what names and strings are stays known. False
  // if that has become too much, and a new sink is better.
  bool renew(BatchColumns columns) noexcept {
    begin_batch(columns);
    left_out = LeftOut();
    return event_ < events_max && names.size() < names_max;
  }

  void begin(std::uint64_t message_bytes) noexcept {
    begin_event(message_bytes);
    names.begin(++event_);
    left_out_here = LeftOut();
    has_id = has_time = false;
    items_ = 0;
    counted_ = 0;
  }

  bool finish() noexcept {
    left_out.add(left_out_here);
    return append_event();
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
    return attribute == nullptr ? reason == ACCEPTED : take_long(*attribute, value);
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
        return take_long(*attribute, whole);
      }
    }
    return (attribute->flags & Attribute::kept) == 0 || put_double(attribute->id, value);
  }

  bool add_boolean(std::uint32_t node, bool value) noexcept {
    Attribute* const attribute = admitted(node);
    if (attribute == nullptr) {
      return reason == ACCEPTED;
    }
    return (attribute->flags & Attribute::kept) == 0 || put_boolean(attribute->id, value);
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
    return weighted == StringTable::none || put_weight(weighted, weight);
  }

  // What every event has, under an attribute's id in the vocabulary; `none` is one that nobody asks about.
  bool add_given_long(std::uint32_t given, std::int64_t value) noexcept {
    return given == StringTable::none || put_long(given, value);
  }

  bool add_given_string(std::uint32_t given, const char* text, std::size_t length) noexcept {
    return given == StringTable::none || put_string(given, text, length, text + length);
  }

 private:
  static constexpr std::uint32_t events_max = std::uint32_t{1} << 31;
  static constexpr std::size_t names_max = 4096;

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

  bool take_long(Attribute& attribute, std::int64_t value) noexcept {
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
    return (attribute.flags & Attribute::kept) == 0 || put_long(attribute.id, value);
  }

  AttributeNames names;
  std::uint32_t event_ = 0;
  std::uint32_t items_ = 0;
  std::uint32_t counted_ = 0;  // values and weights, whether they are kept or not
  std::array<char, 24> digits_{};
};

}  // namespace tamis
