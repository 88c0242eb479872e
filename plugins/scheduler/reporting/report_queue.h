// Where reports of nodes wait for one another, to become one entry of the log.
//
//   quiet ──report──▶ its entry at once ──▶ gathering, until kGather after that entry ──▶ the next entry
//                                              │ full, or of another term
//                                              └──▶ an entry before that
//
// So a lone report does not wait, none waits longer than kGather, and a storm costs twenty entries a second and those
// that are full. A pure class: the caller says what time it is, and puts the entries into the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drover/clock.h"
#include "drover/methods.h"

namespace drover::v1 {
class AllocationsReported;
}  // namespace drover::v1

namespace drover::scheduler {

// The report of one call of a node.
struct Report {
  std::shared_ptr<v1::AllocationsReported> command;
  uint64_t term = 0;  // of consensus, in which it was decided
  SteadyTime deadline;
  std::function<void(Result<Applied>)> done;
};

// Reports that go into the log together.
struct ReportEntry {
  // One caller's part of the command.
  struct Part {
    int first = 0;  // of the command's allocations
    int count = 0;
    std::function<void(Result<Applied>)> done;
  };
  std::shared_ptr<v1::AllocationsReported> command;  // with one evaluation a job
  uint64_t term = 0;
  SteadyTime deadline;  // the latest of the parts'
  std::vector<Part> parts;
};

class ReportQueue {
 public:
  static constexpr std::chrono::milliseconds kGather{50};
  // An entry holds no more, unless one report is larger: 12 ms of the apply thread.
  static constexpr int kMostAllocations = 1000;
  static constexpr size_t kMostBytes = 512 * 1024;

  // Takes a report in. Returns the entries that go now, in this order.
  std::vector<ReportEntry> add(Report report, SteadyTime now);
  // Takes all that is gathered, also before its time; nothing when nothing is.
  std::optional<ReportEntry> take(SteadyTime now);
  // When to take; nothing when nothing is gathered.
  std::optional<SteadyTime> due() const;

 private:
  void append(Report report, size_t bytes);

  ReportEntry gathered_;
  size_t bytes_ = 0;                                         // of its command
  std::set<std::pair<std::string, std::string>> evaluated_;  // namespace and job, in its command
  SteadyTime quiet_from_;                                    // no entry was made since kGather before
};

}  // namespace drover::scheduler
