#include "reporting/report_merger.h"

#include <algorithm>
#include <memory>

#include "drover/uuid.h"
#include "scheduler.pb.h"
#include "tables.h"

namespace drover::scheduler {
namespace {

// Tells the parts of an entry what the log says of them.
void answer(std::vector<ReportEntry::Part>& parts, const Result<Applied>& applied) {
  v1::AllocationsReportedAnswer told;
  if (applied && !told.ParseFromString(applied->answer)) {
    const Status unreadable = internal_error("the answer to a report cannot be read");
    for (ReportEntry::Part& part : parts) part.done(unreadable);
    return;
  }
  auto refusal = told.refused().begin();  // in the order of the reports, as the parts are
  for (ReportEntry::Part& part : parts) {
    const int end = part.first + part.count;
    while (refusal != told.refused().end() && static_cast<int>(refusal->at()) < part.first) ++refusal;
    if (refusal != told.refused().end() && static_cast<int>(refusal->at()) < end) {
      part.done(refused_report(refusal->node_id(), refusal->status()));
    } else {
      part.done(applied);
    }
  }
}

}  // namespace

Status refused_report(const std::string& node_id, v1::NodeStatus status) {
  const std::string node = "node " + Uuid::from_bytes(node_id).to_string();
  if (status == v1::NODE_STATUS_UNSPECIFIED) return not_found(node + " not found");
  return failed_precondition(node + " is not allowed to update allocs while in status " +
                             std::string(status_text(status)));
}

void ReportMerger::propose(std::string payload, SteadyTime deadline, uint64_t only_in_term,
                           std::function<void(Result<Applied>)> done) {
  auto command = parse_message<v1::AllocationsReported>(payload);
  if (!command) return done(command.status());
  std::vector<ReportEntry> ready;
  std::optional<std::chrono::nanoseconds> wait;
  {
    const MutexLock lock(mutex_);
    const SteadyTime now = host_->clock().steady();
    ready = queue_.add({.command = std::make_shared<v1::AllocationsReported>(*std::move(command)),
                        .term = only_in_term,
                        .deadline = deadline,
                        .done = std::move(done)},
                       now);
    if (is_stopped_) {
      if (auto rest = queue_.take(now)) ready.push_back(*std::move(rest));
    }
    if (const auto due = queue_.due(); due && !is_awaited_) {
      is_awaited_ = true;
      wait = *due - now;
    }
  }
  for (ReportEntry& entry : ready) write(std::move(entry));
  if (wait) host_->post_after(*wait, [this] { write_gathered(); });
}

void ReportMerger::write_gathered() {
  std::optional<ReportEntry> entry;
  {
    const MutexLock lock(mutex_);
    is_awaited_ = false;
    entry = queue_.take(host_->clock().steady());
  }
  if (entry) write(*std::move(entry));
}

void ReportMerger::stop() {
  if (!host_) return;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
  }
  write_gathered();
}

void ReportMerger::write(ReportEntry entry) {
  auto parts = std::make_shared<std::vector<ReportEntry::Part>>(std::move(entry.parts));
  host_->propose(v1::AllocationsReported::descriptor()->full_name(), serialize(*entry.command), entry.deadline,
                 entry.term, [parts](const Result<Applied>& applied) { answer(*parts, applied); });
}

}  // namespace drover::scheduler
