// A task driver whose tasks are processes: the author says what to run, this class does the rest. It keeps the tasks,
// starts them through the launcher (so that they and their exit codes outlive driver and agent), finds them again,
// waits, signals, stops with escalation, samples the use of processor and memory of the whole tree of processes.
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
// Everything of drover/task_driver.h holds. Without isolation: a task has the rights of its user, and the network of
// the machine or the one that it is given. [any]
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "drover/launcher.h"
#include "drover/process_exec.h"
#include "drover/task_driver.h"
#include "drover/task_options.h"

namespace drover {

class ProcessDriver : public TaskDriver {
 public:
  struct Command {
    std::string program;                               // a path, or a name that is looked for in the task's PATH
    std::vector<std::string> arguments{};              // without the program's name
    std::map<std::string, std::string> environment{};  // beside the task's own, and over it
    std::string directory{};                           // empty: the task's folder
  };

  // `launcher_folder`: of the launcher's socket, made with mode 0700, of this driver alone; empty: /run/drover-NAME, or
  // in /tmp with the user's number for who is not root.
  explicit ProcessDriver(std::string name, std::string launcher_folder = {});
  ~ProcessDriver() override;

  // What a task runs. `options` is its config; what nobody asked for is refused afterwards, by name. Errors fail the
  // start. [any]
  virtual Result<Command> command(const driver::TaskConfig& task, TaskOptions& options) = 0;
  // Whether tasks can run here, and attributes. The default: healthy, with "driver.NAME" = "1".
  driver::FingerprintResponse fingerprint() override;

  driver::DriverCapabilities capabilities() const override;
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
  void stop() override;

 private:
  struct Task;
  using TaskPtr = std::shared_ptr<Task>;

  Result<std::shared_ptr<Launcher>> launcher();
  Result<TaskPtr> find(std::string_view id) const;
  Result<Launcher::Start> start_of(const driver::TaskConfig& config);
  static Result<Launcher::Start> surroundings_of(const driver::TaskConfig& config, const Command& wanted);
  Result<Command> command_of(const driver::TaskConfig& config);
  bool has_ended(const TaskPtr& task) const;
  bool wait_exit(const TaskPtr& task, SteadyTime deadline) const;
  Status kill(const TaskPtr& task);
  void on_exit(const Launcher::Task& ended);
  void on_lost();

  const std::string name_;
  const Launcher::Options launcher_options_;
  std::mutex connecting_;  // one connects, the others wait
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  bool is_stopping_ = false;                                        // guarded by mutex_, like the following
  std::map<std::string, TaskPtr, std::less<>> tasks_;               // null: being started
  std::map<std::string, Launcher::Exit, std::less<>> early_exits_;  // of tasks being started
  std::shared_ptr<Launcher> launcher_;
  ExecCalls execs_;
};

}  // namespace drover
