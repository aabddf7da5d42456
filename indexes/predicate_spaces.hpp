// A PS-Tree: an attribute's domain, cut into predicate spaces, and which expressions ask for each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "ask_for.hpp"
#include "partial_list.hpp"
#include "posting_list.hpp"

namespace tamis {

// The tree of PS-Tree-Based Efficient Boolean Expression Matching (PVLDB 2018), section 4, with wide predicates at
// inner nodes, so that inserting one costs the logarithm of the tree's size and not a visit to every space covered.
//
// An inner node cuts its part of the domain in two. The cut is the simplest key among the predicates' ends in the part
// and what lies between them (for numbers the one that ends in the most zero bits: the paper's elements, a bit each),
// and every cut is simpler than those below it. So the depth is bounded by the length of a key, whatever the order of
// insertion; nothing is ever rotated or built again. An end that asks for a simpler cut than a node has gets it, above
// that node. A predicate lies at the highest nodes whose part it covers, and with its ends in the leaves where they
// fall. A leaf holds a few predicates with ends in it, in up to twice as many spaces; one more, and it is cut. When the
// two leaves of a node together become small they are merged.
//
// For every value the postings of the predicates that cover it are on one path, each once. What a descent reads lies
// together: a node of numbers is 16 bytes, which child to go to is no branch, and a link tells whether there is a list.
template <class Domain>
class PredicateSpaces {
 public:
  using Key = typename Domain::Key;
  using Value = typename Domain::Value;

  using Range = KeyRange<Key>;

  explicit PredicateSpaces(std::uint32_t leaf_max = 16) : leaf_max_(leaf_max), leaves_(1), leaf_wides_(1) {}

  // Needs a range that is not empty. Throws std::bad_alloc; then the range has to be erased.
  void insert(const Range& range, std::uint32_t slot, const Signature& signature) {
    bring_nearer(range);
    Insertion insertion{{range, {signature, slot}}};
    root_ = put(root_, Domain::lowest(), Domain::highest(), insertion, depth_max);
    size_ += insertion.begun ? 1 : 0;
    if (insertion.failed) {
      throw std::bad_alloc();
    }
  }

  // Needs a range that was inserted under this slot, or only begun to be.
  void erase(const Range& range, std::uint32_t slot) noexcept {
    bool found = false;
    bring_nearer(range);
    root_ = take(root_, Domain::lowest(), Domain::highest(), range, slot, found);
    size_ -= found ? 1 : 0;
    if (is_leaf(root_) && !has_wide(root_) && leaves_[place_of(root_)].size() == 0) {
      size_ = 0;  // what lies within another range of its expression goes with that one
      give_back_all();
    }
  }

  // `list(postings)` for each list whose predicates cover the value, `one(slot, signature)` for each other such one.
  template <class List, class One>
  void visit(Value value, List list, One one) const {
    std::uint32_t at = root_;
    while (!is_leaf(at)) {
      if (has_wide(at)) {
        list(node_wides_[place_of(at)]);
      }
      at = child(at, value);
    }
    if (has_wide(at)) {
      list(leaf_wides_[place_of(at)]);
    }
    const Leaf& leaf = leaves_[place_of(at)];
    for (std::size_t index = 0; index < leaf.ranges.size(); ++index) {
      if (lies_in<Domain>(value, leaf.ranges[index])) {
        one(leaf.postings[index].slot, leaf.postings[index].signature);
      }
    }
  }

  // How many predicates cover each of some values.
  void count_each(const Value* values, std::size_t count, std::size_t* counts) const noexcept {
    std::array<std::uint32_t, lanes> at;
    for (std::size_t begin = 0; begin < count; begin += lanes) {
      const std::size_t some = std::min(lanes, count - begin);
      std::fill_n(counts + begin, some, std::size_t{0});
      descend(values + begin, some, at, [&](std::size_t lane, std::uint32_t from, std::uint32_t to) {
        if (has_wide(from)) {
          counts[begin + lane] += node_wides_[place_of(from)].size();
        }
        if (has_wide(to)) {
          ask_for(&wide_at(to));
        }
      });
      for (std::size_t lane = 0; lane < some; ++lane) {
        std::size_t found = has_wide(at[lane]) ? leaf_wides_[place_of(at[lane])].size() : 0;
        for (const Range& range : leaves_[place_of(at[lane])].ranges) {
          found += lies_in<Domain>(values[begin + lane], range) ? 1 : 0;
        }
        counts[begin + lane] += found;
      }
    }
  }

  // In which predicate space each of some values lies: the leaf, and how many ends in it are not above the value.
  void place_each(const Value* values, std::size_t count, std::uint64_t* places) const noexcept {
    std::array<std::uint32_t, lanes> at;
    for (std::size_t begin = 0; begin < count; begin += lanes) {
      const std::size_t some = std::min(lanes, count - begin);
      descend(values + begin, some, at, [](std::size_t, std::uint32_t, std::uint32_t) {});
      for (std::size_t lane = 0; lane < some; ++lane) {
        const Value value = values[begin + lane];
        std::uint64_t passed = 0;
        for (const Range& range : leaves_[place_of(at[lane])].ranges) {
          passed += (Domain::is_below(value, range.first) ? 0 : 1) + (Domain::is_below(value, range.end) ? 0 : 1);
        }
        places[begin + lane] = std::uint64_t{place_of(at[lane])} << 32 | passed;
      }
    }
  }

  // How many ranges there are; of an expression whose ranges lie within each other, some that have gone.
  std::uint32_t size() const noexcept { return size_; }
  std::size_t leaf_count() const noexcept { return leaves_.size() - free_leaves_.size(); }

  // At how many places a range's slot stands, for all of them: wide ones at nodes, and what is left of them in leaves.
  std::size_t posting_count() const noexcept {
    std::size_t count = 0;
    for (const auto* const wides : {&node_wides_, &leaf_wides_}) {
      for (const PostingList& wide : *wides) {
        count += wide.size();
      }
    }
    for (const Leaf& leaf : leaves_) {
      count += leaf.size();
    }
    return count;
  }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = nodes_.capacity() * sizeof(Node) + leaves_.capacity() * sizeof(Leaf) +
                        (node_wides_.capacity() + leaf_wides_.capacity()) * sizeof(PostingList) +
                        (free_nodes_.capacity() + free_leaves_.capacity()) * sizeof(std::uint32_t);
    for (const auto* const wides : {&node_wides_, &leaf_wides_}) {
      for (const PostingList& wide : *wides) {
        bytes += wide.memory_bytes();
      }
    }
    for (const Node& node : nodes_) {
      bytes += Domain::memory_bytes(node.cut);
    }
    for (const Leaf& leaf : leaves_) {
      bytes += leaf.memory_bytes();
    }
    return bytes;
  }

 private:
  // A link is a place among nodes or leaves, and says which, and whether a list of wide predicates belongs there.
  static constexpr std::uint32_t leaf_bit = std::uint32_t{1} << 31;
  static constexpr std::uint32_t wide_bit = std::uint32_t{1} << 30;
  // Long strings, each a prefix of the next, could make a branch of any depth. Below this a leaf grows instead.
  static constexpr int depth_max = 256;
  static constexpr std::size_t lanes = 32;
  static constexpr std::size_t far_nodes_min = 4096;

  using Leaf = PartialList<Domain>;
  using Partial = typename Leaf::Partial;

  struct Insertion {
    Partial partial;
    bool begun = false;   // whether the range is anywhere
    bool failed = false;  // for want of memory
  };

  struct Node {
    Key cut{};
    std::uint32_t children[2] = {0, 0};  // links: to what is below the cut, and to the rest
  };

  static bool is_leaf(std::uint32_t at) noexcept { return (at & leaf_bit) != 0; }
  static bool has_wide(std::uint32_t at) noexcept { return (at & wide_bit) != 0; }
  static std::uint32_t place_of(std::uint32_t at) noexcept { return at & ~(leaf_bit | wide_bit); }
  static const char* bytes_of(const Range* range) noexcept { return reinterpret_cast<const char*>(range); }

  // To the leaf of each of some values, `step(lane, from, to)` at each link on the way. They go down side by side, so that
  // they wait for memory together.
  template <class Step>
  void descend(const Value* values, std::size_t some, std::array<std::uint32_t, lanes>& at, Step step) const noexcept {
    at.fill(root_);
    for (bool more = true; more;) {
      more = false;
      for (std::size_t lane = 0; lane < some; ++lane) {
        if (!is_leaf(at[lane])) {
          const std::uint32_t next = child(at[lane], values[lane]);
          if (is_leaf(next)) {
            ask_for(&leaves_[place_of(next)]);
          } else {
            ask_for(&nodes_[place_of(next)]);
          }
          step(lane, at[lane], next);
          at[lane] = next;
          more = true;
        }
      }
    }
    for (std::size_t lane = 0; lane < some; ++lane) {
      const Leaf& leaf = leaves_[place_of(at[lane])];
      for (const char* line = bytes_of(leaf.ranges.data()); line < bytes_of(leaf.ranges.data() + leaf.ranges.size());
           line += 64) {
        ask_for(line);
      }
    }
  }

  // Needs a link to a node.
  std::uint32_t child(std::uint32_t at, Value value) const noexcept {
    const Node& node = nodes_[place_of(at)];
    return node.children[Domain::is_below(value, node.cut) ? 0 : 1];
  }

  PostingList& wide_at(std::uint32_t at) noexcept { return (is_leaf(at) ? leaf_wides_ : node_wides_)[place_of(at)]; }
  const PostingList& wide_at(std::uint32_t at) const noexcept {
    return (is_leaf(at) ? leaf_wides_ : node_wides_)[place_of(at)];
  }

  // The same link, as it is after its list has changed.
  std::uint32_t linked(std::uint32_t at) noexcept { return wide_at(at).size() > 0 ? at | wide_bit : at & ~wide_bit; }

  // The lists that a write of a range touches, all at once, where the tree is too large for the caches: at a million
  // ranges it is then done in two thirds of the time.
  void bring_nearer(const Range& range) const noexcept {
    if (nodes_.size() >= far_nodes_min) {
      Reached reached;
      reach(root_, Domain::lowest(), Domain::highest(), range, reached);
      for (std::size_t index = 0; index < reached.count; ++index) {
        wide_at(reached.links[index]).prefetch();
      }
      for (std::size_t index = 0; index < reached.count; ++index) {
        wide_at(reached.links[index]).prefetch_end();
      }
    }
  }

  struct Reached {
    std::array<std::uint32_t, 64> links;
    std::size_t count = 0;
  };

  void reach(std::uint32_t at, const Key& first, const Key& end, const Range& range, Reached& reached) const noexcept {
    if (reached.count == reached.links.size()) {
      return;
    }
    if (is_leaf(at) || range.covers(first, end)) {
      if (is_leaf(at)) {
        ask_for(&leaves_[place_of(at)]);
      }
      ask_for(&wide_at(at));
      reached.links[reached.count++] = at;
      return;
    }
    const Node& node = nodes_[place_of(at)];
    if (range.first < node.cut) {
      reach(node.children[0], first, node.cut, range, reached);
    }
    if (node.cut < range.end) {
      reach(node.children[1], node.cut, end, range, reached);
    }
  }

  // Returns the link that is now in the place of this one, failed or not: nodes above it have to know.
  std::uint32_t put(std::uint32_t at, const Key& first, const Key& end, Insertion& insertion, int depth) noexcept {
    try {
      return try_put(at, first, end, insertion, depth);
    } catch (const std::bad_alloc&) {
      insertion.failed = true;
      return at;
    }
  }

  // Throws std::bad_alloc; nothing has changed then.
  std::uint32_t try_put(std::uint32_t at, const Key& first, const Key& end, Insertion& insertion, int depth) {
    const Range& range = insertion.partial.range;
    if (range.covers(first, end)) {
      wide_at(at).insert(insertion.partial.posting.slot, insertion.partial.posting.signature);
      insertion.begun = true;
      return at | wide_bit;
    }
    const std::uint32_t place = place_of(at);
    if (is_leaf(at)) {
      leaves_[place].add(insertion.partial, {first, end});
      insertion.begun = true;
      return leaves_[place].size() > leaf_max_ ? divide(at, first, end, depth) : at;
    }
    const Key cut = nodes_[place].cut;
    for (const Key* const own : {&range.first, &range.end}) {
      if (first < *own && *own < end) {
        Key simplest = Domain::simplest(std::min(*own, cut), std::max(*own, cut));
        if (simplest != cut && Domain::may_cut(simplest)) {
          return put(lifted(at, first, end, std::move(simplest)), first, end, insertion, depth);
        }
      }
    }
    if (range.first < cut) {
      const std::uint32_t lower = put(nodes_[place].children[0], first, cut, insertion, depth - 1);
      nodes_[place].children[0] = lower;
    }
    if (cut < range.end && !insertion.failed) {
      const std::uint32_t upper = put(nodes_[place].children[1], cut, end, insertion, depth - 1);
      nodes_[place].children[1] = upper;
    }
    return at;
  }

  // A leaf with too many predicates becomes a node of two. Without memory for it the leaf stays as it is.
  std::uint32_t divide(std::uint32_t at, const Key& first, const Key& end, int depth) noexcept {
    if (depth <= 0) {  // nodes that were put above others count, too
      return at;
    }
    const std::uint32_t place = place_of(at);
    try {
      const Key cut = leaves_[place].simplest_cut({first, end});
      Key copied = cut;
      Leaf lower, upper;
      PostingList lower_wide, upper_wide;
      leaves_[place].share_out({first, cut}, lower, lower_wide);
      leaves_[place].share_out({cut, end}, upper, upper_wide);
      const auto [node, other] = new_pair();
      node_wides_[node].swap(leaf_wides_[place]);
      leaf_wides_[place].swap(lower_wide);
      leaf_wides_[other].swap(upper_wide);
      leaves_[place] = std::move(lower);
      leaves_[other] = std::move(upper);
      nodes_[node].cut = std::move(copied);
      for (const auto [side, leaf] : {std::pair{0, place}, std::pair{1, other}}) {
        nodes_[node].children[side] = linked(leaf | leaf_bit);
        if (leaves_[leaf].size() > leaf_max_) {
          const std::uint32_t divided =
              divide(nodes_[node].children[side], side == 0 ? first : cut, side == 0 ? cut : end, depth - 1);
          nodes_[node].children[side] = divided;
        }
      }
      return linked(node);
    } catch (const std::bad_alloc&) {
      return at;
    }
  }

  // Puts a node with a simpler cut above one: all ends below that lie on one side of it. On the other side is a new
  // leaf, with those predicates that cover it: they reach the end of the node's part there, and are along its edge.
  std::uint32_t lifted(std::uint32_t at, const Key& first, const Key& end, Key cut) {
    const int side = nodes_[place_of(at)].cut < cut ? 1 : 0;
    const auto reaches = [&](const Range& range) { return side == 1 ? range.end == end : range.first == first; };
    PostingList wide;
    std::uint32_t edge = at;
    while (!is_leaf(edge)) {
      edge = nodes_[place_of(edge)].children[side];
      wide_at(edge).each_run([&](const std::uint64_t* firsts, const PostingList::Rest* rests, std::uint32_t count) {
        for (std::uint32_t index = 0; index < count; ++index) {
          wide.insert(rests[index].slot, {firsts[index], rests[index].bits()});
        }
      });
    }
    std::vector<Key> cuts;  // a copy for each predicate whose range is cut off, made while it may fail
    const Leaf& leaf = leaves_[place_of(edge)];
    for (std::size_t index = 0; index < leaf.size(); ++index) {
      if (reaches(leaf.ranges[index])) {
        wide.insert(leaf.postings[index].slot, leaf.postings[index].signature);
        cuts.push_back(cut);
      }
    }
    const auto [node, other] = new_pair();
    for (Range& range : leaves_[place_of(edge)].ranges) {
      if (reaches(range)) {
        (side == 1 ? range.end : range.first) = std::move(cuts.back());
        cuts.pop_back();
      }
    }
    node_wides_[node].swap(node_wides_[place_of(at)]);
    leaf_wides_[other].swap(wide);
    nodes_[node].cut = std::move(cut);
    nodes_[node].children[side] = linked(other | leaf_bit);
    nodes_[node].children[1 - side] = linked(place_of(at));
    return linked(node);
  }

  // Returns the link that is now in the place of this one.
  std::uint32_t take(std::uint32_t at, const Key& first, const Key& end, const Range& range, std::uint32_t slot,
                     bool& found) noexcept {
    if (range.covers(first, end)) {
      found |= wide_at(at).erase(slot);
      return linked(at);
    }
    if (is_leaf(at)) {
      found |= leaves_[place_of(at)].erase(range, slot);
      return at;
    }
    Node& node = nodes_[place_of(at)];  // no node is added here
    if (range.first < node.cut) {
      node.children[0] = take(node.children[0], first, node.cut, range, slot, found);
    }
    if (node.cut < range.end) {
      node.children[1] = take(node.children[1], node.cut, end, range, slot, found);
    }
    return merged(at, first, end);
  }

  // A node whose leaves became small becomes a leaf; without memory for it, it stays.
  std::uint32_t merged(std::uint32_t at, const Key& first, const Key& end) noexcept {
    const std::uint32_t place = place_of(at);
    Node& node = nodes_[place];
    if (!is_leaf(node.children[0]) || !is_leaf(node.children[1])) {
      return at;
    }
    const std::uint32_t lower = place_of(node.children[0]);
    const std::uint32_t upper = place_of(node.children[1]);
    if (leaf_wides_[lower].size() + leaves_[lower].size() + leaf_wides_[upper].size() + leaves_[upper].size() >
        leaf_max_ / 2) {
      return at;
    }
    try {
      make_room(free_nodes_, nodes_.size());
      make_room(free_leaves_, leaves_.size());
      Leaf joined;
      joined.gather(leaves_[lower], leaf_wides_[lower], {first, node.cut});
      const std::size_t halves = joined.size();
      joined.gather(leaves_[upper], leaf_wides_[upper], {node.cut, end});
      joined.join_halves(halves, node.cut);
      leaves_[lower] = std::move(joined);
    } catch (const std::bad_alloc&) {
      return at;
    }
    leaf_wides_[lower] = PostingList();
    leaf_wides_[lower].swap(node_wides_[place]);
    leaf_wides_[upper] = PostingList();
    leaves_[upper] = Leaf();
    free_leaves_.push_back(upper);
    free_nodes_.push_back(place);
    node = Node();
    return linked(lower | leaf_bit);
  }

  // Of a tree without ranges, which is one leaf: all that it kept for others to come.
  void give_back_all() noexcept {
    root_ = leaf_bit;
    leaves_.resize(1);
    leaves_[0] = Leaf();
    leaves_.shrink_to_fit();  // without memory for it, it stays
    leaf_wides_.resize(1);
    leaf_wides_[0] = PostingList();
    leaf_wides_.shrink_to_fit();
    for (auto* const places : {&free_nodes_, &free_leaves_}) {
      std::vector<std::uint32_t>().swap(*places);
    }
    std::vector<Node>().swap(nodes_);
    std::vector<PostingList>().swap(node_wides_);
  }

  // Places for a node and a leaf.
  std::pair<std::uint32_t, std::uint32_t> new_pair() {
    const std::uint32_t node = new_node();
    try {
      return {node, new_leaf()};
    } catch (...) {
      free_nodes_.push_back(node);  // there is room: it came from there, or was reserved
      throw;
    }
  }

  std::uint32_t new_node() {
    if (free_nodes_.empty()) {
      make_room(free_nodes_, nodes_.size() + 1);
      make_room(node_wides_, nodes_.size() + 1);
      nodes_.emplace_back();
      node_wides_.emplace_back();  // there is room
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_nodes_.back();
    free_nodes_.pop_back();
    return node;
  }

  std::uint32_t new_leaf() {
    if (free_leaves_.empty()) {
      make_room(leaf_wides_, leaves_.size() + 1);
      leaves_.emplace_back();
      leaf_wides_.emplace_back();  // there is room
      return static_cast<std::uint32_t>(leaves_.size() - 1);
    }
    const std::uint32_t leaf = free_leaves_.back();
    free_leaves_.pop_back();
    return leaf;
  }

  std::uint32_t leaf_max_;
  std::uint32_t root_ = leaf_bit;
  std::uint32_t size_ = 0;
  // By places; those that are free are listed.
  std::vector<Node> nodes_;
  std::vector<PostingList> node_wides_;
  std::vector<Leaf> leaves_;
  std::vector<PostingList> leaf_wides_;
  std::vector<std::uint32_t> free_nodes_;
  std::vector<std::uint32_t> free_leaves_;
};

}  // namespace tamis
