// How well a node meets the affinities of a job, a group and its tasks. Pure; one owner.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

class Affinities {
 public:
  Affinities(const v1::Job& job, const v1::TaskGroup& group);

  bool empty() const { return affinities_.empty(); }
  bool escaped() const { return escaped_; }
  // -1 to 1: the sum of the weights that the node meets, of the sum of all without their signs. Asked once a class of
  // nodes, unless an affinity escapes it.
  double score(const v1::Node& node);

 private:
  double look(const v1::Node& node) const;

  std::vector<v1::Affinity> affinities_;
  double total_ = 0;
  bool escaped_ = false;
  std::unordered_map<std::string, double> by_class_;
};

}  // namespace drover::scheduler
