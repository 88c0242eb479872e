// Evaluations that wait for room: which of them a change of the cluster lets go on.
//
// An evaluation waits with the computed classes that its constraints allow. It goes on when a node of an allowed or a
// never seen class gains room, or any node when its constraints look at single machines. Pure; owned by EvalQueue.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/result.h"
#include "drover/v1/evaluation.pb.h"

namespace drover::scheduler {

class Blocked {
 public:
  struct Outcome {
    std::optional<v1::Evaluation> runnable;   // room came between its snapshot and now: it goes on at once
    std::optional<v1::Evaluation> duplicate;  // the other one of this job, which is no longer needed
  };
  Outcome block(const v1::Evaluation& eval);

  // A node of the class gained room at that log index. Returns those that go on; they are no longer tracked.
  std::vector<v1::Evaluation> unblock(const std::string& computed_class, uint64_t index, SteadyTime now);
  // Those whose plans met too many conflicts.
  std::vector<v1::Evaluation> take_conflicted();
  // The job changed or is gone, or the evaluation itself is done.
  void untrack_job(const std::string& name_space, const std::string& job_id);
  void untrack(const std::string& eval_id);

  // Forgets when classes last gained room, where that is long ago.
  void prune(SteadyTime older_than);
  void flush();

  struct Stats {
    size_t blocked = 0, escaped = 0;
  };
  Stats stats() const;

 private:
  using JobName = std::pair<std::string, std::string>;
  struct Gain {
    uint64_t index = 0;
    SteadyTime when;
  };
  static bool concerns(const v1::Evaluation& eval, const std::string& computed_class);

  std::map<JobName, v1::Evaluation> evals_;
  std::map<std::string, JobName> jobs_;  // by evaluation
  std::map<std::string, Gain> gains_;    // by computed class
};

}  // namespace drover::scheduler
