#include "reporting/report_queue.h"

#include <algorithm>

#include "scheduler.pb.h"

namespace drover::scheduler {

std::vector<ReportEntry> ReportQueue::add(Report report, SteadyTime now) {
  std::vector<ReportEntry> ready;
  const size_t bytes = report.command->ByteSizeLong();
  const int gathered = gathered_.command ? gathered_.command->allocations_size() : 0;
  const bool has_room =
      gathered + report.command->allocations_size() <= kMostAllocations && bytes_ + bytes <= kMostBytes;
  if (!gathered_.parts.empty() && (gathered_.term != report.term || !has_room)) ready.push_back(*take(now));
  append(std::move(report), bytes);
  // Behind a full entry, a report waits as the rest of its storm does.
  if (now >= quiet_from_) ready.push_back(*take(now));
  return ready;
}

std::optional<ReportEntry> ReportQueue::take(SteadyTime now) {
  if (gathered_.parts.empty()) return std::nullopt;
  quiet_from_ = now + kGather;
  bytes_ = 0;
  evaluated_.clear();
  return std::exchange(gathered_, {});
}

std::optional<SteadyTime> ReportQueue::due() const {
  if (gathered_.parts.empty()) return std::nullopt;
  return quiet_from_;
}

void ReportQueue::append(Report report, size_t bytes) {
  if (!gathered_.command) gathered_.command = std::make_shared<v1::AllocationsReported>();
  v1::AllocationsReported& into = *gathered_.command;
  v1::AllocationsReported& from = *report.command;
  gathered_.parts.push_back(
      {.first = into.allocations_size(), .count = from.allocations_size(), .done = std::move(report.done)});
  for (v1::Allocation& allocation : *from.mutable_allocations()) *into.add_allocations() = std::move(allocation);
  for (v1::Evaluation& evaluation : *from.mutable_evaluations()) {
    if (!evaluated_.emplace(evaluation.namespace_(), evaluation.job_id()).second) continue;
    *into.add_evaluations() = std::move(evaluation);
  }
  into.set_time(std::max(into.time(), from.time()));
  gathered_.term = report.term;
  gathered_.deadline = std::max(gathered_.deadline, report.deadline);
  bytes_ += bytes;
}

}  // namespace drover::scheduler
