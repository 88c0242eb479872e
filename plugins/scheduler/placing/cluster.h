// All nodes with what is taken of them, as one evaluation sees and changes them. Pure; one owner.
//
// A copy shares everything with its original until one of both changes a node: it costs the same for ten allocations on
// the nodes or ten million.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"
#include "fit.h"

namespace drover::scheduler {

// An allocation as far as placing others is concerned.
struct Holding {
  std::string id;
  std::string name_space;
  std::string job_id;
  std::string group;
  uint64_t job_version = 0;
  Usage usage;
};
std::shared_ptr<const Holding> holding_of(const v1::Allocation& alloc);

struct ClusterNode {
  std::shared_ptr<const v1::Node> node;
  NodeRoom room;
  std::vector<std::shared_ptr<const Holding>> holdings;  // that the room counts
};

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

  size_t size() const { return size_; }
  const ClusterNode& at(size_t index) const { return *(*blocks_[index / kBlock])[index % kBlock]; }
  // Null, nothing: the node is unknown.
  const v1::Node* find(const std::string& node_id) const;
  const NodeRoom* room(const std::string& node_id) const;
  std::optional<size_t> index_of(const std::string& node_id) const;

 private:
  static constexpr size_t kBlock = 64;
  using Block = std::vector<std::shared_ptr<ClusterNode>>;
  using Ids = std::unordered_map<std::string, size_t>;

  Block& edit_block(size_t block);
  ClusterNode& edit(size_t index);
  Ids& edit_ids();

  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Ids> ids_ = std::make_shared<Ids>();
  size_t size_ = 0;
  // Which of them nobody shares.
  mutable std::vector<bool> own_blocks_, own_nodes_;
  mutable bool own_ids_ = true;
};

}  // namespace drover::scheduler
