// A driver and devices in the test's memory. For agent_fixture.h.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drover/device_plugin.h"
#include "drover/task_driver.h"
#include "drover/task_event_feed.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {

inline constexpr auto kPatience = std::chrono::seconds(20);

// Tasks are entries in a table: they outlive the agent, as processes do.
class FakeDriver final : public TaskDriver {
 public:
  struct Task {
    driver::TaskConfig config;
    std::optional<driver::ExitResult> exit;
    std::vector<std::string> signals;
    std::string stop_signal;
    std::chrono::nanoseconds stop_timeout{};
  };

  driver::DriverCapabilities capabilities() const override {
    driver::DriverCapabilities capabilities;
    capabilities.set_send_signals(true);
    capabilities.set_exec(runs_commands);
    if (shares_networks) capabilities.add_network_isolation_modes(driver::NetworkIsolationSpec::GROUP);
    capabilities.set_must_create_network(makes_networks);
    capabilities.set_dynamic_workload_users(takes_made_up_users);
    capabilities.set_fs_isolation(isolation);
    return capabilities;
  }
  driver::FingerprintResponse fingerprint() override {
    driver::FingerprintResponse response;
    response.set_health(driver::FingerprintResponse::HEALTHY);
    return response;
  }
  // Says the command, then its input; the end of it, or of what the caller says, ends the command.
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override {
    driver::ExecTaskStreamingResponse response;
    for (const std::string& word : command.command) response.mutable_stderr()->mutable_data()->append(word + ";");
    (void)stream.send(response);
    std::string heard =
        command.task_id.substr(37, command.task_id.rfind('/') - 37) + (command.tty ? " on a tty:" : ":");
    while (const auto request = stream.receive(stream.stop())) {
      if (request->has_tty_size()) heard += std::to_string(request->tty_size().width()) + ";";
      heard += request->stdin().data();
      if (request->stdin().close()) break;
    }
    response.Clear();
    response.mutable_stdout()->set_data(heard);
    response.set_exited(true);
    response.mutable_result()->set_exit_code(5);
    return stream.send(response) ? ok_status() : cancelled("gone");
  }
  void follow_events(const TellEvent& tell, std::stop_token stop) override { events_.follow(tell, std::move(stop)); }
  Result<std::string> encode_config(std::string_view json) override {
    if (is_away("encode")) return away();
    if (json.find("\"refuse\"") != std::string_view::npos) return invalid_argument("option \"refuse\" is unknown");
    return std::string(json);
  }
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override {
    std::lock_guard lock(mutex_);
    starts_.push_back(config.name());
    if (auto at = start_errors_.find(config.name()); at != start_errors_.end()) return at->second;
    auto task = std::make_shared<Task>();
    task->config = config;
    if (auto at = scripted_exits_.find(config.name()); at != scripted_exits_.end()) {
      task->exit.emplace();
      task->exit->set_exit_code(at->second);
    }
    tasks_[config.id()] = task;
    changed_.notify_all();
    driver::StartTaskResponse response;
    *response.mutable_handle()->mutable_config() = config;
    response.mutable_handle()->set_driver_state("pid of " + config.name());
    return response;
  }
  Status recover_task(const driver::TaskHandle& handle) override {
    std::lock_guard lock(mutex_);
    ++recovered_;
    changed_.notify_all();
    if (counts_down("recover")) return away();
    return tasks_.contains(handle.config().id()) ? ok_status() : not_found(std::string(kTaskNotFound));
  }
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    auto at = tasks_.find(std::string(id));
    if (at == tasks_.end()) return not_found(std::string(kTaskNotFound));
    if (counts_down("wait")) return away();
    auto task = at->second;
    changed_.wait(lock, stop, [&] { return task->exit.has_value(); });
    if (task->exit) return *task->exit;
    return cancelled("no longer waited for");
  }
  Status stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) override {
    std::lock_guard lock(mutex_);
    auto at = tasks_.find(std::string(id));
    if (at == tasks_.end()) return not_found(std::string(kTaskNotFound));
    if (counts_down("stop")) return away();
    at->second->stop_signal = std::string(signal);
    at->second->stop_timeout = timeout;
    stopped_.push_back(at->second->config.name());
    if (!at->second->exit) {
      at->second->exit.emplace();
      at->second->exit->set_exit_code(130);
      at->second->exit->set_signal(2);
    }
    changed_.notify_all();
    return ok_status();
  }
  Status destroy_task(std::string_view id, bool) override {
    std::lock_guard lock(mutex_);
    tasks_.erase(std::string(id));
    return ok_status();
  }
  Result<driver::InspectTaskResponse> inspect_task(std::string_view) override { return driver::InspectTaskResponse(); }
  Result<driver::TaskStats> task_stats(std::string_view id) override {
    driver::TaskStats stats;
    stats.set_id(std::string(id));
    stats.mutable_agg_resource_usage()->mutable_memory()->set_rss(1000);
    stats.mutable_agg_resource_usage()->mutable_cpu()->set_percent(1.5);
    (*stats.mutable_resource_usage_by_pid())["42"] = stats.agg_resource_usage();
    return stats;
  }
  Status signal_task(std::string_view id, std::string_view signal) override {
    if (!signal.starts_with("SIG")) return invalid_argument("unknown signal \"" + std::string(signal) + "\"");
    std::lock_guard lock(mutex_);
    auto at = tasks_.find(std::string(id));
    if (at == tasks_.end()) return not_found(std::string(kTaskNotFound));
    at->second->signals.emplace_back(signal);
    return ok_status();
  }

  Result<driver::CreateNetworkResponse> create_network(const driver::CreateNetworkRequest& request) override {
    std::lock_guard lock(mutex_);
    driver::CreateNetworkResponse response;
    response.set_created(networks_.insert(request.alloc_id()).second);
    response.mutable_isolation_spec()->set_mode(driver::NetworkIsolationSpec::GROUP);
    response.mutable_isolation_spec()->set_path("/net/" + request.alloc_id());
    return response;
  }
  Status destroy_network(const driver::DestroyNetworkRequest& request) override {
    std::lock_guard lock(mutex_);
    if (request.isolation_spec().path() != "/net/" + request.alloc_id()) return invalid_argument("another network");
    for (const auto& [id, task] : tasks_) {
      if (id.starts_with(request.alloc_id())) return failed_precondition("the network is in use");
    }
    networks_.erase(request.alloc_id());
    changed_.notify_all();
    return ok_status();
  }

  // --- The test's side
  bool runs_commands = true;                            // before the agent starts
  bool shares_networks = true, makes_networks = false;  // before the agent starts
  bool takes_made_up_users = false;  // before the agent starts, as the next
  driver::DriverCapabilities::FSIsolation isolation = driver::DriverCapabilities::NONE;
  std::set<std::string> networks() {
    std::lock_guard lock(mutex_);
    return networks_;
  }
  bool wait_no_networks() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return networks_.empty(); });
  }
  // Something happens to the task; `at` in seconds since 1970.
  void tell(const std::string& name, const std::string& message, int64_t at) {
    driver::DriverTaskEvent event;
    if (const auto task = find(name)) event.set_task_id(task->config.id());
    event.mutable_timestamp()->set_seconds(at);
    event.set_message(message);
    (*event.mutable_annotations())["size"] = "3 MiB";
    events_.pass_on(event);
  }
  // The next so many calls of this name ("encode", "recover", "wait", "stop") find no plugin.
  void is_away_for(const std::string& call, int times) {
    std::lock_guard lock(mutex_);
    away_[call] = times;
  }
  bool wait_recovered(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return recovered_ == times; });
  }
  bool wait_stopped(const std::string& name) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return std::ranges::find(stopped_, name) != stopped_.end(); });
  }
  void exits_at_once(const std::string& name, int code) {
    std::lock_guard lock(mutex_);
    scripted_exits_[name] = code;
  }
  void does_not_start(const std::string& name, Status error) {
    std::lock_guard lock(mutex_);
    start_errors_.insert_or_assign(name, std::move(error));
  }
  void finish(const std::string& name, int code) {
    std::lock_guard lock(mutex_);
    for (auto& [id, task] : tasks_) {
      if (task->config.name() != name || task->exit) continue;
      task->exit.emplace();
      task->exit->set_exit_code(code);
    }
    changed_.notify_all();
  }
  std::shared_ptr<Task> find(const std::string& name) {
    std::lock_guard lock(mutex_);
    for (auto& [id, task] : tasks_) {
      if (task->config.name() == name) return task;
    }
    return nullptr;
  }
  void lose_everything() {
    std::lock_guard lock(mutex_);
    tasks_.clear();
  }
  std::vector<std::string> starts() {
    std::lock_guard lock(mutex_);
    return starts_;
  }
  std::vector<std::string> stopped() {
    std::lock_guard lock(mutex_);
    return stopped_;
  }
  int recovered() {
    std::lock_guard lock(mutex_);
    return recovered_;
  }

 private:
  static Status away() { return unavailable("the plugin is not running yet"); }
  bool is_away(const std::string& call) {
    std::lock_guard lock(mutex_);
    return counts_down(call);
  }
  bool counts_down(const std::string& call) {  // requires: mutex_
    const auto at = away_.find(call);
    return at != away_.end() && at->second-- > 0;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::shared_ptr<Task>> tasks_;
  std::map<std::string, int> away_;
  std::map<std::string, int> scripted_exits_;
  std::map<std::string, Status> start_errors_;
  std::vector<std::string> starts_, stopped_;
  std::set<std::string> networks_;  // of allocations
  int recovered_ = 0;
  TaskEventFeed events_;
};

// Two serial ports; the test says how they are.
class FakeDevices final : public DevicePlugin {
 public:
  std::chrono::nanoseconds fingerprint_every() const override { return std::chrono::milliseconds(100); }
  Result<device::FingerprintResponse> fingerprint() override {
    std::lock_guard lock(mutex_);
    device::FingerprintResponse print;
    device::DeviceGroup& group = *print.add_device_group();
    group.set_vendor("acme");
    group.set_device_type("serial");
    group.set_device_name("usb");
    (*group.mutable_attributes())["speed"].set_int_val(115200);
    for (const char* id : {"tty0", "tty1"}) {
      device::DetectedDevice& instance = *group.add_devices();
      instance.set_id(id);
      instance.set_healthy(broken_ != id);
      if (!instance.healthy()) instance.set_health_description("unplugged");
    }
    return print;
  }
  Result<device::ContainerReservation> reserve(std::span<const std::string> ids) override {
    std::lock_guard lock(mutex_);
    if (refusals_left_ > 0) {
      --refusals_left_;
      return refusal_;
    }
    ++reservations_;
    device::ContainerReservation reservation;
    for (const std::string& id : ids) {
      std::string& paths = (*reservation.mutable_envs())["PORTS"];
      paths += (paths.empty() ? "" : ",") + id;
      device::DeviceSpec& device = *reservation.add_devices();
      device.set_host_path("/dev/" + id);
      device.set_task_path("/dev/" + id);
      device.set_permissions("rw");
    }
    device::Mount& mount = *reservation.add_mounts();
    mount.set_host_path("/usr/lib/acme");
    mount.set_task_path("/opt/acme");
    mount.set_read_only(true);
    return reservation;
  }
  Result<device::StatsResponse> stats() override {
    device::StatsResponse stats;
    device::DeviceGroupStats& group = *stats.add_groups();
    group.set_vendor("acme");
    group.set_type("serial");
    group.set_name("usb");
    for (const char* id : {"tty0", "tty1"}) {
      auto& summary = *(*group.mutable_instance_stats())[id].mutable_summary();
      summary.mutable_int_numerator_val()->set_value(7);
      summary.set_unit("MB");
    }
    return stats;
  }

  // --- The test's side
  void breaks(const std::string& id) {
    std::lock_guard lock(mutex_);
    broken_ = id;
  }
  void refuses(Status refusal, int times) {
    std::lock_guard lock(mutex_);
    refusal_ = std::move(refusal);
    refusals_left_ = times;
  }
  int reservations() {
    std::lock_guard lock(mutex_);
    return reservations_;
  }

 private:
  std::mutex mutex_;
  std::string broken_;
  Status refusal_;
  int refusals_left_ = 0;
  int reservations_ = 0;
};

}  // namespace drover::agent
