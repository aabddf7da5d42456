// The names that messages use, met once and then recognised by what came before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reasons.hpp"
#include "short_text.hpp"
#include "sip_hash.hpp"
#include "string_table.hpp"
#include "utf8.hpp"

namespace tamis {

// An attribute, by its whole name.
struct Attribute {
  static constexpr std::uint8_t kept = 1;      // the batch has a place for its values
  static constexpr std::uint8_t is_id = 2;     // its value is the event's id
  static constexpr std::uint8_t is_time = 4;   // its value is the event's time
  static constexpr std::uint8_t reserved = 8;  // of no event's own: its values are left out
  static constexpr std::uint8_t wanted = kept | is_id | is_time;

  std::uint32_t id;     // in the batch's vocabulary
  std::uint32_t event;  // the last one that had it
  std::uint32_t node;   // whose path is its name
  std::uint32_t hash;   // of its name
  std::uint8_t flags;
};

// A tree of keys: an object's members, a map's entries and a record's fields are children of their parent, and the path
// from the root, joined with dots, is an attribute's name. Two paths may have the same name, and then one attribute.
//
// Messages of one kind have their keys in one order, so each node remembers which one was asked for after it. A guess
// costs the comparison of two words; only a wrong one is searched for, by a keyed hash, since publishers choose names.
//
// Here lies the one memory of what names are: keys are compared byte for byte, so a key that was found is valid UTF-8.
class AttributeNames {
 public:
  static constexpr std::uint32_t root = 0;
  // The names of an event's weights: the same attributes, in an order of their own.
  static constexpr std::uint32_t weights_root = 1;
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  AttributeNames(StringTable* strings, bool bound, HashKey key, std::uint32_t name_bytes_max)
      : strings_(strings), bound_(bound), key_(key), name_bytes_max_(name_bytes_max), slots_(64, none) {
    nodes_.resize(2);
  }

  // Begins an event; a number that no event before it had.
  void begin(std::uint32_t event) noexcept {
    event_ = event;
    last_ = root;
    guess_ = nodes_[root].next;
  }

  // The child of a node by its key, if it is the one that is expected here, and comes for the first time in this event;
  // else `none`. `end` is where readable memory ends.
  std::uint32_t guessed_key(std::uint32_t parent, const char* text, std::size_t length, const char* end) noexcept {
    const std::uint32_t guess = guess_;
    Node& node = nodes_[guess];
    if (!is_child(node, parent, text, length, end) || node.event == event_) {
      return none;
    }
    return take(guess, node);
  }

  // The child of a node by its key, `none` if `reason` says why not: a key comes once an event.
  std::uint32_t key(std::uint32_t parent, const char* text, std::size_t length, const char* end, Reason* reason) {
    // Most often the guess was of a key that this event does not have, and it is the one after that.
    std::uint32_t found = nodes_[guess_].next;
    if (!is_child(nodes_[found], parent, text, length, end)) {
      found = field(parent, std::string_view(text, length), reason);
      if (found == none) {
        return none;
      }
      nodes_[last_].next = found;
    }
    if (nodes_[found].event == event_) {
      *reason = DUPLICATE_KEY;
      return none;
    }
    return take(found, nodes_[found]);
  }

  // The same if the bytes before the next quotation mark are the key that is expected here; `none` if they are not.
  // Its length in bytes is then `length`.
  std::uint32_t quoted_key(std::uint32_t parent, const char* text, const char* end, std::size_t* length) noexcept {
    const std::uint32_t guess = guess_;
    Node& node = nodes_[guess];
    if (!node.plain || static_cast<std::size_t>(end - text) <= node.length || text[node.length] != '"' ||
        node.event == event_ || !is_child(node, parent, text, node.length, end)) {
      return none;
    }
    *length = node.length;
    return take(guess, node);
  }

  // The child of a node by its key, whenever it is asked for.
  std::uint32_t field(std::uint32_t parent, std::string_view text, Reason* reason) {
    const std::uint32_t hash = hash_of(parent, text);
    std::uint32_t found = search(parent, text, hash);
    return found != none ? found : make(parent, text, hash, reason);
  }

  // The attribute whose name is the path to a node, if it was asked for before.
  std::uint32_t known_attribute(std::uint32_t node) const noexcept { return nodes_[node].attribute; }

  // The attribute whose name is the path to a node.
  std::uint32_t attribute(std::uint32_t node) {
    const std::uint32_t known = known_attribute(node);
    return known != none ? known : resolve(node);
  }

  std::size_t size() const noexcept { return nodes_.size(); }

  Attribute& operator[](std::uint32_t attribute) noexcept { return attributes_[attribute]; }

 private:
  struct alignas(64) Node {  // a cache line
    ShortText head;
    std::uint32_t parent = none;
    std::uint32_t length = 0;
    std::uint32_t start = 0;        // of its key, in the pool
    std::uint32_t name_length = 0;  // of the whole path
    std::uint32_t attribute = none;
    std::uint32_t event = 0;  // the last one that had it
    std::uint32_t next = root;
    std::uint32_t hash = 0;
    bool plain = false;  // JSON has it as it is: without quotation marks, backslashes, control characters
  };

  bool is_child(const Node& node, std::uint32_t parent, const char* text, std::size_t length,
                const char* end) const noexcept {
    if (node.parent != parent || node.length != length || !(node.head == ShortText::of(text, length, end))) {
      return false;
    }
    return length <= ShortText::size || std::memcmp(pool_.data() + node.start, text, length) == 0;
  }

  std::uint32_t take(std::uint32_t place, Node& node) noexcept {
    node.event = event_;
    last_ = place;
    guess_ = node.next;
    return place;
  }

  std::uint32_t hash_of(std::uint32_t parent, std::string_view text) const noexcept {
    const std::uint64_t hash = sip_hash(text, HashKey{key_.low ^ parent, key_.high});
    return static_cast<std::uint32_t>(hash ^ (hash >> 32));
  }

  std::uint32_t search(std::uint32_t parent, std::string_view text, std::uint32_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t place = hash & mask; slots_[place] != none; place = (place + 1) & mask) {
      const Node& node = nodes_[slots_[place]];
      if (node.hash == hash && node.parent == parent && key_of(node) == text) {
        return slots_[place];
      }
    }
    return none;
  }

  std::uint32_t make(std::uint32_t parent, std::string_view text, std::uint32_t hash, Reason* reason) {
    const bool first = parent <= weights_root;
    const std::size_t name_length = text.size() + (first ? 0 : nodes_[parent].name_length + std::size_t{1});
    if (name_length > name_bytes_max_) {
      *reason = NAME_TOO_LONG;
      return none;
    }
    if (!is_utf8(text.data(), text.size())) {
      *reason = BAD_UTF8;
      return none;
    }
    if (pool_.size() + text.size() > none || nodes_.size() == none) {
      *reason = BATCH_FULL;
      return none;
    }
    Node node;
    node.head = ShortText::of(text.data(), text.size(), text.data() + text.size());
    node.parent = parent;
    node.length = static_cast<std::uint32_t>(text.size());
    node.start = static_cast<std::uint32_t>(pool_.size());
    node.name_length = static_cast<std::uint32_t>(name_length);
    node.hash = hash;
    node.plain = true;
    for (const char letter : text) {
      node.plain = node.plain && letter != '"' && letter != '\\' && static_cast<unsigned char>(letter) >= 0x20;
    }
    if ((nodes_.size() + 1) * 2 > slots_.size()) {
      grow(slots_, nodes_);
    }
    pool_.insert(pool_.end(), text.begin(), text.end());
    const auto place = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node);
    put(slots_, hash, place);
    return place;
  }

  template <class Held>
  static void grow(std::vector<std::uint32_t>& slots, const std::vector<Held>& held) {
    std::vector<std::uint32_t> larger(slots.size() * 2, none);
    for (const std::uint32_t place : slots) {
      if (place != none) {
        put(larger, held[place].hash, place);
      }
    }
    slots.swap(larger);
  }

  static void put(std::vector<std::uint32_t>& slots, std::uint32_t hash, std::uint32_t value) noexcept {
    const std::size_t mask = slots.size() - 1;
    std::size_t place = hash & mask;
    while (slots[place] != none) {
      place = (place + 1) & mask;
    }
    slots[place] = value;
  }

  std::string_view key_of(const Node& node) const noexcept {
    return std::string_view(pool_.data() + node.start, node.length);
  }

  std::uint32_t resolve(std::uint32_t place) {
    compose(place);
    const std::uint64_t wide = sip_hash(name_, HashKey{key_.low, ~key_.high});
    const auto hash = static_cast<std::uint32_t>(wide ^ (wide >> 32));
    const std::size_t mask = by_name_.size() - 1;
    for (std::size_t slot = hash & mask; by_name_[slot] != none; slot = (slot + 1) & mask) {
      const std::uint32_t known = by_name_[slot];
      if (attributes_[known].hash == hash && has_name(attributes_[known].node, name_)) {
        return nodes_[place].attribute = known;
      }
    }
    if ((attributes_.size() + 1) * 2 > by_name_.size()) {
      grow(by_name_, attributes_);
    }
    const auto made = static_cast<std::uint32_t>(attributes_.size());
    Attribute attribute{none, 0, place, hash, 0};
    if (!name_.empty() && name_.front() == '$') {
      attribute.flags = Attribute::reserved;
    }
    // Weights may be of what no event of one's own has.
    attribute.id = bound_ ? strings_->find(name_) : strings_->intern(name_);
    if (attribute.id != StringTable::none && attribute.flags == 0) {
      attribute.flags = Attribute::kept;
    }
    attributes_.push_back(attribute);
    put(by_name_, hash, made);
    return nodes_[place].attribute = made;
  }

  // The whole name, into `name_`: from its end, since a node knows only its parent.
  void compose(std::uint32_t place) {
    name_.resize(nodes_[place].name_length);
    std::size_t end = name_.size();
    for (; place > weights_root; place = nodes_[place].parent) {
      const std::string_view key = key_of(nodes_[place]);
      end -= key.size();
      key.copy(name_.data() + end, key.size());
      if (nodes_[place].parent > weights_root) {
        name_[--end] = '.';
      }
    }
  }

  bool has_name(std::uint32_t place, std::string_view name) const noexcept {
    if (nodes_[place].name_length != name.size()) {
      return false;
    }
    for (; place > weights_root; place = nodes_[place].parent) {
      const std::string_view key = key_of(nodes_[place]);
      if (!name.ends_with(key)) {
        return false;
      }
      name.remove_suffix(key.size());
      if (nodes_[place].parent > weights_root) {
        if (!name.ends_with('.')) {
          return false;
        }
        name.remove_suffix(1);
      }
    }
    return true;
  }

  StringTable* strings_;
  bool bound_;
  HashKey key_;
  std::uint32_t name_bytes_max_;
  std::uint32_t event_ = 0;
  std::uint32_t last_ = root;   // the key before
  std::uint32_t guess_ = root;  // the one that followed it in the event before
  std::vector<Node> nodes_;
  std::vector<char> pool_;
  std::vector<std::uint32_t> slots_;
  std::vector<Attribute> attributes_;
  std::vector<std::uint32_t> by_name_ = std::vector<std::uint32_t>(64, none);
  std::string name_;
};

}  // namespace tamis
