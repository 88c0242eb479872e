// The node agent with servers, a driver and devices that live in the test's memory.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "agent_plugin.h"
#include "disk/mounts.h"
#include "testing/fakes.h"

namespace drover::agent {

using namespace std::chrono_literals;

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() : folder_(std::filesystem::temp_directory_path() / "drover-agent-XXXXXX") {
    if (!::mkdtemp(folder_.data())) folder_.clear();
  }
  ~AgentTest() override {
    if (agent_) stop();
    // The secrets of allocations that the test leaves running.
    for (const MountPoint& mount : mounts_below(folder_).value_or({})) ::umount2(mount.path.c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  NodeLocator& locator() {
    return *static_cast<NodeLocator*>(
        declarations_.extensions.at({std::string(NodeLocator::kExtensionPoint), "agent"}));
  }
  // Sets the block "client" of the next agent's configuration.
  void configure(const std::string& text) {
    const auto block = parse_config("client.hcl", text);
    ASSERT_TRUE(block.ok()) << block.status().message();
    auto checked = apply_schema(*block, client_schema());
    ASSERT_TRUE(checked.ok()) << checked.status().message();
    client_ = *std::move(checked);
  }
  void start(bool dev_mode = false) {
    start_unheard(dev_mode);
    ASSERT_TRUE(servers_.wait([&] { return servers_.ready; }));
  }
  // Without waiting for an answer of the servers.
  void start_unheard(bool dev_mode = false) {
    host_ = std::make_unique<FakeHost>(folder_, servers_, store_, dev_mode);
    host_->client = client_;
    declarations_ = FakeDeclarations();
    agent_ = std::make_unique<AgentPlugin>();
    ASSERT_TRUE(agent_->declare(declarations_).ok());
    ASSERT_TRUE(declarations_.extend<TaskDriver>("fake", driver_).ok());
    if (devices_) {
      ASSERT_TRUE(declarations_.extend<DevicePlugin>("fake", *devices_).ok());
    }
    for (TaskHook* hook : task_hooks_) ASSERT_TRUE(declarations_.extend<TaskHook>(hook->info().name, *hook).ok());
    for (AllocHook* hook : alloc_hooks_) ASSERT_TRUE(declarations_.extend<AllocHook>(hook->info().name, *hook).ok());
    host_->extensions = declarations_.extensions;
    ASSERT_TRUE(agent_->start(*host_).ok());
  }
  void stop() {
    agent_->stop(std::chrono::steady_clock::now() + 10s);
    agent_.reset();
  }

  template <typename Response, typename Request>
  Result<Response> ask(const std::string& method, const Request& request) {
    FakeCall call;
    DROVER_TRY(std::string bytes, declarations_.bindings.at(method).unary(request.SerializeAsString(), call));
    return parse_message<Response>(bytes);
  }
  Result<std::string> logs(const v1::LogsRequest& request) {
    FakeCall call;
    Recorder recorder;
    DROVER_RETURN_IF_ERROR(declarations_.bindings.at("Logs").stream(request.SerializeAsString(), call, recorder));
    return recorder.data;
  }

  // `ids`: instances of acme/serial/usb that the first task is given.
  std::string place(const std::vector<v1::Task>& tasks, const std::string& type = "service", int attempts = 2,
                    const std::vector<std::string>& ids = {}) {
    v1::Job job;
    const std::string job_id = "web-" + std::to_string(++placed_);
    job.set_id(job_id);
    job.set_name("web");
    job.set_namespace_("default");
    job.set_type(type);
    job.set_payload(payload_);
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("front");
    group.mutable_restart_policy()->set_attempts(attempts);
    group.mutable_restart_policy()->set_interval(60'000'000'000);
    group.mutable_restart_policy()->set_delay(1'000'000);
    group.mutable_restart_policy()->set_mode("fail");
    if (stop_after_ > 0) group.set_stop_after_client_disconnect(stop_after_);
    for (const v1::Task& task : tasks) *group.add_tasks() = task;
    if (!network_mode_.empty()) group.add_networks()->set_mode(network_mode_);
    v1::Allocation allocation;
    allocation.set_id(Uuid::random().bytes());
    allocation.set_name("web.front[0]");
    allocation.set_namespace_("default");
    allocation.set_job_id(job_id);
    allocation.set_task_group("front");
    allocation.set_desired_status(v1::DESIRED_STATUS_RUN);
    if (!ids.empty()) {
      auto& given = (*allocation.mutable_allocated_resources()->mutable_tasks())[tasks[0].name()];
      v1::AllocatedDevice& device = *given.add_devices();
      device.set_vendor("acme");
      device.set_type("serial");
      device.set_name("usb");
      for (const std::string& id : ids) device.add_device_ids(id);
    }
    servers_.place(allocation, job);
    return allocation.id();
  }
  static v1::Task task(const std::string& name, const std::string& hook = "", bool sidecar = false) {
    v1::Task task;
    task.set_name(name);
    task.set_driver("fake");
    task.set_config("{\"command\":\"${NOMAD_TASK_NAME}\"}");
    if (!hook.empty()) {
      task.mutable_lifecycle()->set_hook(hook);
      task.mutable_lifecycle()->set_sidecar(sidecar);
    }
    return task;
  }
  v1::Allocation until_status(const std::string& id, v1::ClientStatus status) {
    auto last = servers_.until(id, [&](const v1::Allocation& a) { return a.client_status() == status; });
    EXPECT_EQ(v1::ClientStatus_Name(status), v1::ClientStatus_Name(last.client_status())) << last.ShortDebugString();
    return last;
  }
  static std::vector<std::string> event_types(const v1::TaskState& state) {
    std::vector<std::string> types;
    for (const v1::TaskEvent& event : state.events()) types.push_back(event.type());
    return types;
  }
  std::string alloc_path(const std::string& id) { return folder_ + "/alloc/" + Uuid::from_bytes(id).to_string(); }

  int placed_ = 0;
  int64_t stop_after_ = 0;    // nanoseconds without a server, of what is placed; 0: for ever
  std::string network_mode_;  // of what is placed
  std::string payload_;       // of its job
  std::optional<ConfigBlock> client_;
  std::string folder_;
  FakeServers servers_;
  FakeDriver driver_;
  MemoryStore store_;
  DevicePlugin* devices_ = nullptr;
  std::vector<TaskHook*> task_hooks_;  // of other plugins; before the agent starts
  std::vector<AllocHook*> alloc_hooks_;
  std::unique_ptr<FakeHost> host_;
  FakeDeclarations declarations_;
  std::unique_ptr<AgentPlugin> agent_;
};

}  // namespace drover::agent
