// A machine of its own for a test of a driver of processes: folders, control groups, a launcher. At its end it takes
// everything away and says what stayed: tasks, the launcher, control groups, mounts.
//
//   struct Node : DriverNode {
//     Node() : DriverNode([](const Place& place) { … std::make_unique<Acme>() configured by place … }) {}
//   };
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "drover/fd.h"
#include "drover/process_driver.h"
#include "sdk/testing/waiting.h"

namespace drover {

// Empty when it cannot be read.
std::string read_text(const std::string& path);

// A FIFO for the output of a task, read as far as it goes.
class OutputFifo {
 public:
  explicit OutputFifo(std::string path);
  const std::string& path() const { return path_; }
  const std::string& text();  // all that was written until now

 private:
  const std::string path_;
  Fd fd_;
  std::string text_;
};

class DriverNode {
 public:
  // A driver uses these instead of the machine's.
  struct Place {
    std::string cgroup_parent;
    Launcher::Options launcher;
  };
  using Make = std::function<std::unique_ptr<ProcessDriver>(const Place& place)>;

  explicit DriverNode(Make make);
  ~DriverNode();
  DriverNode(const DriverNode&) = delete;
  DriverNode& operator=(const DriverNode&) = delete;

  // For drivers that lock tasks in: makes the task's folder a root with a few programs (sdk/testing/task_root.h).
  void lay_root(const std::vector<std::string>& programs) const;

  ProcessDriver& driver() { return *driver_; }
  void stop() { driver_.reset(); }
  void restart();
  std::unique_ptr<ProcessDriver> another_driver() const { return make_(place_); }

  const Place& place() const { return place_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string root() const { return path("alloc/web"); }  // the task's folder
  Cgroup cgroup(const std::string& id) const;

  driver::TaskConfig task(const std::string& id, const nlohmann::json& options) const;
  // The task /bin/sh -c SCRIPT of a driver that takes `command` and `args`.
  driver::TaskConfig shell(const std::string& id, const std::string& script) const;
  // The same with its output in /local/said of its root.
  driver::TaskConfig talking(const std::string& script) const;

  void start(const driver::TaskConfig& config);
  driver::ExitResult wait(const std::string& id);
  // The whole life of a task; returns what it wrote into local/said.
  std::string said(const driver::TaskConfig& config);
  // That of a command beside a running task.
  std::string said_beside(const std::string& id, const std::vector<std::string>& command, bool tty = false);

 private:
  void end_launcher() const;

  const Make make_;
  std::string folder_;
  Place place_;
  std::unique_ptr<ProcessDriver> driver_;
};

// For the conformance kit: one node for all checks of a program, looked over when all is done.
//   const auto* const kShared = ::testing::AddGlobalTestEnvironment(new SharedNode<Node>);
template <typename Node>
class SharedNode : public ::testing::Environment {
 public:
  static Node& get() {
    if (!node()) node() = std::make_unique<Node>();
    return *node();
  }
  void TearDown() override { node().reset(); }

 private:
  static std::unique_ptr<Node>& node() {
    static std::unique_ptr<Node> one;
    return one;
  }
};

// The same where tasks need root and control groups of their own: without them all tests are skipped.
template <typename Node>
class RootedNode final : public SharedNode<Node> {
 public:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "missing: root";
    if (detect_cgroups().mode == CgroupLayout::Mode::none) GTEST_SKIP() << "missing: writable control groups";
  }
};

}  // namespace drover
