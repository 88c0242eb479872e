// A driver without fault, in memory, for tests of the conformance kit: its tasks live in a world that outlasts every
// instance, as processes outlast a plugin.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "../../serve/server.h"
#include "drover/conformance.h"
#include "drover/task_driver.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::faulty {

struct WorldTask {
  driver::TaskConfig config;
  std::string kind;
  int64_t started_at = 0;  // nanoseconds since 1970
  SteadyTime ends_at = SteadyTime::max();
  std::optional<driver::ExitResult> result;  // guarded by the world's mutex
  int64_t ended_at = 0;                      // guarded by the world's mutex
  std::jthread writer;                       // of "talking"
};

// The world outside of every instance. [any]
struct World {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::map<std::string, std::shared_ptr<WorldTask>> tasks;  // guarded by mutex
  int instances = 0;                                        // guarded by mutex; made so far
  std::multiset<std::string> in_flight;                     // guarded by mutex; methods being answered
  std::set<std::string> crashed_in;                         // guarded by mutex; methods that an end broke off
  std::map<std::string, int> counts;                        // guarded by mutex; for faults that remember
};

struct Form {
  bool can_exec = true;
  bool makes_networks = true;
};

class ReferenceDriver final : public TaskDriver {
 public:
  ReferenceDriver(std::shared_ptr<World> world, Form form);
  ~ReferenceDriver() override;

  hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  hashicorp::nomad::plugins::shared::hclspec::Spec task_config_schema() const override;
  driver::DriverCapabilities capabilities() const override;
  driver::FingerprintResponse fingerprint() override;
  Result<std::string> encode_config(std::string_view config_json) override;
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override;
  Status recover_task(const driver::TaskHandle& handle) override;
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override;
  Status stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) override;
  Status destroy_task(std::string_view id, bool force) override;
  Result<driver::InspectTaskResponse> inspect_task(std::string_view id) override;
  Result<driver::TaskStats> task_stats(std::string_view id) override;
  Status signal_task(std::string_view id, std::string_view signal) override;
  void stop() override;

 private:
  Result<std::shared_ptr<WorldTask>> find(std::string_view id);  // Requires: the world's mutex is held
  void settle(WorldTask& task);                                  // the same
  void finish(WorldTask& task, int exit_code, int signal);       // the same

  const std::shared_ptr<World> world_;
  const Form form_;
  bool is_stopping_ = false;                                            // guarded by the world's mutex
  std::map<std::string, std::shared_ptr<WorldTask>, std::less<>> own_;  // guarded by the world's mutex
};

// The methods of a reference driver, commands and networks included.
serve::Methods reference_methods(TaskDriver& driver, Form form, std::function<void()> end);

// The tasks that it runs, and one setup for all.
conformance::Setup reference_setup();

}  // namespace drover::faulty
