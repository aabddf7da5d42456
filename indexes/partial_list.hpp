// The predicates that cover a part of a PS-Tree's leaf.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "posting_list.hpp"

namespace tamis {

// From the first key on, up to the end.
template <class Key>
struct KeyRange {
  Key first;
  Key end;

  bool covers(const Key& from, const Key& to) const noexcept { return !(from < first) && !(end < to); }
  bool covers(const KeyRange& other) const noexcept { return covers(other.first, other.end); }
};

template <class Domain>
bool lies_in(typename Domain::Value value, const KeyRange<typename Domain::Key>& range) noexcept {
  return static_cast<int>(!Domain::is_below(value, range.first)) & static_cast<int>(Domain::is_below(value, range.end));
}

// Ranges lie side by side, since what belongs to them is of use for few. They are cut off at the leaf's ends.
template <class Domain>
struct PartialList {
  using Key = typename Domain::Key;
  using Range = KeyRange<Key>;

  struct Posting {
    Signature signature;
    std::uint32_t slot;
  };

  struct Partial {
    Range range;
    Posting posting;
  };

  std::vector<Range> ranges;
  std::vector<Posting> postings;

  std::size_t size() const noexcept { return ranges.size(); }

  // What a predicate covers of a part that it does not cover whole. Throws std::bad_alloc; nothing has changed then.
  void add(const Partial& partial, const Range& part) {
    Range clipped{std::max(partial.range.first, part.first), std::min(partial.range.end, part.end)};
    make_room(ranges, ranges.size() + 1);
    make_room(postings, postings.size() + 1);
    ranges.push_back(std::move(clipped));
    postings.push_back(partial.posting);
  }

  void erase_at(std::size_t index) noexcept {
    if (index + 1 < ranges.size()) {
      ranges[index] = std::move(ranges.back());
      postings[index] = postings.back();
    }
    ranges.pop_back();
    postings.pop_back();
  }

  // What is there of a range, under a slot; whether there was anything.
  bool erase(const Range& range, std::uint32_t slot) noexcept {
    const std::size_t before = size();
    for (std::size_t index = before; index-- > 0;) {
      if (postings[index].slot == slot && range.covers(ranges[index])) {
        erase_at(index);
      }
    }
    return size() < before;
  }

  // Where to cut the leaf: between the ends that fall into it, of which there is one at least.
  Key simplest_cut(const Range& part) const {
    const Key* least = nullptr;
    const Key* greatest = nullptr;
    const auto count_in = [&](const Key& cut) {
      if (part.first < cut && cut < part.end) {
        if (least == nullptr || cut < *least) {
          least = &cut;
        }
        if (greatest == nullptr || *greatest < cut) {
          greatest = &cut;
        }
      }
    };
    for (const Range& range : ranges) {
      count_in(range.first);
      count_in(range.end);
    }
    return Domain::simplest(*least, *greatest);
  }

  // Puts into a leaf of a part of this one what belongs there.
  void share_out(const Range& part, PartialList& leaf, PostingList& wide) const {
    for (std::size_t index = 0; index < size(); ++index) {
      if (ranges[index].covers(part)) {
        wide.insert(postings[index].slot, postings[index].signature);
      } else if (ranges[index].first < part.end && part.first < ranges[index].end) {
        leaf.add({ranges[index], postings[index]}, part);
      }
    }
  }

  // Takes in all of a leaf that is a part of this one.
  void gather(const PartialList& leaf, const PostingList& wide, const Range& part) {
    wide.each_run([&](const std::uint64_t* firsts, const PostingList::Rest* rests, std::uint32_t count) {
      for (std::uint32_t index = 0; index < count; ++index) {
        add({part, {{firsts[index], rests[index].bits()}, rests[index].slot}}, part);
      }
    });
    for (std::size_t index = 0; index < leaf.size(); ++index) {
      add({leaf.ranges[index], leaf.postings[index]}, part);
    }
  }

  // What ends at the cut and what begins there, under one slot, was one range, where an expression has no more of them.
  void join_halves(std::size_t halves, const Key& cut) noexcept {
    for (std::size_t index = 0; index < halves; ++index) {
      if (ranges[index].end == cut) {
        for (std::size_t other = halves; other < size(); ++other) {
          if (ranges[other].first == cut && postings[other].slot == postings[index].slot &&
              (postings[other].signature.first & one_of_several) == 0) {
            ranges[index].end = std::move(ranges[other].end);
            erase_at(other);
            break;
          }
        }
      }
    }
  }

  // Beside the list itself.
  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = ranges.capacity() * sizeof(Range) + postings.capacity() * sizeof(Posting);
    for (const Range& range : ranges) {
      bytes += Domain::memory_bytes(range.first) + Domain::memory_bytes(range.end);
    }
    return bytes;
  }
};

}  // namespace tamis
