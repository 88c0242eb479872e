// The checks of this node's services in Consul: what Consul says of those that it runs, and the results of the others
// for Consul.
//
//   result() asked ──▶ /v1/agent/checks once a second, as long as somebody asks ──▶ answers
//   tell() ──▶ kept until Consul has the check ──▶ told
//
// A thread of its own. [any]
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "client/consul_client.h"
#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/registry_checks.h"

namespace drover::consul {

// The result that Consul's word stands for. Pure. Errors: failed_precondition for a check that has not run yet.
Result<v1::CheckResult> result_of(const KnownCheck& check);

class CheckRelay final : public RegistryChecks {
 public:
  static constexpr std::chrono::seconds kEvery{1};
  static constexpr std::chrono::seconds kAskedFor{10};  // after the last question
  static constexpr std::chrono::minutes kToldFor{5};    // a result for a check that Consul does not have
  static constexpr std::chrono::seconds kFresh{10};     // an answer

  ~CheckRelay() override { stop(); }
  // Once, where Consul is configured. Both outlive the relay.
  void start(const ConsulClient& client, Clock& clock);
  void stop();
  // The checks may be others now, and stand in these namespaces: looks again soon.
  void look_soon(const std::set<std::string>& namespaces);

  bool runs(std::string_view type) const override;
  Result<v1::CheckResult> result(const std::string& check) const override;
  void tell(const std::string& check, const v1::CheckResult& result) override;

 private:
  struct Told {
    std::string status, output;
    SteadyTime at;
    uint64_t turn = 0;
  };
  void work(const std::stop_token& stop);
  void look(const std::stop_token& stop);
  void pass_on(const std::stop_token& stop);

  const ConsulClient* client_ = nullptr;  // constant after start, as the following
  Clock* clock_ = nullptr;
  mutable Mutex mutex_;
  mutable CondVarAny woken_;
  mutable std::optional<SteadyTime> asked_ DROVER_GUARDED_BY(mutex_);
  std::optional<SteadyTime> answered_ DROVER_GUARDED_BY(mutex_);
  std::string trouble_ DROVER_GUARDED_BY(mutex_) = "Consul has not answered yet";
  std::set<std::string> namespaces_ DROVER_GUARDED_BY(mutex_){""};
  std::map<std::string, KnownCheck> known_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, Told> told_ DROVER_GUARDED_BY(mutex_);  // not yet passed on, by Consul's identifier
  uint64_t turn_ DROVER_GUARDED_BY(mutex_) = 0;
  bool is_due_ DROVER_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace drover::consul
