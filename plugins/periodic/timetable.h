// Which periodic job is due when. Pure: the present comes from the caller.
//
//   a job's times are counted from its last launch, in its own zone:
//
//     last launch ──next──▶ due ── now is past it ──▶ launched with the time that was due
//                                                 └─▶ launched once, with the time of now, where more than one was
//                                                 missed
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class Job;
class PeriodicConfig;
}  // namespace drover::v1

namespace drover::periodic {

using JobName = std::pair<std::string, std::string>;  // namespace, ID

// True for a job that is launched by its expressions: on, not stopped, and not waiting for a dispatch.
bool is_launched_by_time(const v1::Job& job);

class Timetable {
 public:
  Timetable();
  ~Timetable();

  // Follows the job, or no longer if it is not launched by time. `last`: its last launch; where none is known, the time
  // since which it has been as it is. Errors: invalid_argument for expressions or a zone that this machine cannot read.
  Status set(const v1::Job& job, int64_t last);
  void forget(const JobName& name);
  void clear();

  // The next time at which something is due.
  std::optional<int64_t> next() const;

  struct Due {
    JobName job;
    int64_t launch;
  };
  // All that is due, in the order of time; each job once. Their next times are those after the launch.
  std::vector<Due> take_due(int64_t now);

 private:
  struct Entry;
  void plan(const JobName& name, Entry& entry, std::optional<int64_t> due);

  std::map<JobName, std::unique_ptr<Entry>> entries_;
  std::set<std::pair<int64_t, JobName>> queue_;
};

}  // namespace drover::periodic
