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

  friend bool operator==(const Neighbour&, const Neighbour&) = default;
};

class Distinct {
 public:
  Distinct(const v1::Job& job, const v1::TaskGroup& group);

  bool empty() const { return hosts_.empty() && properties_.empty(); }
  // One more (or with -1: one less) neighbour.
  void add(const Neighbour& neighbour, int sign = 1);

  // Why the node cannot have one more allocation of the group, as it stands in the metrics; empty when it can. Hosts
  // come before properties.
  std::string check(const v1::Node& node) const;
  std::string check_properties(const v1::Node& node) const;
  bool has_properties() const { return !properties_.empty(); }
  // Some property is unique to single nodes.
  bool escapes_class() const;

 private:
  struct Rule {
    bool whole_job;
    std::string property{};
    uint64_t allowed = 1;
    std::string problem{};                             // of the rule itself
    std::unordered_map<std::string, uint64_t> used{};  // by value of the property, or by node
  };
  void add(const v1::Constraint& constraint, bool whole_job);

  std::string group_;
  std::vector<Rule> hosts_, properties_;  // each in the order in which they are checked
};

}  // namespace drover::scheduler
