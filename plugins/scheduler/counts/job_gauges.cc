#include "counts/job_gauges.h"

#include <algorithm>

#include "drover/message_fields.h"
#include "drover/messages.h"
#include "drover/v1/job.pb.h"

namespace drover::scheduler {
namespace {

constexpr std::string_view kSummary = "nomad.nomad.job_summary.";

struct Gauge {
  std::string name;
  Labels labels;
  int32_t value;
};

// Those of the present job: one that was purged and registered anew is another.
std::vector<Gauge> gauges_of(const v1::JobCounts& counts) {
  uint64_t newest = 0;
  for (const auto& group : counts.groups()) newest = std::max(newest, group.job_create_index());
  std::vector<Gauge> gauges;
  for (const auto& group : counts.groups()) {
    if (group.job_create_index() != newest) continue;
    const auto queued = counts.queued().find(group.name());
    const std::pair<const char*, int32_t> values[] = {{"queued", queued == counts.queued().end() ? 0 : queued->second},
                                                      {"complete", group.complete()},
                                                      {"failed", group.failed()},
                                                      {"running", group.running()},
                                                      {"starting", group.starting()},
                                                      {"lost", group.lost()},
                                                      {"unknown", group.unknown()}};
    for (const auto& [name, value] : values) {
      gauges.push_back({std::string(kSummary) + name,
                        {{"job", counts.job_id()}, {"task_group", group.name()}, {"namespace", counts.namespace_()}},
                        value});
    }
  }
  return gauges;
}

}  // namespace

void JobGauges::restore(const ReadView& view) {
  shown_.clear();
  statuses_ = {{"pending", 0}, {"running", 0}, {"dead", 0}};
  tables_.counts.scan(view, kPrimary, KeyRange::all(), [&](v1::JobCounts& counts, std::string_view) {
    show(counts);
    return true;
  });
  for (auto row = view.scan(tables_.jobs, kPrimary, KeyRange::all(), Order::forward); row->valid(); row->next())
    count_status(row->row(), 1);
  show_statuses();
}

void JobGauges::take(const Change& change) {
  if (change.table == tables_.counts.id()) {
    if (change.before) {
      for (const Gauge& gauge : gauges_of(change.before->as<v1::JobCounts>())) shown_.remove(gauge.name, gauge.labels);
    }
    if (change.after) show(change.after->as<v1::JobCounts>());
  } else if (change.table == tables_.jobs) {
    if (change.before) count_status(change.before->bytes(), -1);
    if (change.after) count_status(change.after->bytes(), 1);
    show_statuses();
  }
}

void JobGauges::show(const v1::JobCounts& counts) {
  for (const Gauge& gauge : gauges_of(counts)) shown_.set(gauge.name, gauge.value, gauge.labels);
}

void JobGauges::count_status(std::string_view job_row, int change) {
  switch (number_field(job_row, v1::Job::kStatusFieldNumber)) {
    case v1::JOB_STATUS_RUNNING:
      statuses_["running"] += change;
      break;
    case v1::JOB_STATUS_DEAD:
      statuses_["dead"] += change;
      break;
    default:
      statuses_["pending"] += change;
  }
}

void JobGauges::show_statuses() {
  for (const auto& [status, count] : statuses_) shown_.set("nomad.nomad.job_status." + status, count);
}

}  // namespace drover::scheduler
