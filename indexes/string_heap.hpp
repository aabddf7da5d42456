// The bytes of the strings of a string table, end to end in segments.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "ask_for.hpp"

namespace tamis {

// A record is a length and the bytes, rounded up to 4. Records are appended to the head, a segment of 32 KiB
// (while it is the only one it starts at 1 KiB and doubles). A full head is closed and the next one begun; a
// record above 4 KiB gets a segment of its own size. A segment of which half is dead is emptied into the head
// and given back, so the heap takes at most 8/3 of what lives in it, plus a head, whatever came and went. One
// malloc for each string would cost 16 bytes more (by glibc's rounding, at 12 bytes a string), and could not
// be compacted after a mass release.
//
// A copy shares the segments, and may be read by any thread while the original is written: what was written once is
// never written again.
//
// A location counts units of 4 bytes from the beginning of a segment, and segments of 32 KiB from the
// beginning of the heap: 32 bits reach 524,288 segments, that is 16 GiB.
class StringHeap {
 public:
  static constexpr std::uint32_t segments_bound = std::uint32_t{1} << 19;

  explicit StringHeap(std::uint32_t segments_max) : segments_max_(std::min(segments_max, segments_bound)) {}

  std::string_view view(std::uint32_t location) const noexcept { return view_at(address(location)); }

  // Asks for the memory of a string that will soon be looked at.
  void prefetch(std::uint32_t location) const noexcept { ask_for(address(location)); }

  // Copies a string, which may lie in this very heap, and returns its location. Throws std::overflow_error
  // when the string or the heap is too large, std::bad_alloc; nothing has changed then.
  std::uint32_t append(std::string_view text) {
    if (text.size() > length_max) {
      throw std::overflow_error("the string is too long: a vocabulary holds strings below 4 GiB");
    }
    const std::uint32_t size = record_size(text.size());
    Bytes replaced;  // the text may lie in it
    std::uint32_t index = head_;
    if (size > alone_min) {
      index = open(size);
    } else if (head_ == none || !fits(size)) {
      replaced = make_room(size);
      index = head_;
    }
    Segment& segment = segments_[index];
    const std::uint32_t start = segment.used;
    const auto length = static_cast<std::uint32_t>(text.size());
    std::memcpy(&segment.bytes[start], &length, sizeof length);
    if (length != 0) {
      std::memcpy(&segment.bytes[start + sizeof length], text.data(), length);
    }
    segment.used += size;
    segment.live += size;
    return index * segment_units + start / unit;
  }

  // Forgets a record. `owner(text, location)` is asked about the records of a segment that is emptied: it
  // returns where the location of this one is kept, or null if it is dead. Without memory a segment stays as
  // it is.
  template <class Owner>
  void release(std::uint32_t location, Owner owner) noexcept {
    const std::uint32_t index = location / segment_units;
    Segment& segment = segments_[index];
    segment.live -= record_size(view(location).size());
    if (segment.live == 0) {
      close(index);
    } else if (segment.used - segment.live >= segment.capacity / 2) {
      empty(index, owner);
    }
  }

  std::size_t memory_bytes() const noexcept { return capacity_ + segments_.capacity() * sizeof(Segment); }

 private:
  using Bytes = std::shared_ptr<char[]>;

  struct Segment {
    Bytes bytes;  // null: this place is free, and `used` is the next free one
    std::uint32_t capacity;
    std::uint32_t used;
    std::uint32_t live;
  };

  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t unit = 4;
  static constexpr std::uint32_t segment_size = 32 * 1024;
  static constexpr std::uint32_t segment_size_min = 1024;
  static constexpr std::uint32_t segment_units = segment_size / unit;
  static constexpr std::uint32_t alone_min = segment_size / 8;
  static constexpr std::size_t length_max = none - 2 * unit;

  static std::uint32_t record_size(std::size_t length) noexcept {
    return static_cast<std::uint32_t>((sizeof(std::uint32_t) + length + unit - 1) / unit * unit);
  }

  static std::string_view view_at(const char* record) noexcept {
    std::uint32_t length;
    std::memcpy(&length, record, sizeof length);
    return {record + sizeof length, length};
  }

  // Of a segment that is the only one, or was when it was opened.
  static std::uint32_t head_size(std::uint32_t used) noexcept {
    return std::clamp(std::bit_ceil(used), segment_size_min, segment_size);
  }

  const char* address(std::uint32_t location) const noexcept {
    return &segments_[location / segment_units].bytes[std::size_t{location % segment_units} * unit];
  }

  bool fits(std::uint32_t size) const noexcept {
    const Segment& head = segments_[head_];
    return head.capacity - head.used >= size;
  }

  // A new segment's place.
  std::uint32_t open(std::uint32_t capacity) {
    if (free_ == none && segments_.size() >= segments_max_) {
      throw std::overflow_error("the vocabulary is full: its strings fill all segments of its heap; "
                                "release strings, or use one more vocabulary");
    }
    Bytes bytes(new char[capacity]);
    std::uint32_t index = free_;
    if (index == none) {
      index = static_cast<std::uint32_t>(segments_.size());
      segments_.emplace_back();
    } else {
      free_ = segments_[index].used;
    }
    segments_[index] = Segment{std::move(bytes), capacity, 0, 0};
    capacity_ += capacity;
    ++open_;
    return index;
  }

  // Nothing in the segment is alive.
  void close(std::uint32_t index) noexcept {
    Segment& segment = segments_[index];
    capacity_ -= segment.capacity;
    --open_;
    segment.bytes.reset();
    segment.used = std::exchange(free_, index);
    if (index == head_) {
      head_ = none;
    }
    if (open_ == 0) {
      std::vector<Segment>().swap(segments_);
      free_ = none;
    }
  }

  // A head that has room for the record. Returns the bytes that it took the place of, if any.
  Bytes make_room(std::uint32_t size) {
    if (head_ == none || segments_[head_].capacity == segment_size) {
      head_ = open(open_ == 0 ? head_size(size) : segment_size);
      return nullptr;
    }
    Segment& head = segments_[head_];
    const std::uint32_t capacity = head_size(head.used + size);
    Bytes bytes(new char[capacity]);
    std::memcpy(bytes.get(), head.bytes.get(), head.used);
    capacity_ += capacity - head.capacity;
    head.capacity = capacity;
    head.bytes.swap(bytes);
    return bytes;
  }

  // Moves what is alive in the segment to the head, which this segment is no longer.
  template <class Owner>
  void empty(std::uint32_t index, Owner owner) noexcept {
    try {
      if (index == head_) {
        head_ = open(open_ == 1 ? head_size(segments_[index].live) : segment_size);
      }
      for (std::uint32_t start = 0; start < segments_[index].used;) {
        const std::string_view text = view_at(&segments_[index].bytes[start]);
        std::uint32_t* const kept = owner(text, index * segment_units + start / unit);
        const std::uint32_t size = record_size(text.size());
        if (kept != nullptr) {
          *kept = append(text);
          segments_[index].live -= size;
        }
        start += size;
      }
    } catch (const std::bad_alloc&) {
      return;  // the next release here tries again
    } catch (const std::overflow_error&) {
      return;
    }
    close(index);
  }

  std::vector<Segment> segments_;
  std::uint32_t head_ = none;
  std::uint32_t free_ = none;  // the first free place of `segments_`
  std::uint32_t open_ = 0;     // places that are not free
  std::uint32_t segments_max_;
  std::size_t capacity_ = 0;
};

}  // namespace tamis
