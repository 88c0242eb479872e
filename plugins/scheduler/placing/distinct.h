// Constraints on where the job's other allocations are: distinct_hosts and distinct_property. Pure; one owner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

// "1", "t", "true", "0", "f", "false" and their spellings; nothing for another text.
std::optional<bool> parse_bool(std::string_view text);

bool is_distinct(const v1::Constraint& constraint);

// An allocation of the job that is on a node, or will be.
struct Neighbour {
  const v1::Node* node;  // null when the node is gone
  std::string group;
  bool stopping = false;  // it is to stop, and its node has not said that it has
};

class Distinct {
 public:
  Distinct(const v1::Job& job, const v1::TaskGroup& group);

  bool empty() const { return rules_.empty(); }
  // Where the neighbours are now.
  void count(const std::vector<Neighbour>& neighbours);
  // Why the node cannot have one more allocation of the group, as it stands in the metrics; empty when it can.
  std::string check(const v1::Node& node) const;

 private:
  struct Rule {
    std::string property;  // empty: the node itself
    bool whole_job;
    uint64_t allowed = 1;
    std::string problem{};                             // of the rule itself
    std::unordered_map<std::string, uint64_t> used{};  // by value of the property, or by node
  };
  void add(const v1::Constraint& constraint, bool whole_job);

  std::string group_;
  std::vector<Rule> rules_;  // in the order in which they are checked
};

}  // namespace drover::scheduler
