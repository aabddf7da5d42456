// The ids that match, event by event, no more than wanted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

  void sort() noexcept {
    for (std::uint32_t event = 0; event < events_; ++event) {
      std::vector<std::uint32_t>& list = lists_[event];
      if (!std::is_sorted(list.begin(), list.end())) {
        std::sort(list.begin(), list.end());
      }
    }
  }

  // What is kept for the next batch is bounded.
  void end() noexcept {
    if (memory_bytes() > kept_bytes_max) {
      std::vector<std::vector<std::uint32_t>>().swap(lists_);
    }
  }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = lists_.capacity() * sizeof(lists_[0]);
    for (const std::vector<std::uint32_t>& list : lists_) {
      bytes += list.capacity() * sizeof(std::uint32_t);
    }
    return bytes;
  }

 private:
  static constexpr std::size_t kept_bytes_max = std::size_t{4} << 20;

  void give_up() noexcept {
    while (total_ > ids_max_ && events_ > 1) {
      --events_;
      total_ -= lists_[events_].size();
      lists_[events_].clear();
    }
  }

  std::vector<std::vector<std::uint32_t>> lists_;
  std::uint32_t events_ = 0;
  std::uint64_t ids_max_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace tamis
