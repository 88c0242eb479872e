// The driver "raw_exec": runs a program with the agent's rights, in a session and control group of its own. It does not
// limit what a task may use; it counts it. How tasks live and are found again: drover/process_driver.h.
#pragma once

#include <optional>
#include <string>

#include "drover/process_driver.h"

namespace drover::raw_exec {

struct Options {
  bool is_enabled = false;
  bool uses_cgroups = true;
  std::string cgroup_parent = "drover";
  Launcher::Options launcher{};  // without a folder: as ProcessDriver has it
};

class RawExecDriver final : public ProcessDriver {
 public:
  RawExecDriver() : ProcessDriver("raw_exec") {}

  // Does the work of configure(). Before the first call of a task.
  void open(Options options);

  void set_agent(const AgentInfo& agent) override;
  hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  driver::FingerprintResponse fingerprint() override;

  hashicorp::nomad::plugins::shared::hclspec::Spec task_config_schema() const override;
  Result<Command> command(const driver::TaskConfig& task, TaskOptions& options) override;
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override;

 private:
  bool is_enabled_by_default_ = false;
  Options options_;
  CgroupLayout layout_;
};

}  // namespace drover::raw_exec
