// The driver "exec": runs a program in the task's folder as its root, as nobody unless the job says otherwise, in
// namespaces of its own, with few rights and within its resources. How it is isolated: drover/isolated_driver.h.
#pragma once

#include "drover/isolated_driver.h"

namespace drover::exec {

class ExecDriver final : public IsolatedDriver {
 public:
  ExecDriver() : IsolatedDriver("exec") {}
  hclspec::Spec config_schema() const override;
  hclspec::Spec task_config_schema() const override;

 protected:
  Result<Command> program(const driver::TaskConfig& task, TaskOptions& options) override;
  Result<IsolationOptions> read_options(TaskOptions& raw) const override;
};

}  // namespace drover::exec
