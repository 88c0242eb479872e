// A machine of its own for a test of the driver "exec", with a root for tasks.
#pragma once

#include "exec_driver.h"
#include "sdk/testing/driver_node.h"

namespace drover::exec {

class Node : public DriverNode {
 public:
  explicit Node(const IsolationOptions& options = {})
      : DriverNode([options](const Place& place) { return make(options, place); }) {
    lay_root({"sh",   "sleep", "cat",  "true",     "ls",       "id",   "env",    "grep",  "tail", "chmod",   "mkdir",
              "stat", "tty",   "head", "readlink", "hostname", "stty", "setsid", "touch", "rm",   EXEC_PROBE});
  }

 private:
  static std::unique_ptr<ExecDriver> make(IsolationOptions options, const Place& place) {
    options.cgroup_parent = place.cgroup_parent;
    options.launcher = place.launcher;
    auto driver = std::make_unique<ExecDriver>();
    driver->open(std::move(options));
    return driver;
  }
};

}  // namespace drover::exec
