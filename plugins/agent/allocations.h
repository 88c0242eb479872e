// The allocations of this node: follows what the servers want and runs it.
//
//   Watch (blocking) ──▶ what is new, changed or gone (plan_pull, pure) ──▶ Fetch ──▶ runners begin, update, destroy
//
// Owned by the plugin. Thread "allocs" follows the servers; runners have their own. Questions and services: [any].
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "drover/mutex.h"
#include "drover/node_locator.h"
#include "runner/alloc_runner.h"

namespace drover::agent {

struct PullPlan {
  std::vector<Uuid> fetch;
  std::vector<Uuid> gone;
};
// `known`: by identifier, the change of a server that was last carried out. `listed`: what the servers say. Another
// change is fetched also when it is an older one: the servers' state was restored.
PullPlan plan_pull(const std::map<Uuid, uint64_t>& known, const std::map<Uuid, uint64_t>& listed);
// True when the list of the index `now` can only come from a state restored since the one of the index `seen`:
// what is not as it was known is no newer, or nothing is new at all.
bool was_restored(const std::map<Uuid, uint64_t>& known, const std::map<Uuid, uint64_t>& listed, uint64_t seen,
                  uint64_t now);

class Allocations final : public NodeLocator {
 public:
  explicit Allocations(const Client& client) : client_(client) {}
  ~Allocations() override;

  // Takes up what the agent ran before it ended. Errors: as the local store.
  Status restore();
  void start();
  void node_is_known();  // [any] nothing is asked before
  // Idempotent. `end_tasks`: kill and remove everything; else tasks are left running.
  void stop(bool end_tasks, SteadyTime deadline);

  // --- [any]
  Result<Uuid> locate(std::string_view id) const override;
  std::shared_ptr<AllocRunner> find(std::string_view id) const;  // null: not here
  std::vector<v1::Allocation> describe(const std::vector<Uuid>& ids) const;
  // Errors: not_found; failed_precondition while it runs.
  Status collect(std::string_view id, SteadyTime deadline);
  // Waits for what destroy() of its runner has ordered, and forgets it. Errors: as AllocRunner::wait_removed.
  Status await_removal(const Uuid& id, SteadyTime deadline);
  // All that are over. What cannot be removed stays.
  void collect_all(SteadyTime deadline);
  std::vector<std::shared_ptr<AllocRunner>> all() const;

 private:
  using Runners = std::vector<std::shared_ptr<AllocRunner>>;
  // Stops these for good and removes what is left of them, as long as there is time.
  void end(const Runners& runners, SteadyTime deadline) const;
  void run(const std::stop_token& stop);
  Status pull(uint64_t& index, const std::stop_token& stop);
  Status fetch(const std::vector<Uuid>& ids, const std::map<Uuid, uint64_t>& listed, const std::stop_token& stop);
  void accept(AllocSpecPtr spec);
  void forget(const std::vector<Uuid>& gone);

  const Client& client_;
  mutable Mutex mutex_;
  CondVarAny woken_;
  bool node_known_ DROVER_GUARDED_BY(mutex_) = false;
  std::map<Uuid, std::shared_ptr<AllocRunner>> runners_ DROVER_GUARDED_BY(mutex_);
  std::map<Uuid, uint64_t> known_ DROVER_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace drover::agent
