#include "cluster.h"

#include <algorithm>
#include <map>
#include <utility>

#include "drover/model/allocation.h"
#include "drover/model/node.h"
#include "hash.h"

namespace drover::scheduler {
namespace {

// A kind with fewer nodes shares its blocks with others: a block costs as much for one node as for 64.
constexpr size_t kOwnBlocksFrom = 32;

uint64_t bit(Slot slot) { return uint64_t{1} << (slot % kSlots); }

void set_bit(uint64_t& mask, Slot slot, bool on) { mask = on ? mask | bit(slot) : mask & ~bit(slot); }

class KeyText {
 public:
  void add(std::string_view part) {
    text_ += std::to_string(part.size());
    text_ += ':';
    text_ += part;
  }
  void add(int64_t part) { add(std::to_string(part)); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_capacity(const v1::Node& node, KeyText& key) {
  const Amount capacity = capacity_of(node);
  key.add(capacity.cpu);
  key.add(capacity.memory_mb);
  key.add(capacity.disk_mb);
}

void add_drivers(const v1::Node& node, KeyText& key) {
  std::map<std::string_view, int> drivers;
  for (const auto& [name, driver] : node.drivers())
    drivers[name] = (driver.detected() ? 1 : 0) + (driver.healthy() ? 2 : 0);
  for (const auto& [name, state] : drivers) {
    key.add(name);
    key.add(state);
  }
}

// Addresses are a node's own; which networks it has is not.
void add_networks(const v1::Node& node, KeyText& key) {
  for (const v1::NodeNetwork& network : node.node_resources().node_networks()) {
    key.add("network");
    key.add(network.mode());
    for (const v1::NodeAddress& address : network.addresses()) key.add(address.alias());
  }
  for (const v1::NetworkResource& network : node.node_resources().networks()) {
    key.add("old network");
    key.add(network.mode());
    key.add(network.ip().empty() ? 0 : 1);
  }
}

void add_volumes(const v1::Node& node, KeyText& key) {
  std::map<std::string, const char*> volumes;
  for (const auto& [name, volume] : node.host_volumes())
    volumes[name] = !volume.id().empty() ? "d" : volume.read_only() ? "r" : "w";
  key.add("volumes");
  for (const auto& [name, form] : volumes) {
    key.add(name);
    key.add(form);
  }
}

std::string kind_key(const v1::Node& node) {
  KeyText key;
  key.add(node.computed_class());
  if (node.computed_class().empty()) key.add(node.id());  // it may be like no other
  key.add(node.datacenter());
  key.add(node.node_pool());
  key.add(node.node_class());
  add_capacity(node, key);
  add_drivers(node, key);
  add_networks(node, key);
  add_volumes(node, key);
  return key.take();
}

}  // namespace

std::shared_ptr<const Holding> holding_of(const v1::Allocation& alloc) {
  return std::make_shared<const Holding>(Holding{.id = alloc.id(),
                                                 .name_space = alloc.namespace_(),
                                                 .job_id = alloc.job_id(),
                                                 .group = alloc.task_group(),
                                                 .job_version = alloc.job_version(),
                                                 .usage = usage_of(alloc.allocated_resources()),
                                                 .evictable = !server_terminal(alloc)});
}

Cluster::Cluster(const Cluster& other)
    : blocks_(other.blocks_),
      ids_(other.ids_),
      kinds_(other.kinds_),
      coming_claims_(other.coming_claims_),
      own_blocks_(other.blocks_.size(), false),
      own_nodes_(other.blocks_.size(), 0),
      own_ids_(false),
      own_kinds_(false) {
  other.own_blocks_.assign(blocks_.size(), false);
  other.own_nodes_.assign(blocks_.size(), 0);
  other.own_ids_ = false;
  other.own_kinds_ = false;
}

ClusterBlock& Cluster::edit_block(size_t block) {
  if (!own_blocks_[block]) {
    blocks_[block] = std::make_shared<ClusterBlock>(*blocks_[block]);
    own_blocks_[block] = true;
  }
  return *blocks_[block];
}

ClusterNode& Cluster::edit(Slot slot) {
  std::shared_ptr<ClusterNode>& node = edit_block(slot / kSlots).nodes[slot % kSlots];
  if ((own_nodes_[slot / kSlots] & bit(slot)) == 0) {
    node = std::make_shared<ClusterNode>(*node);
    own_nodes_[slot / kSlots] |= bit(slot);
  }
  return *node;
}

template <typename T>
T& Cluster::edit_shared(std::shared_ptr<T>& shared, bool& own) {
  if (!own) {
    shared = std::make_shared<T>(*shared);
    own = true;
  }
  return *shared;
}

uint32_t Cluster::enter_kind(const std::shared_ptr<const v1::Node>& node) {
  Kinds& kinds = edit_shared(kinds_, own_kinds_);
  std::string key = kind_key(*node);
  auto [at, is_new] = kinds.by_key.try_emplace(key, 0);
  if (is_new) {
    if (kinds.unused.empty()) {
      kinds.unused.push_back(static_cast<uint32_t>(kinds.all.size()));
      kinds.all.emplace_back();
    }
    at->second = kinds.unused.back();
    kinds.unused.pop_back();
    kinds.all[at->second] = {.example = node, .key = std::move(key)};
  }
  ++kinds.all[at->second].nodes;
  return at->second;
}

void Cluster::leave_kind(uint32_t kind) {
  Kinds& kinds = edit_shared(kinds_, own_kinds_);
  Kinds::Counted& counted = kinds.all[kind];
  if (--counted.nodes > 0) return;
  kinds.by_key.erase(counted.key);
  counted = {};
  kinds.unused.push_back(kind);
}

// Only for a new place: the search costs a look at every block.
Slot Cluster::free_slot(uint32_t kind) {
  const bool own = kinds_->all[kind].nodes >= kOwnBlocksFrom;
  size_t found = blocks_.size();
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const ClusterBlock& block = *blocks_[i];
    const bool suits = block.live == 0 || block.one_kind == (own ? kind : ClusterBlock::kMixed);
    if (suits && block.live != ~uint64_t{0}) {
      found = i;
      break;
    }
  }
  if (found == blocks_.size()) {
    blocks_.push_back(std::make_shared<ClusterBlock>());
    own_blocks_.push_back(true);
    own_nodes_.push_back(0);
  }
  ClusterBlock& block = edit_block(found);
  if (block.live == 0) block.one_kind = own ? kind : ClusterBlock::kMixed;
  return found * kSlots + static_cast<size_t>(std::countr_one(block.live));
}

// Moves the nodes of a kind that has become numerous to blocks of its own.
void Cluster::gather(uint32_t kind) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i]->one_kind != ClusterBlock::kMixed) continue;
    for (size_t at = 0; at < kSlots; ++at) {
      const Slot from = i * kSlots + at;
      if ((blocks_[i]->live & bit(from)) == 0 || blocks_[i]->kind[at] != kind) continue;
      const Slot to = free_slot(kind);
      ClusterBlock& old = edit_block(i);
      ClusterBlock& block = edit_block(to / kSlots);
      set_bit(block.live, to, true);
      set_bit(block.accepting, to, (old.accepting & bit(from)) != 0);
      block.kind[to % kSlots] = kind;
      block.id_hash[to % kSlots] = old.id_hash[at];
      block.nodes[to % kSlots] = std::move(old.nodes[at]);
      set_bit(own_nodes_[to / kSlots], to, (own_nodes_[i] & bit(from)) != 0);
      set_bit(old.live, from, false);
      set_bit(old.accepting, from, false);
      edit_shared(ids_, own_ids_)[block.nodes[to % kSlots]->node->id()] = to;
      refresh(to);
    }
  }
}

void Cluster::vacate(Slot slot) {
  ClusterBlock& block = edit_block(slot / kSlots);
  leave_kind(block.kind[slot % kSlots]);
  set_bit(block.live, slot, false);
  set_bit(block.accepting, slot, false);
  block.nodes[slot % kSlots] = nullptr;
}

void Cluster::put_node(std::shared_ptr<const v1::Node> node) {
  const uint32_t kind = enter_kind(node);
  auto slot = slot_of(node->id());
  if (slot && block(*slot / kSlots).kind[*slot % kSlots] == kind) {
    leave_kind(kind);  // it was counted already
  } else {
    if (slot) vacate(*slot);
    if (kinds_->all[kind].nodes == kOwnBlocksFrom) gather(kind);
    slot = free_slot(kind);
    edit_shared(ids_, own_ids_)[node->id()] = *slot;
  }
  ClusterBlock& block = edit_block(*slot / kSlots);
  const size_t at = *slot % kSlots;
  set_bit(block.live, *slot, true);
  set_bit(block.accepting, *slot, accepts_work(*node));
  block.kind[at] = kind;
  block.id_hash[at] = stable_hash(node->id());
  NodeRoom room(*node);
  block.nodes[at] = std::make_shared<ClusterNode>(ClusterNode{std::move(node), std::move(room), {}});
  own_nodes_[*slot / kSlots] |= bit(*slot);
  refresh(*slot);
}

void Cluster::erase_node(const std::string& node_id) {
  const auto slot = slot_of(node_id);
  if (!slot) return;
  edit_shared(ids_, own_ids_).erase(node_id);
  vacate(*slot);
}

// Writes what the room says into the columns.
void Cluster::refresh(Slot slot) {
  ClusterBlock& block = edit_block(slot / kSlots);
  const size_t at = slot % kSlots;
  const NodeRoom& room = block.nodes[at]->room;
  const Amount& capacity = room.capacity();
  const Amount& used = room.used();
  block.free_cpu[at] = capacity.cpu - used.cpu;
  block.free_memory[at] = capacity.memory_mb - used.memory_mb;
  block.free_disk[at] = capacity.disk_mb - used.disk_mb;
  block.cpu_power[at] = power_of_free(capacity.cpu, used.cpu);
  block.memory_power[at] = power_of_free(capacity.memory_mb, used.memory_mb);
  block.spare_ports[at] = room.spare_ports();
  block.port_bits[at] = room.port_bits();
}

void Cluster::add(const std::string& node_id, std::shared_ptr<const Holding> holding) {
  const auto slot = slot_of(node_id);
  if (!slot) return;
  ClusterNode& node = edit(*slot);
  node.room.add(holding->usage);
  node.holdings.push_back(std::move(holding));
  refresh(*slot);
}

bool Cluster::remove(const std::string& node_id, const std::string& alloc_id) {
  const auto slot = slot_of(node_id);
  if (!slot) return false;
  const auto is_it = [&](const std::shared_ptr<const Holding>& one) { return one->id == alloc_id; };
  const Holdings& holdings = at(*slot).holdings;
  const auto found = std::ranges::find_if(holdings, is_it);
  if (found == holdings.end()) return false;
  const std::shared_ptr<const Holding> leaving = *found;
  ClusterNode& node = edit(*slot);
  node.room.remove(leaving->usage);
  node.holdings.erase(found);
  refresh(*slot);
  return true;
}

const v1::Node* Cluster::find(const std::string& node_id) const {
  const auto slot = slot_of(node_id);
  return slot ? at(*slot).node.get() : nullptr;
}

const NodeRoom* Cluster::room(const std::string& node_id) const {
  const auto slot = slot_of(node_id);
  return slot ? &at(*slot).room : nullptr;
}

std::optional<Slot> Cluster::slot_of(const std::string& node_id) const {
  const auto at = ids_->find(node_id);
  if (at == ids_->end()) return std::nullopt;
  return at->second;
}

}  // namespace drover::scheduler
