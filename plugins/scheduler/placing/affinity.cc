#include "affinity.h"

#include <cmath>

#include "drover/model/constraint.h"

namespace drover::scheduler {
namespace {

v1::Constraint constraint_of(const v1::Affinity& affinity) {
  v1::Constraint constraint;
  constraint.set_l_target(affinity.l_target());
  constraint.set_r_target(affinity.r_target());
  constraint.set_operand(affinity.operand());
  return constraint;
}

}  // namespace

Affinities::Affinities(const v1::Job& job, const v1::TaskGroup& group) {
  affinities_.assign(job.affinities().begin(), job.affinities().end());
  affinities_.insert(affinities_.end(), group.affinities().begin(), group.affinities().end());
  for (const v1::Task& task : group.tasks()) {
    affinities_.insert(affinities_.end(), task.affinities().begin(), task.affinities().end());
  }
  for (const v1::Affinity& affinity : affinities_) {
    total_ += std::abs(affinity.weight());
    escaped_ = escaped_ || escapes_class(constraint_of(affinity));
  }
}

double Affinities::look(const v1::Node& node) const {
  double sum = 0;
  for (const v1::Affinity& affinity : affinities_) {
    if (meets_constraint(constraint_of(affinity), node)) sum += affinity.weight();
  }
  return total_ == 0 ? 0 : sum / total_;
}

double Affinities::score(const v1::Node& node) {
  if (affinities_.empty()) return 0;
  if (escaped_ || node.computed_class().empty()) return look(node);
  const auto [at, is_new] = by_class_.try_emplace(node.computed_class(), 0);
  if (is_new) at->second = look(node);
  return at->second;
}

}  // namespace drover::scheduler
