// The ids that match, event by event, no more than wanted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tamis {

// Engines add ids in whatever order they find them. When there are more than `ids_max`, the last events are given up,
// until the ids fit or one event is left: so what is kept is whole, and progress is certain.
class Hits {
 public:
  void begin(std::uint32_t events, std::uint64_t ids_max) {
    if (lists_.size() < events) {
      lists_.resize(events);
    }
    for (std::uint32_t event = 0; event < events; ++event) {
      lists_[event].clear();
    }
    events_ = events;
    ids_max_ = ids_max;
    total_ = 0;
  }

  // Events from here on are given up: nothing needs to be found for them.
  std::uint32_t events() const noexcept { return events_; }
  std::uint64_t total() const noexcept { return total_; }

  // Needs an event below `events()`.
  void add(std::uint32_t event, std::uint32_t id) {
    lists_[event].push_back(id);
    if (++total_ > ids_max_) {
      give_up();
    }
  }

  std::vector<std::uint32_t>& list(std::uint32_t event) noexcept { return lists_[event]; }

  void sort() {
    for (std::uint32_t event = 0; event < events_; ++event) {
      std::vector<std::uint32_t>& list = lists_[event];
      if (!std::is_sorted(list.begin(), list.end())) {
        sort(list);
      }
    }
  }

  // What is kept for the next batch is bounded.
  void end() noexcept {
    if (memory_bytes() > kept_bytes_max) {
      std::vector<std::vector<std::uint32_t>>().swap(lists_);
      std::vector<std::uint32_t>().swap(sorted_);
    }
  }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = lists_.capacity() * sizeof(lists_[0]) + sorted_.capacity() * sizeof(sorted_[0]);
    for (const std::vector<std::uint32_t>& list : lists_) {
      bytes += list.capacity() * sizeof(std::uint32_t);
    }
    return bytes;
  }

 private:
  static constexpr std::size_t kept_bytes_max = std::size_t{4} << 20;
  static constexpr std::uint32_t digit_bits = 8;
  static constexpr std::uint32_t digits = 1U << digit_bits;

  // By digits, the lowest first: a fifth of what comparing costs from some hundred ids on.
  void sort(std::vector<std::uint32_t>& list) {
    if (list.size() < digits / 2) {
      std::sort(list.begin(), list.end());
      return;
    }
    std::uint32_t differing = 0;
    for (const std::uint32_t id : list) {
      differing |= id ^ list.front();
    }
    sorted_.resize(list.size());
    for (std::uint32_t shift = 0; shift < 32 && differing >> shift != 0; shift += digit_bits) {
      std::array<std::uint32_t, digits> places{};
      for (const std::uint32_t id : list) {
        ++places[id >> shift & (digits - 1)];
      }
      std::exclusive_scan(places.begin(), places.end(), places.begin(), 0U);
      for (const std::uint32_t id : list) {
        sorted_[places[id >> shift & (digits - 1)]++] = id;
      }
      list.swap(sorted_);
    }
  }

  void give_up() noexcept {
    while (total_ > ids_max_ && events_ > 1) {
      --events_;
      total_ -= lists_[events_].size();
      lists_[events_].clear();
    }
  }

  std::vector<std::vector<std::uint32_t>> lists_;
  std::vector<std::uint32_t> sorted_;
  std::uint32_t events_ = 0;
  std::uint64_t ids_max_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace tamis
