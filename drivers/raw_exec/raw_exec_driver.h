// The driver "raw_exec": runs a program with the agent's rights, in a session and control group of its own, as a child
// of the agent's launcher. It does not limit what a task may use; it counts it.
//
// Life of a task: drover/task_driver.h. The handle holds pid, start time and control group, which together with the
// launcher's memory of exit codes are enough to find the task after a crash of the agent. When the launcher was killed
// the process is still found, but the exit code is lost with it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "command.h"
#include "drover/cgroup.h"
#include "drover/launcher.h"
#include "drover/process_exec.h"
#include "drover/task_driver.h"
#include "supervisor.h"
#include "task.h"

namespace drover::raw_exec {

struct DriverOptions {
  bool is_enabled = false;
  bool uses_cgroups = true;
  std::string cgroup_parent = "drover";
  Launcher::Options launcher;
};

class RawExecDriver final : public TaskDriver {
 public:
  RawExecDriver() = default;
  ~RawExecDriver() override;

  // Before the first call of a task; once. As a program of its own the driver opens when it is configured.
  void open(DriverOptions options);
  // Ends all waits. The tasks go on. Idempotent.
  void stop() override;

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
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override;

 private:
  Result<std::shared_ptr<Launcher>> launcher();
  Result<std::shared_ptr<Task>> find(std::string_view id) const;
  Result<Launcher::Start> surroundings_of(const Task& task, const Command& command) const;
  Result<Process> launch(const driver::TaskConfig& config, const Task& task);
  Status kill(Task& task);

  // constant after open
  DriverOptions options_;
  CgroupLayout layout_;

  std::mutex connecting_;
  std::shared_ptr<Launcher> launcher_;  // guarded by connecting_
  bool is_stopped_ = false;             // guarded by connecting_

  TaskStore store_;
  std::unique_ptr<Supervisor> supervisor_;  // set by open
  ExecCalls execs_;
};

}  // namespace drover::raw_exec
