#include "tally.h"

#include <limits>

#include "drover/result.h"

#include "drover/v1/allocation.pb.h"

namespace drover::scheduler {

Finding Reasons::number_of(Refusal refusal, std::string_view text, std::string_view more) {
  std::string key(1, refusal == Refusal::filtered ? 'f' : 'e');
  key += text;
  const auto [at, is_new] = numbers_.try_emplace(std::move(key), static_cast<Finding>(all_.size()));
  if (!is_new) return at->second;
  DROVER_CHECK(all_.size() < std::numeric_limits<Finding>::max());
  all_.push_back({refusal, std::string(text), std::string(more)});
  return at->second;
}

void Tally::refuse(Finding finding, const std::string& node_class, int32_t count) {
  if (finding <= kFits) return;
  if (by_finding_.size() <= finding) by_finding_.resize(finding + size_t{1});
  by_finding_[finding] += count;
  if (node_class.empty()) return;
  (reasons_->is_filtered(finding) ? class_filtered_ : class_exhausted_)[node_class] += count;
}

void Tally::look_at(const std::string& datacenter, int32_t count) {
  evaluated_ += count;
  available_[datacenter] += count;
}

v1::AllocMetric Tally::metric() const {
  v1::AllocMetric metric;
  const auto fill = [](const std::map<std::string, int32_t>& counts, auto& into) {
    for (const auto& [name, count] : counts) {
      if (count != 0) into[name] = count;
    }
  };
  metric.set_nodes_evaluated(evaluated_);
  metric.set_nodes_in_pool(in_pool_);
  fill(available_, *metric.mutable_nodes_available());
  fill(class_filtered_, *metric.mutable_class_filtered());
  fill(class_exhausted_, *metric.mutable_class_exhausted());
  std::map<std::string, std::map<std::string, int32_t>> alike;  // reasons that name a node
  for (size_t i = kFits + size_t{1}; i < by_finding_.size(); ++i) {
    const auto finding = static_cast<Finding>(i);
    const int32_t count = by_finding_[i];
    if (count == 0) continue;
    if (reasons_->is_filtered(finding)) {
      metric.set_nodes_filtered(metric.nodes_filtered() + count);
      const std::string& text = reasons_->text(finding);
      if (const std::string& more = reasons_->more(finding); !more.empty()) {
        alike[more][text] = count;
      } else {
        (*metric.mutable_constraint_filtered())[text] = count;
      }
    } else {
      metric.set_nodes_exhausted(metric.nodes_exhausted() + count);
      (*metric.mutable_dimension_exhausted())[reasons_->text(finding)] = count;
    }
  }
  for (const auto& [more, counts] : alike) {
    size_t named = 0;
    for (const auto& [text, count] : counts)
      (*metric.mutable_constraint_filtered())[named++ < kNodesNamed ? text : more] += count;
  }
  return metric;
}

}  // namespace drover::scheduler
