// A machine of its own for a test of the driver "exec": folders with a root for tasks, control groups, a launcher.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "exec_driver.h"
#include "sdk/testing/waiting.h"

namespace drover::exec {

using Json = nlohmann::json;

std::string read_text(const std::string& path);

// Takes everything away at its end and says what stayed: tasks, control groups, mounts.
class Node {
 public:
  explicit Node(Options options = {});
  ~Node();

  ExecDriver& driver() { return *driver_; }
  void stop() { driver_.reset(); }
  void restart();
  std::unique_ptr<ExecDriver> another_driver() const;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string root() const { return path("alloc/web"); }
  Cgroup cgroup(const std::string& id) const;

  driver::TaskConfig task(const std::string& id, const Json& options) const;
  driver::TaskConfig shell(const std::string& id, const std::string& script) const;

  void start(const driver::TaskConfig& config);
  driver::ExitResult wait(const std::string& id);
  // The whole life of a task; returns what it wrote into /local/said.
  std::string said(const driver::TaskConfig& config);
  // The script's, with its output there.
  driver::TaskConfig talking(const std::string& script) const;
  // That of a command beside a running task.
  std::string said_beside(const std::string& id, const std::vector<std::string>& command, bool tty = false);

 private:
  Launcher::Options launcher_options() const;

  const Options options_;
  std::string folder_, parent_;
  std::unique_ptr<ExecDriver> driver_;
};

}  // namespace drover::exec
