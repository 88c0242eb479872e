#include "counts/job_counts.h"

#include <algorithm>

#include "drover/model/allocation.h"
#include "drover/model/evaluation.h"
#include "tables.h"

namespace drover::scheduler {
namespace {

using Group = v1::JobCounts::Group;

Group& group_of(v1::JobCounts& counts, uint64_t job_create_index, const std::string& name) {
  for (Group& group : *counts.mutable_groups()) {
    if (group.job_create_index() == job_create_index && group.name() == name) return group;
  }
  Group& group = *counts.add_groups();
  group.set_job_create_index(job_create_index);
  group.set_name(name);
  return group;
}

void add(Group& group, v1::ClientStatus status, int32_t sign) {
  switch (status) {
    case v1::CLIENT_STATUS_PENDING:
      return group.set_starting(group.starting() + sign);
    case v1::CLIENT_STATUS_RUNNING:
      return group.set_running(group.running() + sign);
    case v1::CLIENT_STATUS_COMPLETE:
      return group.set_complete(group.complete() + sign);
    case v1::CLIENT_STATUS_FAILED:
      return group.set_failed(group.failed() + sign);
    case v1::CLIENT_STATUS_LOST:
      return group.set_lost(group.lost() + sign);
    default:
      return group.set_unknown(group.unknown() + sign);
  }
}

bool is_empty(const Group& group) {
  return group.starting() == 0 && group.running() == 0 && group.complete() == 0 && group.failed() == 0 &&
         group.lost() == 0 && group.unknown() == 0;
}

}  // namespace

CountedAlloc::CountedAlloc(const v1::Allocation& alloc)
    : exists_(true),
      is_live_(!terminal(alloc)),
      job_create_index_(alloc.job_create_index()),
      group_(alloc.task_group()),
      status_(alloc.client_status()) {}

void CountedAlloc::add_to(v1::JobCounts& counts, int32_t sign) const {
  if (!exists_) return;
  counts.set_allocations(counts.allocations() + sign);
  if (is_live_) counts.set_live_allocations(counts.live_allocations() + sign);
  Group& group = group_of(counts, job_create_index_, group_);
  add(group, status_, sign);
  if (!is_empty(group)) return;
  auto& groups = *counts.mutable_groups();
  groups.erase(std::ranges::find_if(groups, is_empty));
}

CountedEval::CountedEval(const v1::Evaluation& eval) : id_(eval.id()), status_(eval.status()) {}

void CountedEval::add_to(v1::JobCounts& counts, int32_t sign) const {
  if (id_.empty()) return;
  counts.set_evaluations(counts.evaluations() + sign);
  if (is_open(status_)) counts.set_open_evaluations(counts.open_evaluations() + sign);
  if (status_ != v1::EVAL_STATUS_BLOCKED) return;
  auto& blocked = *counts.mutable_blocked_evaluations();
  if (sign > 0) {
    *blocked.Add() = id_;
  } else if (const auto at = std::ranges::find(blocked, id_); at != blocked.end()) {
    blocked.erase(at);
  }
}

void take_queued(v1::JobCounts& counts, const v1::Evaluation& eval) {
  // A blocked one has not looked yet: what is queued is what the one before it left over.
  if (is_open(eval.status()) || eval.create_index() < counts.queued_index()) return;
  *counts.mutable_queued() = eval.queued_allocations();
  counts.set_queued_index(eval.create_index());
}

}  // namespace drover::scheduler
