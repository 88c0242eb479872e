// A persistent ordered tree: copy-on-write B+tree nodes, edited in place within the transaction that made them.
//
//   inner  │ birth rows count │ common prefix │ head … │ separator … │ child … │
//   leaf   │ birth rows count │ common prefix │ head … │ item …      │
//
// A slot holds the eight bytes of its key that follow the node's common prefix, big endian, so most comparisons touch
// nothing but the node; equal heads are settled by the item. The prefix matters for composite keys, whose first bytes
// (a namespace, a job) are the same in a whole node. Slot 0 of an inner node has no separator: it is below all others.
// Separators are the shortest strings that divide their neighbours; they are items of their own because rows die.
//
// An edit appends what it replaces to a list of the dead; version.h decides when it may be freed. A node that dies in
// the transaction that made it is freed at once. A node's birth is never before that of anything below it.
//
// Threads: edits belong to the apply thread; a published tree never changes and may be read by any.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/state/memory.h"

namespace drover::state {

inline constexpr uint32_t kSlots = 32;
inline constexpr uint32_t kMaxDepth = 16;
inline constexpr size_t kInlinePrefix = 41;  // longer prefixes are read from the node's first key

struct Node {
  uint64_t birth;
  uint64_t rows;  // items in the leaves at or below this node
  uint16_t count;
  uint16_t table;
  uint16_t prefix_length;  // leading bytes that all keys of the node share; the heads begin after them
  uint8_t level;           // 0: leaf
  char prefix[kInlinePrefix];
  uint64_t heads[kSlots];
  Item* items[kSlots];
};

struct Inner : Node {
  Node* children[kSlots];
};

// Something that no version after a certain one reaches. A subtree stands for its node and all below it.
class Dead {
 public:
  enum Kind : uint8_t { item, node, subtree };

  explicit Dead(Item* i) : tagged_(reinterpret_cast<uintptr_t>(i)), birth_(i->birth) {}
  Dead(Node* n, Kind kind) : tagged_(reinterpret_cast<uintptr_t>(n) | kind), birth_(n->birth) {}

  Kind kind() const { return static_cast<Kind>(tagged_ & 3); }
  uint64_t birth() const { return birth_; }
  Item* as_item() const { return reinterpret_cast<Item*>(tagged_); }
  Node* as_node() const { return reinterpret_cast<Node*>(tagged_ & ~uintptr_t{3}); }

 private:
  uintptr_t tagged_;  // the kind in the two lowest bits
  uint64_t birth_;
};
static_assert(sizeof(Dead) == 16);

namespace tree {

// One table's side of the transaction that edits.
struct Edit {
  Memory& memory;
  uint64_t version;  // the version being made
  uint16_t table;
  std::vector<Dead>& dead;
};

inline uint64_t rows(const Node* root) { return root == nullptr ? 0 : root->rows; }

Item* find(const Node* root, std::string_view key);

// Puts the item under its key. The item it replaced, not added to the dead, or null.
Item* insert(Edit& edit, Node*& root, Item* item);

// The removed item, not added to the dead, or null.
Item* erase(Edit& edit, Node*& root, std::string_view key);

// A tree of these items, bottom-up. Requires: keys strictly ascending.
Node* build(Edit& edit, std::span<Item* const> items);

// How many keys are smaller than `key`. O(log n).
uint64_t rank(const Node* root, std::string_view key);

void free_node(Memory& memory, Node* node);

// Keys in order, separators dividing, counts, births and prefixes right. Adds what the tree occupies to `bytes`.
// Null when all is well, else what is wrong.
const char* check(const Node* root, int64_t& bytes);

// The length of the longest common beginning of two strings.
size_t common_prefix(std::string_view a, std::string_view b);

// The eight bytes of the key from `from` on as a number that orders like them; zeros beyond the key's end.
uint64_t head_of(std::string_view key, size_t from);

// A place in one tree; no allocation. Requires, for all but seeking: the tree has not been edited since the seek.
class Position {
 public:
  void seek(const Node* root, std::string_view key);  // the first item with this key or a greater one
  void seek_first(const Node* root);
  void seek_last(const Node* root);
  bool valid() const { return depth_ != kNowhere; }
  void next();
  void prev();
  Item* item() const { return path_[depth_].node->items[path_[depth_].slot]; }
  bool same(const Position& other) const {
    return depth_ == other.depth_ && (!valid() || (path_[depth_].node == other.path_[depth_].node &&
                                                   path_[depth_].slot == other.path_[depth_].slot));
  }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  struct Step {
    const Node* node;
    uint32_t slot;
  };
  void descend_first(const Node* node, uint32_t depth);
  void descend_last(const Node* node, uint32_t depth);

  uint32_t depth_ = kNowhere;  // of the leaf
  Step path_[kMaxDepth];
};

}  // namespace tree
}  // namespace drover::state
