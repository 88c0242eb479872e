// Watches the deployments that are under way while this server leads: follows the change feed, and does what
// deployment_step says. A deployment that changed is looked at 250 ms later, together with all others of that time, and
// one that has just asked for an evaluation not before a second has passed.
//
// Keeps nothing that a new leader would miss: it decides on the rows alone. [lead]
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "deployment_step.h"
#include "drover/due_times.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class AllocationsTransitioned;
}

namespace drover::deployments {

class Watcher {
 public:
  Watcher(Host& host, const Tables& tables) : host_(host), tables_(tables) {}
  // Returns when `stop` was requested.
  void run(std::stop_token stop);

  // The parts of it: what is there at first, then each change, and a look at what is due at `now`.
  void restore(const ReadView& view);
  void take(const Change& change);
  void look(SteadyTime now);

 private:
  using JobName = std::pair<std::string, std::string>;

  void follow(std::stop_token stop);
  SteadyTime next_look() const;
  void decide(const std::string& id, const ReadView& view, v1::AllocationsTransitioned& together);
  void fail(const v1::Deployment& deployment, const Revert& revert, const v1::Job* job);
  void promote(const v1::Deployment& deployment, const v1::Job* job);
  void send(v1::AllocationsTransitioned& together);
  template <typename Command>
  bool propose(const Command& command, std::string_view what);

  Host& host_;
  const Tables& tables_;
  uint64_t term_ = 0;                         // in which the present decisions are made
  DueTimes<std::string> due_;                 // deployments to look at
  std::map<JobName, SteadyTime> not_before_;  // jobs that have just got an evaluation
};

}  // namespace drover::deployments
