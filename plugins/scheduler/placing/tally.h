// How many nodes were looked at for a placement, and how many were no use, by reason: the counts of an AllocMetric.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace drover::v1 {
class AllocMetric;
}

namespace drover::scheduler {

// The finding about a node: out of reach, can be taken, or one of the reasons why not, as a small number.
using Finding = uint32_t;
inline constexpr Finding kUnreachable = 0, kFits = 1;

enum class Refusal { filtered, exhausted };

// The reasons met so far, each by its number.
class Reasons {
 public:
  // `more`: a reason that names a node is counted under this one, beside those that a metric names.
  Finding number_of(Refusal refusal, std::string_view text, std::string_view more = {});
  bool is_filtered(Finding finding) const { return finding > kFits && all_[finding].refusal == Refusal::filtered; }
  bool is_exhausted(Finding finding) const { return finding > kFits && all_[finding].refusal == Refusal::exhausted; }
  const std::string& text(Finding finding) const { return all_[finding].text; }
  // Empty: it stands for itself.
  const std::string& more(Finding finding) const { return all_[finding].more; }

 private:
  struct Reason {
    Refusal refusal = Refusal::filtered;
    std::string text{};
    std::string more{};
  };
  std::vector<Reason> all_{2};  // the first two are none
  std::unordered_map<std::string, Finding> numbers_;
};

// A metric has so many of the reasons that differ by the node that they name, the first by their texts: it is written
// into the log, and there may be as many of them as nodes.
inline constexpr size_t kNodesNamed = 16;

// Requires: the reasons outlive it.
class Tally {
 public:
  explicit Tally(const Reasons& reasons) : reasons_(&reasons) {}

  void add_in_pool(int32_t count) { in_pool_ += count; }
  // Nodes within reach that take work.
  void look_at(const std::string& datacenter, int32_t count);
  // Those of them that cannot be taken; does nothing for kFits. `count` may be below 0: they are taken back.
  void refuse(Finding finding, const std::string& node_class, int32_t count);

  v1::AllocMetric metric() const;

 private:
  const Reasons* reasons_;
  int32_t evaluated_ = 0, in_pool_ = 0;
  std::map<std::string, int32_t> available_;       // by datacenter
  std::vector<int32_t> by_finding_;                // those that were refused
  std::map<std::string, int32_t> class_filtered_;  // by class, but for nodes without
  std::map<std::string, int32_t> class_exhausted_;
};

}  // namespace drover::scheduler
