// Gauges of jobs while this server leads, kept with each change of a row:
//
//   nomad.nomad.job_summary.*   by job and group: its allocations by what their nodes say, and how many are queued
//   nomad.nomad.job_status.*    how many jobs are pending, running and dead
//
// Removes them at its end. One owner.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "drover/metrics.h"
#include "drover/tables.h"
#include "tables.h"

namespace drover::v1 {
class JobCounts;
}

namespace drover::scheduler {

class JobGauges {
 public:
  JobGauges(Metrics& metrics, const Tables& tables) : shown_(metrics), tables_(tables) {}

  void restore(const ReadView& view);  // begins anew
  // The change of any table; those that do not matter are passed over.
  void take(const Change& change);

 private:
  void show(const v1::JobCounts& counts);
  void count_status(std::string_view job_row, int change);
  void show_statuses();

  GaugeSet shown_;
  const Tables& tables_;
  std::map<std::string, int> statuses_;  // jobs by status
};

}  // namespace drover::scheduler
