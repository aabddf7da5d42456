// A PS-Tree: an attribute's domain, cut into predicate spaces, and which expressions ask for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "posting_list.hpp"

namespace tamis {

// The tree of PS-Tree-Based Efficient Boolean Expression Matching (PVLDB 2018), section 4, with wide predicates at inner
// nodes, so that inserting one costs the logarithm of the tree's size and not a visit to every space that it covers.
//
// An inner node cuts its part of the domain in two. The cut is the simplest key between the predicates' ends that it
// parts (for numbers the one that ends in the most zero bits: the paper's elements, a bit each), so the depth is bounded
// by the length of a key, whatever the order of insertion; nothing is ever rotated or built again. A predicate lies at the
// highest nodes whose part it covers, and with its ends in the leaves where they fall. A leaf holds a few predicates with
// ends in it, in up to twice as many spaces; one more, and it is cut. When the two leaves of a node together become small
// they are merged.
//
// For every value the postings of the predicates that cover it are on one path, each once.
template <class Domain>
class PredicateSpaces {
 public:
  using Key = typename Domain::Key;
  using Value = typename Domain::Value;

  // From the first key on, up to the end.
  struct Range {
    Key first;
    Key end;
  };

  explicit PredicateSpaces(std::uint32_t leaf_max = 16) : leaf_max_(leaf_max) { leaves_.emplace_back(); }

  // Needs a range that is not empty. Throws std::bad_alloc; then the range has to be erased.
  void insert(const Range& range, std::uint32_t slot, const Signature& signature) {
    root_ = put(root_, Domain::lowest(), Domain::highest(), Partial{range, signature, slot}, depth_max);
    ++size_;
  }

  // Needs a range that was inserted under this slot, or only begun to be.
  void erase(const Range& range, std::uint32_t slot) noexcept {
    bool found = false;
    root_ = take(root_, Domain::lowest(), Domain::highest(), range, slot, found);
    size_ -= found ? 1 : 0;
  }

  // `list(postings)` for each list whose predicates cover the value, `one(slot, signature)` for each other such one.
  template <class List, class One>
  void visit(Value value, List list, One one) const {
    std::uint32_t at = root_;
    while (!is_leaf(at)) {
      const Node& node = nodes_[at];
      if (node.wide.size() > 0) {
        list(node.wide);
      }
      at = Domain::is_below(value, node.cut) ? node.lower : node.upper;
    }
    const Leaf& leaf = leaves_[at & ~leaf_bit];
    if (leaf.wide.size() > 0) {
      list(leaf.wide);
    }
    for (const Partial& partial : leaf.partials) {
      if (!Domain::is_below(value, partial.range.first) && Domain::is_below(value, partial.range.end)) {
        one(partial.slot, partial.signature);
      }
    }
  }

  // How many ranges there are.
  std::uint32_t size() const noexcept { return size_; }
  std::size_t leaf_count() const noexcept { return leaves_.size() - free_leaves_.size(); }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = nodes_.capacity() * sizeof(Node) + leaves_.capacity() * sizeof(Leaf) +
                        (free_nodes_.capacity() + free_leaves_.capacity()) * sizeof(std::uint32_t);
    for (const Node& node : nodes_) {
      bytes += node.wide.memory_bytes() + Domain::memory_bytes(node.cut);
    }
    for (const Leaf& leaf : leaves_) {
      bytes += leaf.wide.memory_bytes() + leaf.partials.capacity() * sizeof(Partial);
      for (const Partial& partial : leaf.partials) {
        bytes += Domain::memory_bytes(partial.range.first) + Domain::memory_bytes(partial.range.end);
      }
    }
    return bytes;
  }

 private:
  static constexpr std::uint32_t leaf_bit = std::uint32_t{1} << 31;
  // Long strings, each a prefix of the next, could make a branch of any depth. Below this a leaf grows instead.
  static constexpr int depth_max = 256;

  struct Node {
    Key cut{};
    std::uint32_t lower = 0;
    std::uint32_t upper = 0;
    PostingList wide;
  };

  // A predicate that covers a part of a leaf; its range is cut off at the leaf's ends.
  struct Partial {
    Range range;
    Signature signature;
    std::uint32_t slot;
  };

  struct Leaf {
    PostingList wide;
    std::vector<Partial> partials;
  };

  static bool is_leaf(std::uint32_t at) noexcept { return (at & leaf_bit) != 0; }

  static bool covers(const Range& range, const Key& first, const Key& end) { return !(first < range.first) && !(range.end < end); }

  // Returns the node that is now in the place of this one.
  std::uint32_t put(std::uint32_t at, const Key& first, const Key& end, const Partial& partial, int depth) {
    const Range& range = partial.range;
    if (covers(range, first, end)) {
      (is_leaf(at) ? leaves_[at & ~leaf_bit].wide : nodes_[at].wide).insert(partial.slot, partial.signature);
      return at;
    }
    if (is_leaf(at)) {
      std::vector<Partial>& partials = leaves_[at & ~leaf_bit].partials;
      partials.push_back(clipped(partial, first, end));
      return partials.size() > leaf_max_ ? divide(at, first, end, depth) : at;
    }
    const Key cut = nodes_[at].cut;
    if (range.first < cut) {
      const std::uint32_t lower = put(nodes_[at].lower, first, cut, partial, depth - 1);
      nodes_[at].lower = lower;
    }
    if (cut < range.end) {
      const std::uint32_t upper = put(nodes_[at].upper, cut, end, partial, depth - 1);
      nodes_[at].upper = upper;
    }
    return at;
  }

  static Partial clipped(const Partial& partial, const Key& first, const Key& end) {
    return Partial{{std::max(partial.range.first, first), std::min(partial.range.end, end)}, partial.signature, partial.slot};
  }

  // A leaf with too many predicates becomes a node of two. Without memory for it the leaf stays as it is.
  std::uint32_t divide(std::uint32_t at, const Key& first, const Key& end, int depth) noexcept {
    if (depth == 0) {
      return at;
    }
    try {
      const Key cut = cut_of(leaves_[at & ~leaf_bit].partials, first, end);
      Leaf lower, upper;
      for (const Partial& partial : leaves_[at & ~leaf_bit].partials) {
        if (partial.range.first < cut) {
          share(lower, first, cut, partial);
        }
        if (cut < partial.range.end) {
          share(upper, cut, end, partial);
        }
      }
      const std::uint32_t node = new_node();
      std::uint32_t other;
      try {
        other = new_leaf();
      } catch (...) {
        free_nodes_.push_back(node);  // there is room: it came from there, or was reserved
        throw;
      }
      Leaf& leaf = leaves_[at & ~leaf_bit];
      nodes_[node].cut = cut;
      nodes_[node].wide.swap(leaf.wide);
      nodes_[node].lower = at;
      nodes_[node].upper = other | leaf_bit;
      leaf = std::move(lower);
      leaves_[other] = std::move(upper);
      if (leaf.partials.size() > leaf_max_) {
        const std::uint32_t divided = divide(at, first, cut, depth - 1);
        nodes_[node].lower = divided;
      }
      if (leaves_[other].partials.size() > leaf_max_) {
        const std::uint32_t divided = divide(other | leaf_bit, cut, end, depth - 1);
        nodes_[node].upper = divided;
      }
      return node;
    } catch (const std::bad_alloc&) {
      return at;
    }
  }

  static void share(Leaf& leaf, const Key& first, const Key& end, const Partial& partial) {
    if (covers(partial.range, first, end)) {
      leaf.wide.insert(partial.slot, partial.signature);
    } else {
      leaf.partials.push_back(clipped(partial, first, end));
    }
  }

  // Between the ends that fall into the leaf: there is one at least, since no predicate covers the whole.
  static Key cut_of(const std::vector<Partial>& partials, const Key& first, const Key& end) {
    const Key* least = nullptr;
    const Key* greatest = nullptr;
    const auto count_in = [&](const Key& cut) {
      if (first < cut && cut < end) {
        if (least == nullptr || cut < *least) {
          least = &cut;
        }
        if (greatest == nullptr || *greatest < cut) {
          greatest = &cut;
        }
      }
    };
    for (const Partial& partial : partials) {
      count_in(partial.range.first);
      count_in(partial.range.end);
    }
    return *least == *greatest ? *least : Domain::between(*least, *greatest);
  }

  // Returns the node that is now in the place of this one.
  std::uint32_t take(std::uint32_t at, const Key& first, const Key& end, const Range& range, std::uint32_t slot,
                     bool& found) noexcept {
    if (covers(range, first, end)) {
      found |= (is_leaf(at) ? leaves_[at & ~leaf_bit].wide : nodes_[at].wide).erase(slot);
      return at;
    }
    if (is_leaf(at)) {
      std::vector<Partial>& partials = leaves_[at & ~leaf_bit].partials;
      const auto kept = std::remove_if(partials.begin(), partials.end(), [&](const Partial& partial) {
        return partial.slot == slot && covers(range, partial.range.first, partial.range.end);
      });
      found |= kept != partials.end();
      partials.erase(kept, partials.end());
      return at;
    }
    const Key& cut = nodes_[at].cut;  // no node is added here
    if (range.first < cut) {
      nodes_[at].lower = take(nodes_[at].lower, first, cut, range, slot, found);
    }
    if (cut < range.end) {
      nodes_[at].upper = take(nodes_[at].upper, cut, end, range, slot, found);
    }
    return merged(at, first, end);
  }

  // A node whose leaves became small becomes a leaf; without memory for it, it stays.
  std::uint32_t merged(std::uint32_t at, const Key& first, const Key& end) noexcept {
    Node& node = nodes_[at];
    if (!is_leaf(node.lower) || !is_leaf(node.upper)) {
      return at;
    }
    Leaf& lower = leaves_[node.lower & ~leaf_bit];
    Leaf& upper = leaves_[node.upper & ~leaf_bit];
    if (lower.wide.size() + lower.partials.size() + upper.wide.size() + upper.partials.size() > leaf_max_ / 2) {
      return at;
    }
    try {
      make_room(free_nodes_, nodes_.size());
      make_room(free_leaves_, leaves_.size());
      std::vector<Partial> partials;
      partials.reserve(leaf_max_ + 1);
      gather(lower, Range{first, node.cut}, partials);
      const std::size_t halves = partials.size();
      gather(upper, Range{node.cut, end}, partials);
      join_halves(partials, halves, node.cut);
      lower.partials.swap(partials);
    } catch (const std::bad_alloc&) {
      return at;
    }
    const std::uint32_t leaf = node.lower;
    lower.wide = PostingList();
    lower.wide.swap(node.wide);
    leaves_[node.upper & ~leaf_bit] = Leaf();
    free_leaves_.push_back(node.upper & ~leaf_bit);
    free_nodes_.push_back(at);
    node = Node();
    return leaf;
  }

  static void gather(const Leaf& leaf, const Range& whole, std::vector<Partial>& partials) {
    leaf.wide.each_run([&](const std::uint64_t* firsts, const PostingList::Rest* rests, std::uint32_t count) {
      for (std::uint32_t index = 0; index < count; ++index) {
        partials.push_back(Partial{whole, {firsts[index], rests[index].bits()}, rests[index].slot});
      }
    });
    partials.insert(partials.end(), leaf.partials.begin(), leaf.partials.end());
  }

  // What ends at the cut and what begins there, under one slot, was one range, where an expression has no more of them.
  static void join_halves(std::vector<Partial>& partials, std::size_t halves, const Key& cut) {
    for (std::size_t index = 0; index < halves; ++index) {
      if (partials[index].range.end == cut) {
        for (std::size_t other = halves; other < partials.size(); ++other) {
          if (partials[other].range.first == cut && partials[other].slot == partials[index].slot &&
              (partials[other].signature.first & one_of_several) == 0) {
            partials[index].range.end = partials[other].range.end;
            partials.erase(partials.begin() + static_cast<std::ptrdiff_t>(other));
            break;
          }
        }
      }
    }
  }

  std::uint32_t new_node() {
    if (free_nodes_.empty()) {
      make_room(free_nodes_, nodes_.size() + 1);
      nodes_.emplace_back();
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_nodes_.back();
    free_nodes_.pop_back();
    return node;
  }

  std::uint32_t new_leaf() {
    if (free_leaves_.empty()) {
      leaves_.emplace_back();
      return static_cast<std::uint32_t>(leaves_.size() - 1);
    }
    const std::uint32_t leaf = free_leaves_.back();
    free_leaves_.pop_back();
    return leaf;
  }

  std::uint32_t leaf_max_;
  std::uint32_t root_ = leaf_bit;
  std::uint32_t size_ = 0;
  std::vector<Node> nodes_;
  std::vector<Leaf> leaves_;
  std::vector<std::uint32_t> free_nodes_;
  std::vector<std::uint32_t> free_leaves_;
};

}  // namespace tamis
