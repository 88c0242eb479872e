// This plugin's work while this server leads: follows the jobs and launches those that are due.
//
//   tables ──change feed──▶ Timetable ──due──▶ log (PeriodicLaunched) ──▶ tables
//
// [lead]
#pragma once

#include <set>
#include <stop_token>

#include "drover/plugin.h"
#include "timetable.h"

namespace drover::v1 {
class JobCounts;
class PeriodicLaunch;
}  // namespace drover::v1

namespace drover::periodic {

struct LeaderTables {
  Table<v1::PeriodicLaunch> launches;
  Table<v1::Job> jobs;          // of the plugin jobs
  Table<v1::JobCounts> counts;  // the scheduler's
};

// True while a child of the job has an evaluation that is open or an allocation that lives.
bool has_live_child(const v1::Job& job, const LeaderTables& tables, const ReadView& view);

class Leader {
 public:
  Leader(Host& host, const LeaderTables& tables) : host_(host), tables_(tables) {}
  // Returns when `stop` was requested.
  void run(std::stop_token stop);

 private:
  // Each returns false when all has to be read again.
  bool follow(std::stop_token stop);
  bool launch_due();
  bool launch(const Timetable::Due& due);

  void restore(const ReadView& view);
  void take(const Change& change, const ReadView& view);
  void set(const v1::Job& job, const ReadView& view);
  void forget_rows();
  SteadyTime next_look() const;

  Host& host_;
  const LeaderTables& tables_;
  Timetable timetable_;
  std::set<JobName> gone_;  // jobs that are none any more, and whose rows may still stand
  uint64_t term_ = 0;
};

}  // namespace drover::periodic
