// A driver of processes that locks every task in: its folder as its root, namespaces of its own, few rights, limits by
// control groups, and nobody as its user unless the job says otherwise. The author says what to run and which options
// decide it; those of the isolation, the operator's and a job's, are here.
//
//   class Acme final : public drover::IsolatedDriver {
//    public:
//     Acme() : IsolatedDriver("acme") {}
//     hclspec::Spec task_config_schema() const override {
//       return with(IsolatedDriver::task_config_schema(), hclspec::object_of({{"command", "string", true}}));
//     }
//    protected:
//     Result<Command> program(const driver::TaskConfig&, TaskOptions& options) override {
//       return Command{.program = options.text("command")};
//     }
//   };
//
// Everything of drover/process_driver.h holds. [any]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/hclspec.h"
#include "drover/process_driver.h"

namespace drover {

// The operator's options.
struct IsolationOptions {
  enum class Sharing : uint8_t { apart, with_machine };  // "private", "host"
  bool is_pivoted = true;                                // as RootOptions has it
  Sharing pid_mode = Sharing::apart, ipc_mode = Sharing::apart;
  uint64_t allowed_capabilities = default_capabilities(true);
  bool no_new_privileges = true;
  bool are_calls_filtered = true;
  uint64_t pids_limit = 0;  // of one task; zero: none
  std::string cgroup_parent = "drover";
  Launcher::Options launcher{};  // without a folder: as ProcessDriver has it
};

class IsolatedDriver : public ProcessDriver {
 public:
  explicit IsolatedDriver(std::string name);
  ~IsolatedDriver() override;

  // Does the work of configure(). Before the first call of a task.
  void open(IsolationOptions options);

  // The options of the isolation alone; a driver with others adds them by with().
  hclspec::Spec config_schema() const override;
  hclspec::Spec task_config_schema() const override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  // Undetected unless root; unhealthy on a machine without control groups, or with a kernel that cannot make a root.
  driver::FingerprintResponse fingerprint() override;

  Result<Command> command(const driver::TaskConfig& task, TaskOptions& options) final;
  Result<IsolationNeeds> isolation_needs(const driver::TaskConfig& task) final;

 protected:
  // Says what a task runs, as command() does; the options of the isolation are asked for already, and those that cannot
  // be read are told before any error of this. Without a user it is the task's, or nobody. [any]
  virtual Result<Command> program(const driver::TaskConfig& task, TaskOptions& options) = 0;
  // Reads the operator's options; a driver with others reads them beside. What nobody asked for is refused afterwards.
  // Errors: invalid_argument naming the option.
  virtual Result<IsolationOptions> read_options(TaskOptions& raw) const;
  // Both schemas in one.
  static hclspec::Spec with(hclspec::Spec schema, const hclspec::Spec& other);

  std::string_view launch_context() const override;

 private:
  IsolationOptions options_;
  CgroupLayout layout_;
};

}  // namespace drover
