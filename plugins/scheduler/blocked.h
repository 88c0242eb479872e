// Evaluations that wait for room: which of them a change of the cluster lets go on.
//
// An evaluation waits with the computed classes that its constraints allow. It goes on when a node of an allowed or a
// never seen class gains room, or any node when its constraints look at single machines. One that names a node waits
// for that node alone. One that waits for storage names volumes and plugins, and goes on when something becomes better
// there; where nothing else would help, room on nodes leaves it alone. A job has one that waits, and one for each node.
// Pure; owned by EvalQueue.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "drover/clock.h"
#include "drover/result.h"
#include "drover/v1/evaluation.pb.h"
#include "volumes/gains.h"

namespace drover::scheduler {

class Blocked {
 public:
  struct Outcome {
    std::optional<v1::Evaluation> runnable;   // room came between its snapshot and now: it goes on at once
    std::optional<v1::Evaluation> duplicate;  // the other one of this job and node, which is no longer needed
  };
  Outcome block(const v1::Evaluation& eval);

  // A node of the class gained room at that log index. Returns those that go on; they are no longer tracked.
  std::vector<v1::Evaluation> unblock(const std::string& node_id, const std::string& computed_class, uint64_t index,
                                      SteadyTime now);
  // The same of storage: only those go on that wait for it.
  std::vector<v1::Evaluation> unblock_storage(const StorageGain& gain, uint64_t index, SteadyTime now);
  // Nobody knows what became better up to that log index: all that wait for storage go on, the ones to come, too, whose
  // snapshots are older.
  std::vector<v1::Evaluation> unblock_all_storage(uint64_t index);
  bool awaits_storage() const { return awaiting_storage_ > 0; }
  // Those whose plans met too many conflicts.
  std::vector<v1::Evaluation> take_conflicted();
  // The job changed or is gone, or the evaluation itself is done.
  void untrack_job(const std::string& name_space, const std::string& job_id);
  void untrack(const std::string& eval_id);

  // Forgets when nodes last gained room, where that is long ago.
  void prune(SteadyTime older_than);
  void flush();

  struct Stats {
    size_t blocked = 0, escaped = 0;
  };
  Stats stats() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // namespace, job, node or nothing
  struct Gain {
    uint64_t index = 0;
    SteadyTime when;
  };
  using Gains = std::map<std::string, Gain>;
  static bool concerns(const v1::Evaluation& eval, const std::string& computed_class);
  bool came_since(const v1::Evaluation& eval) const;
  void put(const Key& key, const v1::Evaluation& eval);
  void drop(std::map<Key, v1::Evaluation>::iterator at);
  std::vector<v1::Evaluation> take_if(const std::function<bool(const v1::Evaluation&)>& goes_on);

  std::map<Key, v1::Evaluation> evals_;
  std::map<std::string, Key> keys_;  // by evaluation
  Gains class_gains_;                // by computed class
  Gains node_gains_;
  struct VolumeGain {
    StorageGain what;
    Gain gain;
  };
  std::map<std::tuple<std::string, std::string, std::string>, VolumeGain> storage_gains_;  // by what
  uint64_t unknown_storage_gains_ = 0;
  size_t awaiting_storage_ = 0;  // of evals_
};

}  // namespace drover::scheduler
