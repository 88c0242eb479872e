// The driver "java": runs a class or a jar on the Java of this machine. Its tasks are isolated as those of "exec"
// (drover/isolated_driver.h), so the machine's Java must be shown in their root, at the path that it has here.
#pragma once

#include "drover/isolated_driver.h"

namespace drover::java {

class JavaDriver final : public IsolatedDriver {
 public:
  JavaDriver() : IsolatedDriver("java") {}
  hclspec::Spec task_config_schema() const override;
  // Undetected also where there is no java in the PATH of this process, or it does not tell its version.
  driver::FingerprintResponse fingerprint() override;

 protected:
  Result<Command> program(const driver::TaskConfig& task, TaskOptions& options) override;
};

}  // namespace drover::java
