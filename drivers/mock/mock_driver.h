// The driver "mock_driver": every behaviour, good or bad, that a user of a driver must cope with, on demand.
//
// Tasks live in this process; after its end recover_task starts what is left of their time anew, or answers not_found
// when the task was told to be lost. Life of a task: drover/task_driver.h. [any]
#pragma once

#include <map>
#include <memory>
#include <string>

#include "drover/mutex.h"
#include "drover/task_driver.h"
#include "drover/task_event_feed.h"
#include "mock_task.h"

namespace drover::mock {

class MockDriver final : public TaskDriver {
 public:
  MockDriver() = default;
  ~MockDriver() override;

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
  // The command "showinput" says what it was given; every other one does what the task's `exec_command` says.
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override;
  void follow_events(const TellEvent& tell, std::stop_token stop) override { events_.follow(tell, std::move(stop)); }

  // Ends all tasks, and what blocks in start_task. Idempotent.
  void stop() override;

 private:
  Result<std::shared_ptr<MockTask>> find(std::string_view id);

  Mutex mutex_;
  // Null: being started.
  std::map<std::string, std::shared_ptr<MockTask>, std::less<>> tasks_ DROVER_GUARDED_BY(mutex_);
  std::stop_source stopping_;
  TaskEventFeed events_;
};

}  // namespace drover::mock
