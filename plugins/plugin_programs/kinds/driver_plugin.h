// The driver that a program brings, as the agent calls it.
//
// A call that finds the program gone waits for the next one, which has been given every known task again (RecoverTask)
// before anybody may call it; only then does it go on or give up. Any thread may call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "drover/mutex.h"
#include "drover/task_driver.h"
#include "drover/task_event_feed.h"
#include "kinds/event_reader.h"
#include "kinds/role_options.h"

#include "nomad/plugins/driver.pb.h"

namespace drover::plugin_programs {

class DriverPlugin final : public TaskDriver, public Role {
 public:
  // `program` ends before it.
  DriverPlugin(RoleOptions options, ProgramHost& program) : options_(std::move(options)), program_(program) {}

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
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override;
  Result<driver::ExecTaskResponse> exec_task(const ExecCommand& command, std::chrono::nanoseconds timeout) override;
  void follow_events(const TellEvent& tell, std::stop_token stop) override { events_.follow(tell, std::move(stop)); }
  Result<driver::CreateNetworkResponse> create_network(const driver::CreateNetworkRequest& request) override;
  Status destroy_network(const driver::DestroyNetworkRequest& request) override;

  std::vector<std::string> tasks() const override;

 private:
  Result<driver::ExitResult> ask_exit(std::string_view id, const std::stop_token& stop);
  Status prove(Channel& channel) override;
  Status prepare(const ChannelPtr& channel) override;
  Result<size_t> take_over(const ChannelPtr& channel) override;
  struct Facts {
    driver::TaskConfigSchemaResponse schema;
    driver::CapabilitiesResponse capabilities;
  };
  Result<Facts> ask_facts(Channel& channel) const;
  Status read_facts(Channel& channel);
  // Gives every known task again. Errors: unavailable and deadline_exceeded when the process has gone or is stuck, and,
  // when `must_find`, those of the first that is not found.
  Result<size_t> recover_all(Channel& channel, bool must_find);
  void destroy_doomed(Channel& channel, const std::string& id, SteadyTime end);
  void follow_fingerprint(const ChannelPtr& channel);
  void read_fingerprints(Channel& channel, const std::stop_token& stop);
  void forget(std::string_view id);  // a task that is gone
  void lost(bool is_handed_over) override;
  void changed() const;

  const RoleOptions options_;
  ProgramHost& program_;

  mutable Mutex mutex_;
  driver::DriverCapabilities capabilities_ DROVER_GUARDED_BY(mutex_);
  hashicorp::nomad::plugins::shared::hclspec::Spec task_schema_ DROVER_GUARDED_BY(mutex_);
  bool has_task_schema_ DROVER_GUARDED_BY(mutex_) = false;
  std::optional<driver::FingerprintResponse> fingerprint_ DROVER_GUARDED_BY(mutex_);  // of the running process
  std::map<std::string, driver::TaskHandle, std::less<>> tasks_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, Status, std::less<>> unrecovered_ DROVER_GUARDED_BY(mutex_);
  // Those of tasks_ that were destroyed while no process was there.
  std::set<std::string, std::less<>> doomed_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Messages>, std::less<>> stats_ DROVER_GUARDED_BY(mutex_);
  // Told while they were stopped.
  std::map<std::string, driver::ExitResult, std::less<>> exits_ DROVER_GUARDED_BY(mutex_);

  std::jthread prints_reader_;          // [plugin]
  TaskEventFeed events_;                // of all its processes
  EventReader events_reader_{events_};  // [plugin]
};

}  // namespace drover::plugin_programs
