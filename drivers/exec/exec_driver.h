// The driver "exec": runs a program in the task's folder as its root, as nobody unless the job says otherwise, in
// namespaces of its own, with few rights and within its resources. How tasks live and are found again:
// drover/process_driver.h; how they are isolated: drover/isolation.h.
#pragma once

#include <optional>
#include <string>

#include "drover/process_driver.h"
#include "exec_options.h"

namespace drover::exec {

class ExecDriver final : public ProcessDriver {
 public:
  ExecDriver() : ProcessDriver("exec") {}

  // Does the work of configure(). Before the first call of a task.
  void open(Options options);

  hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  driver::FingerprintResponse fingerprint() override;

  hashicorp::nomad::plugins::shared::hclspec::Spec task_config_schema() const override;
  Result<Command> command(const driver::TaskConfig& task, TaskOptions& options) override;
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override;

 private:
  std::optional<std::string> configured_;  // by these bytes
  Options options_;
  CgroupLayout layout_;
};

}  // namespace drover::exec
