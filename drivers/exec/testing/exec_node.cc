#include "exec_node.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "drover/process.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/exec_caller.h"
#include "sdk/testing/task_root.h"
#include "sdk/testing/waiting.h"

namespace drover::exec {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kPrograms = {
    "sh",   "sleep", "cat",   "true", "ls",       "id",       "env",  "grep",   "tail",  "chmod", "mkdir",
    "stat", "tty",   "mkdir", "head", "readlink", "hostname", "stty", "setsid", "touch", "rm",    EXEC_PROBE};

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Node::Node(Options options) : options_(std::move(options)) {
  char name[] = "/tmp/drover-exec-XXXXXX";
  EXPECT_NE(nullptr, mkdtemp(name));
  folder_ = name;
  (void)::chmod(name, 0755);
  parent_ = "drover-test-" + folder_.substr(folder_.rfind('-') + 1);
  for (const char* each : {"/local", "/tmp", "/alloc", "/secrets"}) {
    std::filesystem::create_directories(root() + each);
    (void)::chmod((root() + each).c_str(), 0777);
  }
  (void)::chmod((root() + "/secrets").c_str(), 0700);
  (void)::chmod(root().c_str(), 0777);
  const Status laid = make_task_root(root(), kPrograms);
  EXPECT_TRUE(laid.ok()) << laid.to_string();
  restart();
}

Node::~Node() {
  driver_.reset();
  int launcher_pid = 0;
  {
    auto client = Launcher::connect(launcher_options(), {}, SystemClock().steady() + 10s);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    if (client.ok()) {
      launcher_pid = (*client)->pid();
      auto left = (*client)->list(SystemClock().steady() + 10s);
      for (const Launcher::Task& task : left.value_or({})) {
        EXPECT_TRUE(task.exit) << task.id << " was left running";
        kill_tree(task.pid, task.start_time, 1000);
        EXPECT_TRUE(eventually([&] { return (*client)->forget(task.id, SystemClock().steady() + 5s).ok(); }));
      }
    }
  }
  EXPECT_TRUE(eventually([&] { return !is_alive(launcher_pid); })) << "launcher stays";
  const Cgroup group(detect_cgroups(), parent_);
  EXPECT_EQ(std::vector<int>{}, group.pids());
  for (const char* controller : {"memory", "cpuset", "devices"}) {
    const std::string left = group.folder(controller);
    EXPECT_TRUE(left.empty() || !std::filesystem::exists(left)) << left << " was left behind";
  }
  (void)group.remove();
  EXPECT_EQ(std::string::npos, read_text("/proc/self/mountinfo").find(folder_)) << "a mount was left behind";
  std::filesystem::remove_all(folder_);
}

Launcher::Options Node::launcher_options() const {
  return {.folder = folder_ + "/launcher", .program = {}, .grace = std::chrono::milliseconds(50)};
}

void Node::restart() {
  driver_.reset();
  driver_ = another_driver();
}

std::unique_ptr<ExecDriver> Node::another_driver() const {
  auto driver = std::make_unique<ExecDriver>();
  Options options = options_;
  options.cgroup_parent = parent_;
  options.launcher = launcher_options();
  driver->open(std::move(options));
  return driver;
}

Cgroup Node::cgroup(const std::string& id) const { return Cgroup(detect_cgroups(), parent_ + "/" + cgroup_name(id)); }

driver::TaskConfig Node::task(const std::string& id, const Json& options) const {
  driver::TaskConfig config;
  config.set_id(id);
  config.set_name("web");
  config.set_alloc_dir(folder_ + "/alloc");
  (*config.mutable_env())["PATH"] = "/usr/bin:/bin";
  const std::vector<uint8_t> bytes = Json::to_msgpack(options);
  config.set_msgpack_driver_config(std::string(bytes.begin(), bytes.end()));
  return config;
}

driver::TaskConfig Node::shell(const std::string& id, const std::string& script) const {
  return task(id, {{"command", "/bin/sh"}, {"args", {"-c", script}}});
}

driver::TaskConfig Node::talking(const std::string& script) const {
  return shell("talking", "exec > /local/said 2>&1; " + script);
}

void Node::start(const driver::TaskConfig& config) {
  const auto started = driver().start_task(config);
  ASSERT_TRUE(started.ok()) << started.status().to_string();
}

driver::ExitResult Node::wait(const std::string& id) {
  auto waiting = std::async(std::launch::async, [&] {
    const std::stop_source never;
    return driver().wait_task(id, never.get_token());
  });
  EXPECT_EQ(std::future_status::ready, waiting.wait_for(60s));
  auto result = waiting.get();
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.value_or(driver::ExitResult());
}

std::string Node::said(const driver::TaskConfig& config) {
  std::filesystem::remove(root() + "/local/said");
  const auto started = driver().start_task(config);
  EXPECT_TRUE(started.ok()) << started.status().to_string();
  if (!started.ok()) return {};
  (void)wait(config.id());
  EXPECT_TRUE(driver().destroy_task(config.id(), false).ok());
  return read_text(root() + "/local/said");
}

std::string Node::said_beside(const std::string& id, const std::vector<std::string>& command, bool tty) {
  ExecCaller caller;
  caller.end_input();
  const Status done = driver().exec_task_streaming({.task_id = id, .command = command, .tty = tty}, caller);
  EXPECT_TRUE(done.ok()) << done.to_string();
  return caller.out() + caller.err();
}

}  // namespace drover::exec
