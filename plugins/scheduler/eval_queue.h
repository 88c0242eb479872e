// The broker and the blocked set behind one lock: where the change feed puts evaluations and workers take them. [any]
//
// Open only while this server leads; closed, it is empty and hands out nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "blocked.h"
#include "broker.h"
#include "drover/clock.h"
#include "drover/metrics.h"
#include "drover/mutex.h"

namespace drover::scheduler {

class EvalQueue {
 public:
  explicit EvalQueue(Clock& clock) : clock_(clock) {}

  void flush();
  // While it is paused nothing is handed out.
  void pause(bool paused);
  // Before what is blocked is told anew.
  void forget_blocked();

  // A row of the table as it now stands. Blocked ones that another has made needless are returned to be cancelled.
  std::optional<v1::Evaluation> changed(const v1::Evaluation& eval);
  // Its row is gone. One that is in flight stays until its answer.
  void deleted(const std::string& eval_id);
  void job_gone(const std::string& name_space, const std::string& job_id);
  void room_gained(const std::string& node_id, const std::string& computed_class, uint64_t index);
  // The same of storage; and of what nobody followed up to that index.
  void storage_gained(const StorageGain& gain, uint64_t index);
  void storage_unknown(uint64_t index);
  // Some evaluation is blocked for lack of storage.
  bool awaits_storage() const;
  // Some evaluation is ready or in flight.
  bool is_busy() const;

  // At most so many deliveries have no answer at one time.
  static constexpr size_t kMostInFlight = 256;

  // Waits for an evaluation of one of the types, or of any if none is named; nothing once stop was requested. Those
  // that are to be decided again come first.
  std::optional<Delivery> dequeue(const std::set<std::string>& types, std::stop_token stop);
  // As Broker::deliver; nothing while the queue is paused, too. Ends by ack, whatever came of it.
  std::optional<Delivery> deliver(const v1::Evaluation& eval);
  // The same without waiting: nothing when there is none now.
  std::optional<Delivery> try_dequeue(const std::set<std::string>& types);
  void ack(const Delivery& delivery);
  void nack(const Delivery& delivery);
  // The delivery goes to a worker once more, with the whole time.
  void again(Delivery delivery);
  // It goes on waiting for room, with what `eval` now says about that; nothing is written down.
  void block_again(const Delivery& delivery, const v1::Evaluation& eval);
  // False when the delivery was taken back meanwhile; else it has the whole time again, or as long as it takes.
  bool extend(const std::string& eval_id, const std::string& token);
  bool rest(const std::string& eval_id, const std::string& token);

  // Evaluations that no worker will finish, for the leader to write down.
  struct Chores {
    std::vector<v1::Evaluation> failed, cancelable;
    bool empty() const { return failed.empty() && cancelable.empty(); }
  };
  // Moves what is due; waits until there is something to write or `until`.
  Chores wait_for_chores(SteadyTime until, std::stop_token stop);
  void retry_conflicted();
  void prune();

  void report(Metrics& metrics) const;

 private:
  Moment now() const { return {clock_.steady(), clock_.wall_ns()}; }
  std::optional<Delivery> next(const std::set<std::string>& types) DROVER_REQUIRES(mutex_);
  // Wakes a worker when something is ready, and the leader when its chores are due sooner than it expects.
  void wake() DROVER_REQUIRES(mutex_);
  void wake_worker() DROVER_REQUIRES(mutex_);

  Clock& clock_;
  mutable Mutex mutex_;
  CondVarAny ready_;   // workers
  CondVarAny chores_;  // the leader
  Broker broker_ DROVER_GUARDED_BY(mutex_){BrokerOptions{}};
  std::deque<Delivery> again_ DROVER_GUARDED_BY(mutex_);
  Blocked blocked_ DROVER_GUARDED_BY(mutex_);
  bool paused_ DROVER_GUARDED_BY(mutex_) = false;
  SteadyTime next_chores_ DROVER_GUARDED_BY(mutex_);  // the leader waits until then; of the past while it does not wait
};

}  // namespace drover::scheduler
