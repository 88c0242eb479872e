// A task driver whose tasks are processes: the author says what to run, this class does the rest. It keeps the tasks,
// starts them through the launcher (so that they and their exit codes outlive driver and agent), finds them again, also
// when the launcher was killed, waits, signals, stops with escalation, kills what a task leaves behind, and samples
// what all of its processes use.
//
//   class Acme final : public drover::ProcessDriver {
//    public:
//     Acme() : ProcessDriver("acme") {}
//     hclspec::Spec task_config_schema() const override { return hclspec::object_of({{"command", "string", true}}); }
//     Result<Command> command(const driver::TaskConfig&, TaskOptions& options) override {
//       return Command{.program = options.text("command")};
//     }
//   };
//
// Everything of drover/task_driver.h holds. How tasks are isolated the driver puts together of parts
// (drover/isolation.h); unless it does, a task has the rights of its user and the network that it is given. [any]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/isolation.h"
#include "drover/launcher.h"
#include "drover/task_driver.h"
#include "drover/task_options.h"

namespace drover {

namespace hclspec {
struct Attribute;
}

class IsolationSet;
class ProcessTask;
struct TaskProcess;

// The operator's option "launcher_dir", as it is said. Errors: invalid_argument. Pure.
Result<Launcher::Options> read_launcher_option(TaskOptions& raw);

class ProcessDriver : public TaskDriver {
 public:
  struct Command {
    std::string program;                               // a path, or a name: looked for in the task's folder and PATH
    std::vector<std::string> arguments{};              // without the program's name
    std::map<std::string, std::string> environment{};  // beside the task's own, and over it
    std::string directory{};                           // empty: the task's folder, or the root of its own
    std::string user{};                                // empty: the task's, or the driver's own
  };

  // `launcher_folder`: holds the launcher's socket, made with mode 0700. Empty: the agent's launcher for a driver
  // inside the agent; for a program /run/drover-NAME, or a folder in /tmp with the user's number for who is not root.
  explicit ProcessDriver(std::string name, std::string launcher_folder = {});
  ~ProcessDriver() override;

  // Says what a task runs. `options` is its config; options that nobody asked for are refused afterwards, by name.
  // Errors fail the start. [any]
  virtual Result<Command> command(const driver::TaskConfig& task, TaskOptions& options) = 0;
  // Says how far the parts go for a task that starts. The default asks nothing of them. Errors fail the start. [any]
  virtual Result<IsolationNeeds> isolation_needs(const driver::TaskConfig& task);
  // Asks a task to end by another way than a signal. True: it was asked; the signal is sent only when it has not ended
  // within the timeout of its stop, and a second later at most it is killed. The default does not ask. [any]
  virtual bool ask_to_end(const driver::TaskConfig& task);
  // Says whether tasks can run here, and attributes. The default: healthy, with "driver.NAME" = "1".
  driver::FingerprintResponse fingerprint() override;

  void set_agent(const AgentInfo& agent) override;
  // Those of the driver's parts, and signals and commands inside tasks.
  driver::DriverCapabilities capabilities() const override;
  Result<std::string> encode_config(std::string_view config_json) override;
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override;
  Status recover_task(const driver::TaskHandle& handle) override;
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override;
  bool watch_task(std::string_view id, std::stop_token stop, TellExit done) override;
  Status stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) override;
  Status destroy_task(std::string_view id, bool force) override;
  Result<driver::InspectTaskResponse> inspect_task(std::string_view id) override;
  Result<driver::TaskStats> task_stats(std::string_view id) override;
  Status signal_task(std::string_view id, std::string_view signal) override;
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override;
  void stop() override;

 protected:
  // Both are for the constructor, set_agent and configure: before the first call of a task.
  void set_launcher(Launcher::Options options);
  // Replaces the parts that isolate every task. Without this call: network_namespace().
  void isolate_with(std::vector<std::unique_ptr<IsolationPart>> parts);
  // For configure(): runs `open` with the first configuration. The tasks run by that one, so another one later is an
  // error: failed_precondition.
  Status configure_once(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request,
                        const std::function<void()>& open);
  // The operator's option "launcher_dir", as the schema has it.
  hclspec::Attribute launcher_option() const;

  // Stands before the errors of a start whose command() was in order. Empty, the default: nothing.
  virtual std::string_view launch_context() const { return {}; }

 private:
  struct Tasks;

  Result<Command> command_of(const driver::TaskConfig& config);
  Result<TaskProcess> launch(const ProcessTask& task, const Command& wanted, IsolationSet& isolation);

  const std::unique_ptr<Tasks> tasks_;
  std::optional<std::string> configured_;  // by these bytes
};

}  // namespace drover
