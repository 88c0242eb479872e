#include "sdk/testing/driver_node.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/exec_caller.h"
#include "sdk/testing/task_root.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

SteadyTime soon() { return SystemClock().steady() + 10s; }

// No folder of a task is left in any tree.
void expect_no_groups_below(const Cgroup& parent) {
  EXPECT_EQ(std::vector<int>{}, parent.pids());
  for (const std::string& file : parent.join_files()) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      EXPECT_FALSE(entry.is_directory()) << entry.path() << " was left behind";
  }
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

OutputFifo::OutputFifo(std::string path) : path_(std::move(path)) {
  EXPECT_EQ(0, ::mkfifo(path_.c_str(), 0600)) << path_;
  fd_ = Fd(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(fd_) << path_;
}

const std::string& OutputFifo::text() {
  char chunk[4096];
  for (ssize_t size = 0; (size = ::read(fd_.get(), chunk, sizeof chunk)) > 0;)
    text_.append(chunk, static_cast<size_t>(size));
  return text_;
}

DriverNode::DriverNode(Make make) : make_(std::move(make)) {
  char name[] = "/tmp/drover-node-XXXXXX";
  EXPECT_NE(nullptr, mkdtemp(name));
  folder_ = name;
  (void)::chmod(name, 0755);
  place_ = {.cgroup_parent = "drover-test-" + folder_.substr(folder_.rfind('-') + 1),
            .launcher = {.folder = folder_ + "/launcher", .program = {}, .grace = 50ms}};
  std::filesystem::create_directories(root() + "/local");
  restart();
}

DriverNode::~DriverNode() {
  driver_.reset();
  end_launcher();
  const Cgroup group(detect_cgroups(), place_.cgroup_parent);
  expect_no_groups_below(group);
  EXPECT_TRUE(group.remove().ok());
  EXPECT_EQ(std::string::npos, read_text("/proc/self/mountinfo").find(folder_)) << "a mount was left behind";
  std::filesystem::remove_all(folder_);
}

void DriverNode::end_launcher() const {
  int launcher_pid = 0;
  {
    auto client = Launcher::connect(place_.launcher, {}, soon());
    ASSERT_TRUE(client.ok()) << client.status().to_string();
    launcher_pid = (*client)->pid();
    for (const Launcher::Task& task : (*client)->list(soon()).value_or({})) {
      EXPECT_TRUE(task.exit) << task.id << " was left running";
      kill_tree(task.pid, task.start_time, 1000);
      EXPECT_TRUE(eventually([&] { return (*client)->forget(task.id, soon()).ok(); }));
    }
  }
  EXPECT_TRUE(eventually([&] { return !is_alive(launcher_pid); })) << "launcher stays";
}

void DriverNode::lay_root(const std::vector<std::string>& programs) const {
  for (const char* each : {"", "/local", "/tmp", "/alloc", "/secrets"}) {
    std::filesystem::create_directories(root() + each);
    (void)::chmod((root() + each).c_str(), 0777);
  }
  (void)::chmod((root() + "/secrets").c_str(), 0700);
  const Status laid = make_task_root(root(), programs);
  EXPECT_TRUE(laid.ok()) << laid.to_string();
}

void DriverNode::restart() {
  driver_.reset();
  driver_ = another_driver();
}

Cgroup DriverNode::cgroup(const std::string& id) const {
  return Cgroup(detect_cgroups(), place_.cgroup_parent + "/" + cgroup_name(id));
}

driver::TaskConfig DriverNode::task(const std::string& id, const nlohmann::json& options) const {
  driver::TaskConfig config;
  config.set_id(id);
  config.set_name("web");
  config.set_alloc_dir(folder_ + "/alloc");
  (*config.mutable_env())["PATH"] = "/usr/bin:/bin";
  const std::vector<uint8_t> bytes = nlohmann::json::to_msgpack(options);
  config.set_msgpack_driver_config(std::string(bytes.begin(), bytes.end()));
  return config;
}

driver::TaskConfig DriverNode::shell(const std::string& id, const std::string& script) const {
  return task(id, {{"command", "/bin/sh"}, {"args", {"-c", script}}});
}

driver::TaskConfig DriverNode::talking(const std::string& script) const {
  return shell("talking", "exec > /local/said 2>&1; " + script);
}

void DriverNode::start(const driver::TaskConfig& config) {
  const auto started = driver().start_task(config);
  ASSERT_TRUE(started.ok()) << started.status().to_string();
}

driver::ExitResult DriverNode::wait(const std::string& id) {
  auto waiting = std::async(std::launch::async, [&] {
    const std::stop_source never;
    return driver().wait_task(id, never.get_token());
  });
  EXPECT_EQ(std::future_status::ready, waiting.wait_for(60s));
  auto result = waiting.get();
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.value_or(driver::ExitResult());
}

std::string DriverNode::said(const driver::TaskConfig& config) {
  std::filesystem::remove(root() + "/local/said");
  const auto started = driver().start_task(config);
  EXPECT_TRUE(started.ok()) << started.status().to_string();
  if (!started.ok()) return {};
  (void)wait(config.id());
  EXPECT_TRUE(driver().destroy_task(config.id(), false).ok());
  return read_text(root() + "/local/said");
}

std::string DriverNode::said_beside(const std::string& id, const std::vector<std::string>& command, bool tty) {
  ExecCaller caller;
  caller.end_input();
  const Status done = driver().exec_task_streaming({.task_id = id, .command = command, .tty = tty}, caller);
  EXPECT_TRUE(done.ok()) << done.to_string();
  return caller.out() + caller.err();
}

}  // namespace drover
