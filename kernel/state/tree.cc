#include "kernel/state/tree.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "drover/result.h"

namespace drover::state::tree {

uint64_t head_of(std::string_view key, size_t from) {
  uint64_t head = 0;
  if (key.size() >= from + 8) {
    std::memcpy(&head, key.data() + from, 8);
  } else if (key.size() > from) {
    std::memcpy(&head, key.data() + from, key.size() - from);
  }
  if constexpr (std::endian::native == std::endian::little) head = __builtin_bswap64(head);
  return head;
}

namespace {

constexpr uint32_t kMinimum = kSlots / 4;     // below this, a node is joined with a neighbour
constexpr uint32_t kJoined = kSlots * 3 / 4;  // up to this, two nodes become one
constexpr size_t kWorthwhile = 4;             // common bytes in the heads that make a longer prefix worth it

Inner* inner(Node* node) { return static_cast<Inner*>(node); }
const Inner* inner(const Node* node) { return static_cast<const Inner*>(node); }
size_t node_size(const Node* node) { return node->level == 0 ? sizeof(Node) : sizeof(Inner); }
uint32_t first_key(const Node* node) { return node->level == 0 ? 0 : 1; }

std::string_view prefix_of(const Node* node) {
  if (node->prefix_length <= kInlinePrefix) return {node->prefix, node->prefix_length};
  return node->items[first_key(node)]->key().substr(0, node->prefix_length);
}

struct Found {
  uint32_t slot;  // of the first key that is not smaller
  bool equal;
};

Found search(const Node* node, std::string_view key) {
  const uint32_t first = first_key(node);
  const uint32_t end = node->count;
  const size_t skip = node->prefix_length;
  if (skip != 0) {
    const int order = key.substr(0, skip).compare(prefix_of(node));
    if (order != 0) return {order < 0 ? first : end, false};
  }
  const uint64_t head = head_of(key, skip);
  const uint64_t* base = node->heads + first;
  for (uint32_t n = end - first; n > 0;) {  // branch-free: the compiler makes the step a conditional move
    const uint32_t half = (n + 1) / 2;
    base = base[half - 1] < head ? base + half : base;
    n -= half;
  }
  auto slot = static_cast<uint32_t>(base - node->heads);
  if (slot == end || node->heads[slot] != head) return {slot, false};
  uint32_t ties = slot + 1;
  while (ties < end && node->heads[ties] == head) ++ties;
  const std::string_view rest = key.substr(skip);
  while (slot < ties) {
    const uint32_t middle = (slot + ties) / 2;
    const int order = node->items[middle]->key().substr(skip).compare(rest);
    if (order == 0) return {middle, true};
    if (order < 0) {
      slot = middle + 1;
    } else {
      ties = middle;
    }
  }
  return {slot, false};
}

uint32_t child_slot(const Node* node, std::string_view key) {
  const Found found = search(node, key);
  return found.equal ? found.slot : found.slot - 1;
}

void set_prefix(Node* node, size_t length) {
  const uint32_t first = first_key(node);
  node->prefix_length = static_cast<uint16_t>(length);
  if (length > 0 && length <= kInlinePrefix) std::memcpy(node->prefix, node->items[first]->bytes(), length);
  for (uint32_t i = first; i < node->count; ++i) node->heads[i] = head_of(node->items[i]->key(), length);
}

// Lengthens the prefix when the heads have become too alike to tell keys apart.
void extend_prefix(Node* node) {
  const uint32_t first = first_key(node);
  if (node->count < first + 2u) return;
  const uint32_t last = node->count - 1u;
  if (((node->heads[first] ^ node->heads[last]) >> (64 - 8 * kWorthwhile)) != 0) return;
  const size_t common = common_prefix(node->items[first]->key(), node->items[last]->key());
  if (common > node->prefix_length) set_prefix(node, common);
}

Node* new_node(Edit& edit, uint8_t level) {
  const size_t size = level == 0 ? sizeof(Node) : sizeof(Inner);
  void* memory = edit.memory.allocate(size, edit.table);
  Node* node = level == 0 ? new (memory) Node : new (memory) Inner;
  node->birth = edit.version;
  node->rows = 0;
  node->count = 0;
  node->table = edit.table;
  node->prefix_length = 0;
  node->level = level;
  return node;
}

// Makes `place` point to a node of this transaction.
Node* own(Edit& edit, Node*& place) {
  Node* old = place;
  if (old->birth == edit.version) return old;
  const size_t size = node_size(old);
  Node* copy = static_cast<Node*>(edit.memory.allocate(size, edit.table));
  std::memcpy(static_cast<void*>(copy), static_cast<const void*>(old), size);
  copy->birth = edit.version;
  edit.dead.emplace_back(old, Dead::node);
  place = copy;
  return copy;
}

void count_rows(Node* node) {
  node->rows = node->level == 0 ? node->count : 0;
  if (node->level == 0) return;
  for (uint32_t i = 0; i < node->count; ++i) node->rows += inner(node)->children[i]->rows;
}

void insert_slot(Node* node, uint32_t slot, Item* item, Node* child) {
  const std::string_view key = item->key();
  if (node->prefix_length != 0) {
    const size_t common = common_prefix(key, prefix_of(node));
    if (common < node->prefix_length) set_prefix(node, common);
  }
  const size_t tail = node->count - slot;
  std::memmove(node->heads + slot + 1, node->heads + slot, tail * sizeof(uint64_t));
  std::memmove(node->items + slot + 1, node->items + slot, tail * sizeof(Item*));
  node->heads[slot] = head_of(key, node->prefix_length);
  node->items[slot] = item;
  if (node->level != 0) {
    Node** children = inner(node)->children;
    std::memmove(children + slot + 1, children + slot, tail * sizeof(Node*));
    children[slot] = child;
  } else {
    ++node->rows;
  }
  ++node->count;
  if (node->count >= 4 && std::has_single_bit(node->count)) extend_prefix(node);
}

void remove_slot(Node* node, uint32_t slot) {
  const size_t tail = node->count - slot - 1u;
  std::memmove(node->heads + slot, node->heads + slot + 1, tail * sizeof(uint64_t));
  std::memmove(node->items + slot, node->items + slot + 1, tail * sizeof(Item*));
  if (node->level != 0) {
    Node** children = inner(node)->children;
    std::memmove(children + slot, children + slot + 1, tail * sizeof(Node*));
  } else {
    --node->rows;
  }
  --node->count;
  if (node->count <= first_key(node)) node->prefix_length = 0;
}

// Fills the node with these slots. For inner nodes the item of the first slot is ignored.
void assign(Node* node, Item* const* items, Node* const* children, uint32_t count) {
  node->count = static_cast<uint16_t>(count);
  std::copy_n(items, count, node->items);
  if (node->level != 0) {
    std::copy_n(children, count, inner(node)->children);
    node->items[0] = nullptr;
    node->heads[0] = 0;
  }
  count_rows(node);
  const uint32_t first = first_key(node);
  size_t common = 0;
  if (count >= first + 2) common = common_prefix(node->items[first]->key(), node->items[count - 1]->key());
  set_prefix(node, common >= kWorthwhile ? common : 0);
}

Item* make_separator(Edit& edit, std::string_view below, std::string_view above) {
  return edit.memory.make_item(edit.version, edit.table, above.substr(0, common_prefix(below, above) + 1), {}, {});
}

// Moves the slots from `from` on into a new right neighbour. Splitting an inner node hands out the separator of the
// slot `from` for the parent.
Node* split(Edit& edit, Node* node, uint32_t from, Item** separator) {
  Node* right = new_node(edit, node->level);
  const uint32_t moved = node->count - from;
  right->count = static_cast<uint16_t>(moved);
  right->prefix_length = node->prefix_length;
  std::memcpy(right->prefix, node->prefix, sizeof node->prefix);
  std::copy_n(node->heads + from, moved, right->heads);
  std::copy_n(node->items + from, moved, right->items);
  node->count = static_cast<uint16_t>(from);
  if (node->level != 0) {
    std::copy_n(inner(node)->children + from, moved, inner(right)->children);
    *separator = right->items[0];
    right->items[0] = nullptr;
    right->heads[0] = 0;
  }
  for (Node* half : {node, right}) {
    if (half->count <= first_key(half)) half->prefix_length = 0;
    count_rows(half);
    extend_prefix(half);
  }
  return right;
}

struct Step {
  Inner* node;
  uint32_t slot;
};

// Hangs `right` beside the child at the end of the path, splitting upward where nodes are full.
void add_sibling(Edit& edit, Node*& root, Step* path, uint32_t depth, Node* right, Item* separator, bool at_edge) {
  while (depth > 0) {
    const Step step = path[--depth];
    Inner* parent = step.node;
    const uint32_t at = step.slot + 1;
    if (parent->count < kSlots) return insert_slot(parent, at, separator, right);
    if (at_edge) {  // ascending keys: leave full nodes behind
      Node* next = new_node(edit, parent->level);
      assign(next, &separator, &right, 1);
      count_rows(parent);
      right = next;
      continue;
    }
    Item* raised = nullptr;
    Node* next = split(edit, parent, kSlots / 2, &raised);
    const bool into_left = at <= parent->count;
    Node* target = into_left ? parent : next;
    insert_slot(target, into_left ? at : at - parent->count, separator, right);
    count_rows(target);
    right = next;
    separator = raised;
  }
  DROVER_CHECK(root->level + 2u < kMaxDepth);
  Node* top = new_node(edit, static_cast<uint8_t>(root->level + 1));
  Item* separators[] = {nullptr, separator};
  Node* children[] = {root, right};
  assign(top, separators, children, 2);
  root = top;
}

// Joins the children at `left` and `left + 1`, or evens them out.
void join(Edit& edit, Inner* parent, uint32_t left) {
  Node* a = own(edit, parent->children[left]);
  Node* b = own(edit, parent->children[left + 1]);
  Item* separator = parent->items[left + 1];
  const uint32_t total = uint32_t{a->count} + b->count;
  Item* items[2 * kSlots];
  Node* children[2 * kSlots] = {};
  std::copy_n(a->items, a->count, items);
  std::copy_n(b->items, b->count, items + a->count);
  if (a->level != 0) {
    std::copy_n(inner(a)->children, a->count, children);
    std::copy_n(inner(b)->children, b->count, children + a->count);
    items[a->count] = separator;
  } else {
    edit.dead.emplace_back(separator);
  }
  remove_slot(parent, left + 1);
  if (total <= kJoined) {
    assign(a, items, children, total);
    free_node(edit.memory, b);
    return;
  }
  const uint32_t half = total / 2;
  assign(a, items, children, half);
  assign(b, items + half, children + half, total - half);
  separator = a->level != 0 ? items[half] : make_separator(edit, items[half - 1]->key(), items[half]->key());
  insert_slot(parent, left + 1, separator, b);
}

// Takes an empty child out of its parent.
void drop_child(Edit& edit, Inner* parent, uint32_t slot) {
  free_node(edit.memory, parent->children[slot]);
  if (parent->count > 1) edit.dead.emplace_back(parent->items[std::max(slot, 1u)]);
  remove_slot(parent, slot);
  if (slot == 0) {
    parent->items[0] = nullptr;
    parent->heads[0] = 0;
  }
}

}  // namespace

size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t length = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.data(), a.data() + length, b.data()).first - a.data());
}

void free_node(Memory& memory, Node* node) { memory.deallocate(node, node_size(node), node->table); }

Item* find(const Node* root, std::string_view key) {
  if (root == nullptr) return nullptr;
  const Node* node = root;
  while (node->level != 0) node = inner(node)->children[child_slot(node, key)];
  const Found found = search(node, key);
  return found.equal ? node->items[found.slot] : nullptr;
}

Item* insert(Edit& edit, Node*& root, Item* item) {
  const std::string_view key = item->key();
  if (root == nullptr) root = new_node(edit, 0);
  Step path[kMaxDepth];
  uint32_t depth = 0;
  bool at_edge = true;
  Node* node = own(edit, root);
  while (node->level != 0) {
    const uint32_t slot = child_slot(node, key);
    at_edge = at_edge && slot + 1u == node->count;
    path[depth++] = {inner(node), slot};
    node = own(edit, inner(node)->children[slot]);
  }
  const Found found = search(node, key);
  if (found.equal) return std::exchange(node->items[found.slot], item);

  for (uint32_t i = 0; i < depth; ++i) ++path[i].node->rows;
  if (node->count < kSlots) {
    insert_slot(node, found.slot, item, nullptr);
    return nullptr;
  }
  at_edge = at_edge && found.slot == kSlots;
  Node* right = at_edge ? new_node(edit, 0) : split(edit, node, kSlots / 2, nullptr);
  const bool into_left = !at_edge && found.slot <= node->count;
  insert_slot(into_left ? node : right, into_left ? found.slot : found.slot - node->count, item, nullptr);
  Item* separator = make_separator(edit, node->items[node->count - 1]->key(), right->items[0]->key());
  add_sibling(edit, root, path, depth, right, separator, at_edge);
  return nullptr;
}

Item* erase(Edit& edit, Node*& root, std::string_view key) {
  if (find(root, key) == nullptr) return nullptr;  // an absent key copies nothing
  Step path[kMaxDepth];
  uint32_t depth = 0;
  Node* node = own(edit, root);
  while (node->level != 0) {
    const uint32_t slot = child_slot(node, key);
    path[depth++] = {inner(node), slot};
    --node->rows;
    node = own(edit, inner(node)->children[slot]);
  }
  const uint32_t slot = search(node, key).slot;
  Item* removed = node->items[slot];
  remove_slot(node, slot);

  for (; depth > 0 && node->count < kMinimum; node = path[--depth].node) {
    const Step step = path[depth - 1];
    if (node->count == 0) {
      drop_child(edit, step.node, step.slot);
    } else if (step.node->count > 1) {  // an only child waits for its parent to be joined
      join(edit, step.node, step.slot > 0 ? step.slot - 1 : 0);
    }
  }
  while (root->level != 0 && root->count == 1) {
    Node* child = inner(root)->children[0];
    free_node(edit.memory, root);
    root = child;
    if (root->birth != edit.version) break;  // published nodes are not collapsed further: they are not ours to free
  }
  if (root->count == 0) {
    free_node(edit.memory, root);
    root = nullptr;
  }
  return removed;
}

Node* build(Edit& edit, std::span<Item* const> items) {
  if (items.empty()) return nullptr;
  std::vector<Node*> nodes;
  std::vector<Item*> separators;  // separators[i] divides nodes[i - 1] from nodes[i]
  for (size_t at = 0; at < items.size(); at += kSlots) {
    Node* leaf = new_node(edit, 0);
    assign(leaf, items.data() + at, nullptr, static_cast<uint32_t>(std::min<size_t>(kSlots, items.size() - at)));
    nodes.push_back(leaf);
    separators.push_back(at == 0 ? nullptr : make_separator(edit, items[at - 1]->key(), items[at]->key()));
  }
  for (uint8_t level = 1; nodes.size() > 1; ++level) {
    size_t made = 0;
    for (size_t at = 0; at < nodes.size(); at += kSlots) {
      Node* above = new_node(edit, level);
      assign(above, separators.data() + at, nodes.data() + at,
             static_cast<uint32_t>(std::min<size_t>(kSlots, nodes.size() - at)));
      separators[made] = separators[at];
      nodes[made++] = above;
    }
    nodes.resize(made);
    separators.resize(made);
  }
  return nodes[0];
}

uint64_t rank(const Node* root, std::string_view key) {
  if (root == nullptr) return 0;
  uint64_t below = 0;
  const Node* node = root;
  while (node->level != 0) {
    const uint32_t slot = child_slot(node, key);
    for (uint32_t i = 0; i < slot; ++i) below += inner(node)->children[i]->rows;
    node = inner(node)->children[slot];
  }
  return below + search(node, key).slot;
}

void Position::descend_first(const Node* node, uint32_t depth) {
  for (; node->level != 0; node = inner(node)->children[0]) path_[depth++] = {node, 0};
  path_[depth] = {node, 0};
  depth_ = depth;
}

void Position::descend_last(const Node* node, uint32_t depth) {
  for (; node->level != 0; node = inner(node)->children[node->count - 1]) path_[depth++] = {node, node->count - 1u};
  path_[depth] = {node, node->count - 1u};
  depth_ = depth;
}

void Position::seek(const Node* root, std::string_view key) {
  depth_ = kNowhere;
  if (root == nullptr) return;
  uint32_t depth = 0;
  const Node* node = root;
  while (node->level != 0) {
    const uint32_t slot = child_slot(node, key);
    path_[depth++] = {node, slot};
    node = inner(node)->children[slot];
  }
  const uint32_t slot = search(node, key).slot;
  depth_ = depth;
  if (slot < node->count) {
    path_[depth] = {node, slot};
  } else {
    path_[depth] = {node, node->count - 1u};
    next();
  }
}

void Position::seek_first(const Node* root) {
  depth_ = kNowhere;
  if (root != nullptr) descend_first(root, 0);
}

void Position::seek_last(const Node* root) {
  depth_ = kNowhere;
  if (root != nullptr) descend_last(root, 0);
}

void Position::next() {
  Step& leaf = path_[depth_];
  if (++leaf.slot < leaf.node->count) {
    if (leaf.slot + 2u < leaf.node->count) __builtin_prefetch(leaf.node->items[leaf.slot + 2]);
    return;
  }
  uint32_t depth = depth_;
  while (depth > 0) {
    Step& step = path_[--depth];
    if (++step.slot >= step.node->count) continue;
    if (step.slot + 1u < step.node->count) __builtin_prefetch(inner(step.node)->children[step.slot + 1]);
    return descend_first(inner(step.node)->children[step.slot], depth + 1);
  }
  depth_ = kNowhere;
}

void Position::prev() {
  if (path_[depth_].slot > 0) {
    --path_[depth_].slot;
    return;
  }
  uint32_t depth = depth_;
  while (depth > 0) {
    Step& step = path_[--depth];
    if (step.slot == 0) continue;
    --step.slot;
    return descend_last(inner(step.node)->children[step.slot], depth + 1);
  }
  depth_ = kNowhere;
}

namespace {

// Keys of the node lie in [low, high); null bounds are open.
const char* check_node(const Node* node, const Item* low, const Item* high, int64_t& bytes) {
  if (node->count == 0 || node->count > kSlots) return "a node's slot count is out of range";
  bytes += static_cast<int64_t>(node_size(node));
  uint64_t rows = node->level == 0 ? node->count : 0;
  const uint32_t first = first_key(node);
  for (uint32_t i = 0; i < node->count; ++i) {
    const Item* item = node->items[i];
    if (i >= first) {
      const std::string_view key = item->key();
      bytes += static_cast<int64_t>(item->allocated());
      if (item->birth > node->birth) return "an item is younger than its node";
      if (key.substr(0, node->prefix_length) != prefix_of(node)) return "a key lacks its node's prefix";
      if (node->heads[i] != head_of(key, node->prefix_length)) return "a head does not belong to its key";
      if (i > first && node->items[i - 1]->key() >= key) return "keys are not ascending";
      if (low != nullptr && key < low->key()) return "a key is below its separator";
      if (high != nullptr && key >= high->key()) return "a key is not below the next separator";
    }
    if (node->level == 0) continue;
    const Node* child = inner(node)->children[i];
    if (child->level + 1 != node->level) return "levels do not descend by one";
    if (child->birth > node->birth) return "a child is younger than its parent";
    const Item* from = i == 0 ? low : item;
    const Item* to = i + 1u < node->count ? node->items[i + 1] : high;
    if (const char* wrong = check_node(child, from, to, bytes)) return wrong;
    rows += child->rows;
  }
  return rows == node->rows ? nullptr : "a node's row count is wrong";
}

}  // namespace

const char* check(const Node* root, int64_t& bytes) {
  return root == nullptr ? nullptr : check_node(root, nullptr, nullptr, bytes);
}

}  // namespace drover::state::tree
