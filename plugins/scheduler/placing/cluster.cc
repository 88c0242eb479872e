#include "cluster.h"

#include <algorithm>
#include <utility>

namespace drover::scheduler {

std::shared_ptr<const Holding> holding_of(const v1::Allocation& alloc) {
  return std::make_shared<const Holding>(Holding{.id = alloc.id(),
                                                 .name_space = alloc.namespace_(),
                                                 .job_id = alloc.job_id(),
                                                 .group = alloc.task_group(),
                                                 .job_version = alloc.job_version(),
                                                 .usage = usage_of(alloc.allocated_resources())});
}

Cluster::Cluster(const Cluster& other)
    : blocks_(other.blocks_),
      ids_(other.ids_),
      size_(other.size_),
      own_blocks_(other.blocks_.size(), false),
      own_nodes_(other.size_, false),
      own_ids_(false) {
  other.own_blocks_.assign(blocks_.size(), false);
  other.own_nodes_.assign(size_, false);
  other.own_ids_ = false;
}

Cluster::Block& Cluster::edit_block(size_t block) {
  if (!own_blocks_[block]) {
    blocks_[block] = std::make_shared<Block>(*blocks_[block]);
    own_blocks_[block] = true;
  }
  return *blocks_[block];
}

ClusterNode& Cluster::edit(size_t index) {
  std::shared_ptr<ClusterNode>& node = edit_block(index / kBlock)[index % kBlock];
  if (!own_nodes_[index]) {
    node = std::make_shared<ClusterNode>(*node);
    own_nodes_[index] = true;
  }
  return *node;
}

Cluster::Ids& Cluster::edit_ids() {
  if (!own_ids_) {
    ids_ = std::make_shared<Ids>(*ids_);
    own_ids_ = true;
  }
  return *ids_;
}

void Cluster::put_node(std::shared_ptr<const v1::Node> node) {
  NodeRoom room(*node);
  const auto known = index_of(node->id());
  const size_t index = known.value_or(size_);
  if (!known) {
    edit_ids()[node->id()] = index;
    if (index % kBlock == 0) {
      blocks_.push_back(std::make_shared<Block>());
      own_blocks_.push_back(true);
    }
    edit_block(index / kBlock).emplace_back();
    own_nodes_.push_back(true);
    ++size_;
  }
  own_nodes_[index] = true;
  edit_block(index / kBlock)[index % kBlock] =
      std::make_shared<ClusterNode>(ClusterNode{std::move(node), std::move(room), {}});
}

void Cluster::erase_node(const std::string& node_id) {
  const auto hole = index_of(node_id);
  if (!hole) return;
  edit_ids().erase(node_id);
  const size_t last = size_ - 1;
  if (*hole != last) {  // the last one moves there
    edit_block(*hole / kBlock)[*hole % kBlock] = (*blocks_[last / kBlock])[last % kBlock];
    own_nodes_[*hole] = own_nodes_[last];
    edit_ids()[at(*hole).node->id()] = *hole;
  }
  edit_block(last / kBlock).pop_back();
  own_nodes_.pop_back();
  size_ = last;
  if (size_ % kBlock == 0) {
    blocks_.pop_back();
    own_blocks_.pop_back();
  }
}

void Cluster::add(const std::string& node_id, std::shared_ptr<const Holding> holding) {
  const auto index = index_of(node_id);
  if (!index) return;
  ClusterNode& node = edit(*index);
  node.room.add(holding->usage);
  node.holdings.push_back(std::move(holding));
}

bool Cluster::remove(const std::string& node_id, const std::string& alloc_id) {
  const auto index = index_of(node_id);
  if (!index) return false;
  const auto is_it = [&](const std::shared_ptr<const Holding>& one) { return one->id == alloc_id; };
  if (std::ranges::none_of(at(*index).holdings, is_it)) return false;
  ClusterNode& node = edit(*index);
  const auto found = std::ranges::find_if(node.holdings, is_it);
  node.room.remove((*found)->usage);
  node.holdings.erase(found);
  return true;
}

const v1::Node* Cluster::find(const std::string& node_id) const {
  const auto index = index_of(node_id);
  return index ? at(*index).node.get() : nullptr;
}

const NodeRoom* Cluster::room(const std::string& node_id) const {
  const auto index = index_of(node_id);
  return index ? &at(*index).room : nullptr;
}

std::optional<size_t> Cluster::index_of(const std::string& node_id) const {
  const auto at = ids_->find(node_id);
  if (at == ids_->end()) return std::nullopt;
  return at->second;
}

}  // namespace drover::scheduler
