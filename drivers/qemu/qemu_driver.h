// The driver "qemu": runs an image as a virtual machine. A task is the process of qemu, with the rights of the task's
// user or of the agent; the machine is its isolation. How tasks live and are found again: drover/process_driver.h.
#pragma once

#include "drover/process_driver.h"
#include "qemu_options.h"

namespace drover::qemu {

class QemuDriver final : public ProcessDriver {
 public:
  QemuDriver() : ProcessDriver("qemu") {}

  // Does the work of configure(). Before the first call of a task.
  void open(Options options);

  hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  // Undetected where there is no qemu in the PATH of this process, or it does not tell its version.
  driver::FingerprintResponse fingerprint() override;
  driver::DriverCapabilities capabilities() const override;

  hashicorp::nomad::plugins::shared::hclspec::Spec task_config_schema() const override;
  Result<std::string> encode_config(std::string_view config_json) override;
  Result<Command> command(const driver::TaskConfig& task, TaskOptions& options) override;
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override;
  // Presses the machine's power button where the job wants that.
  bool ask_to_end(const driver::TaskConfig& task) override;
  Status signal_task(std::string_view id, std::string_view signal) override;
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override;

 private:
  Options options_;
};

}  // namespace drover::qemu
