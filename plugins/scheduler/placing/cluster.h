// All nodes with what is taken of them, as one evaluation sees and changes them. Pure; one owner.
//
// Columns, in blocks of 64 slots, hold what is asked of every node; what is asked of few stands beside them. Nodes
// that are alike in all that a class of nodes shares are of one kind; a kind that has many nodes has blocks of its own,
// so that a question about the kind is a question about the block.
//
// A copy shares everything with its original until one of both changes a node: it costs the same for ten allocations on
// the nodes or ten million.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"
#include "fit.h"
#include "holdings.h"
#include "volumes/coming_claims.h"

namespace drover::scheduler {

// An allocation as far as placing others is concerned.
struct Holding {
  std::string id;
  std::string name_space;
  std::string job_id;
  std::string group;
  uint64_t job_version = 0;
  Usage usage;
  bool evictable = true;  // false: it leaves already, or a plan in flight concerns it
};
std::shared_ptr<const Holding> holding_of(const v1::Allocation& alloc);

struct ClusterNode {
  std::shared_ptr<const v1::Node> node;
  NodeRoom room;
  Holdings holdings;  // that the room counts
};

inline constexpr size_t kSlots = 64;  // of a block

struct ClusterBlock {
  static constexpr uint32_t kMixed = UINT32_MAX;
  template <typename T>
  using Column = std::array<T, kSlots>;

  uint64_t live = 0;       // one bit a slot: a node is there
  uint64_t accepting = 0;  // it takes new work
  uint32_t one_kind = kMixed;
  Column<uint32_t> kind{};
  Column<int64_t> free_cpu{}, free_memory{}, free_disk{};
  Column<double> cpu_power{}, memory_power{};  // 10^(share that is free)
  Column<int32_t> spare_ports{};               // at least so many dynamic ports are free on each address
  Column<uint64_t> port_bits{};                // of taken and reserved ports beside the dynamic ones, by port_bit()
  Column<uint64_t> id_hash{};
  Column<std::shared_ptr<ClusterNode>> nodes{};
};

// A slot by its number: block * 64 + place within it.
using Slot = size_t;

class Cluster {
 public:
  Cluster() = default;
  // Requires: nobody else uses `other` meanwhile.
  Cluster(const Cluster& other);
  Cluster(Cluster&& other) = default;
  Cluster& operator=(const Cluster& other) = delete;
  Cluster& operator=(Cluster&& other) = default;
  ~Cluster() = default;

  // Adds the node or describes it anew; nothing is counted on it then.
  void put_node(std::shared_ptr<const v1::Node> node);
  void erase_node(const std::string& node_id);
  // Counts the allocation on the node; does nothing when the node is unknown.
  void add(const std::string& node_id, std::shared_ptr<const Holding> holding);
  void add(const v1::Allocation& alloc) { add(alloc.node_id(), holding_of(alloc)); }
  // False when it was not counted there.
  bool remove(const std::string& node_id, const std::string& alloc_id);

  size_t size() const { return ids_->size(); }
  // Null, nothing: the node is unknown.
  const v1::Node* find(const std::string& node_id) const;
  const NodeRoom* room(const std::string& node_id) const;
  std::optional<Slot> slot_of(const std::string& node_id) const;
  template <typename Visit>
  void visit(Visit visit) const {
    for (const auto& block : blocks_) {
      for (uint64_t left = block->live; left != 0; left &= left - 1) {
        visit(*block->nodes[static_cast<size_t>(std::countr_zero(left))]);
      }
    }
  }

  size_t blocks() const { return blocks_.size(); }
  const ClusterBlock& block(size_t index) const { return *blocks_[index]; }
  // Requires: the slot is live.
  const ClusterNode& at(Slot slot) const { return *blocks_[slot / kSlots]->nodes[slot % kSlots]; }
  // Numbers of kinds are below this; those that no node is of have no example.
  size_t kinds() const { return kinds_->all.size(); }
  // A node of the kind; null when none is left. Nodes of a kind share capacity, datacenter, pool, class, shared
  // attributes, health of drivers, modes and names of networks.
  const v1::Node* example(uint32_t kind) const { return kinds_->all[kind].example.get(); }

  // Claims that allocations on the nodes have yet to make. Null: none.
  const std::shared_ptr<const ComingClaims::ByVolume>& coming_claims() const { return coming_claims_; }
  void set_coming_claims(std::shared_ptr<const ComingClaims::ByVolume> claims) { coming_claims_ = std::move(claims); }

 private:
  struct Kinds {
    struct Counted {
      std::shared_ptr<const v1::Node> example;
      std::string key;
      size_t nodes = 0;
    };
    std::vector<Counted> all;
    std::vector<uint32_t> unused;
    std::unordered_map<std::string, uint32_t> by_key;
  };
  using Ids = std::unordered_map<std::string, Slot>;

  ClusterBlock& edit_block(size_t block);
  ClusterNode& edit(Slot slot);
  template <typename T>
  T& edit_shared(std::shared_ptr<T>& shared, bool& own);
  uint32_t enter_kind(const std::shared_ptr<const v1::Node>& node);
  void leave_kind(uint32_t kind);
  Slot free_slot(uint32_t kind);
  void gather(uint32_t kind);
  void vacate(Slot slot);
  void refresh(Slot slot);

  std::vector<std::shared_ptr<ClusterBlock>> blocks_;
  std::shared_ptr<Ids> ids_ = std::make_shared<Ids>();
  std::shared_ptr<Kinds> kinds_ = std::make_shared<Kinds>();
  std::shared_ptr<const ComingClaims::ByVolume> coming_claims_;
  // Which of them nobody shares; of nodes one bit a slot.
  mutable std::vector<bool> own_blocks_;
  mutable std::vector<uint64_t> own_nodes_;
  mutable bool own_ids_ = true, own_kinds_ = true;
};

}  // namespace drover::scheduler
