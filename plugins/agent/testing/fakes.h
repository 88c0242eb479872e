// A driver, devices, servers and a host in the test's memory, and calls as the kernel makes them. For agent_fixture.h.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "drover/device_plugin.h"
#include "drover/metrics.h"
#include "drover/node_locator.h"
#include "drover/plugin.h"
#include "drover/stopping.h"
#include "drover/task_driver.h"
#include "drover/task_event_feed.h"
#include "drover/v1/node_service.pb.h"
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

// The servers: what a node registers, and the allocations that it is given.
class FakeServers final : public Caller {
 public:
  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) override {
    done(call_and_wait(std::move(context), std::move(request)));
  }
  Result<std::unique_ptr<StreamCall>> open(CallContext, std::string, StreamReceiver) override {
    return unimplemented("no streams");
  }
  Result<Reply> call_and_wait(CallContext context, std::string request) override {
    std::unique_lock lock(mutex_);
    if (context.method == "/drover.v1.NodeRegistry/Register") {
      node.emplace().ParseFromString(parse_message<v1::RegisterNodeRequest>(request)->node().SerializeAsString());
      ++registrations;
      changed.notify_all();
      return heartbeat_reply();
    }
    if (context.method == "/drover.v1.NodeRegistry/Heartbeat") {
      if (forget_node) {
        forget_node = false;
        return not_found("node not found");
      }
      ready = true;
      changed.notify_all();
      return heartbeat_reply();
    }
    if (context.method == "/drover.v1.NodeAllocations/Watch") {
      changed.wait(lock, context.stop, [&] { return is_stopping || index > context.query.min_index; });
      if (is_stopping) {
        ++refused_watches;
        changed.notify_all();
        return agent_is_stopping();
      }
      v1::WatchAllocationsResponse response;
      for (const auto& [id, allocation] : allocations) {
        auto& entry = *response.add_entries();
        entry.set_alloc_id(id);
        entry.set_alloc_modify_index(allocation.alloc_modify_index());
      }
      Reply reply{response.SerializeAsString(), {}};
      reply.meta.index = index;
      return reply;
    }
    if (context.method == "/drover.v1.NodeAllocations/Fetch") {
      v1::FetchAllocationsResponse response;
      const auto fetch = parse_message<v1::FetchAllocationsRequest>(request);
      for (const std::string& id : fetch->alloc_ids()) {
        *response.add_allocations() = allocations.at(id);
        *response.add_jobs() = jobs.at(id);
      }
      return Reply{response.SerializeAsString(), {}};
    }
    if (context.method == "/drover.v1.NodeAllocations/Update") {
      if (refuse_updates > 0) {
        --refuse_updates;
        return unavailable("No cluster leader");
      }
      const auto update = parse_message<v1::UpdateAllocationsRequest>(request);
      for (const v1::Allocation& allocation : update->allocations()) reported[allocation.id()] = allocation;
      ++updates;
      changed.notify_all();
      return Reply{};
    }
    return unimplemented(context.method);
  }

  void place(v1::Allocation allocation, v1::Job job) {
    std::lock_guard lock(mutex_);
    allocation.set_alloc_modify_index(++index);
    jobs[allocation.id()] = std::move(job);
    const std::string id = allocation.id();
    allocations[id] = std::move(allocation);
    changed.notify_all();
  }
  void stop(const std::string& id) {
    std::lock_guard lock(mutex_);
    allocations[id].set_desired_status(v1::DESIRED_STATUS_STOP);
    allocations[id].set_alloc_modify_index(++index);
    changed.notify_all();
  }
  void remove(const std::string& id) {
    std::lock_guard lock(mutex_);
    allocations.erase(id);
    ++index;
    changed.notify_all();
  }
  // Waits for what a predicate says of the node's reports; what was reported last.
  v1::Allocation until(const std::string& id, const std::function<bool(const v1::Allocation&)>& wanted) {
    std::unique_lock lock(mutex_);
    changed.wait_for(lock, kPatience, [&] { return reported.contains(id) && wanted(reported[id]); });
    return reported[id];
  }
  // The kernel has begun to end: calls are refused, and the plugin does not know why yet.
  void end_calls() {
    std::lock_guard lock(mutex_);
    is_stopping = true;
    changed.notify_all();
  }
  bool wait(const std::function<bool()>& wanted) {
    std::unique_lock lock(mutex_);
    return changed.wait_for(lock, kPatience, wanted);
  }

  // Before the next agent: what the former one reported is not taken for its.
  void expect_another_agent() {
    wait([&] {
      reported.clear();
      ready = false;
      return true;
    });
  }

  // Guarded by mutex_, as everything.
  std::optional<v1::Node> node;
  bool ready = false;
  bool forget_node = false;
  bool is_stopping = false;
  int refused_watches = 0;
  int registrations = 0, updates = 0, refuse_updates = 0;
  std::map<std::string, v1::Allocation> reported;

 private:
  static Result<Reply> heartbeat_reply() {
    v1::HeartbeatResponse response;
    response.set_heartbeat_ttl(1'000'000'000);
    return Reply{response.SerializeAsString(), {}};
  }
  std::mutex mutex_;
  std::condition_variable_any changed;
  uint64_t index = 1;
  std::map<std::string, v1::Allocation> allocations;
  std::map<std::string, v1::Job> jobs;
};

class MemoryStore final : public LocalStore {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override {
    std::lock_guard lock(mutex_);
    auto at = rows_.find(key);
    return at == rows_.end() ? std::optional<std::string>() : std::optional<std::string>(at->second);
  }
  Status write(std::span<const Write> writes) override {
    std::lock_guard lock(mutex_);
    for (const Write& write : writes) {
      if (write.value) {
        rows_[write.key] = *write.value;
      } else {
        rows_.erase(write.key);
      }
    }
    return ok_status();
  }
  Result<std::vector<std::pair<std::string, std::string>>> list(std::string_view prefix) override {
    std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, std::string>> out;
    for (auto at = rows_.lower_bound(prefix); at != rows_.end() && at->first.starts_with(prefix); ++at)
      out.emplace_back(*at);
    return out;
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return rows_.size();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> rows_;
};

class FakeHost final : public Host {
 public:
  FakeHost(std::string data_dir, FakeServers& servers, LocalStore& store, FakeDriver& driver, bool dev_mode)
      : servers_(servers), store_(store), driver_(driver) {
    info_ = {
        .name = "node-1", .region = "global", .datacenter = "dc1", .version = "0.1.0", .data_dir = std::move(data_dir)};
    info_.dev_mode = dev_mode;
  }
  const AgentInfo& agent() const override { return info_; }
  Clock& clock() override { return clock_; }
  Caller& caller() override { return servers_; }
  Metrics& metrics() override { return metrics_; }
  LocalStore& local_store() override { return store_; }
  const ConfigBlock* configuration(std::string_view) const override { return nullptr; }
  std::string configuration_json() const override { return "{}"; }
  Result<Applied> propose(std::string_view, std::string, SteadyTime, uint64_t) override { return none_; }
  void propose(std::string_view, std::string, SteadyTime, uint64_t, std::function<void(Result<Applied>)> d) override {
    d(none_);
  }
  uint64_t term() const override { return 0; }
  std::shared_ptr<const ReadView> snapshot() override { return nullptr; }
  Result<std::shared_ptr<const ReadView>> snapshot_at(uint64_t, SteadyTime, std::stop_token) override { return none_; }
  std::pair<std::shared_ptr<const ReadView>, std::unique_ptr<ChangeSubscription>> follow() override { return {}; }
  Result<TableId> find_table(std::string_view) const override { return not_found("no tables"); }
  RaftInfo raft() const override { return {}; }
  RaftControl* raft_control() override { return nullptr; }
  void identify_node(Uuid node, std::string) override { node_ = node; }
  std::optional<Uuid> local_node() const override { return node_; }
  std::vector<std::string> methods() const override { return {}; }
  void post(std::function<void()> task) override { task(); }
  void post_after(std::chrono::nanoseconds, std::function<void()> task) override { task(); }
  void* find_extension(std::string_view point, std::string_view name) const override {
    if (point == DevicePlugin::kExtensionPoint) return devices;
    if (point != TaskDriver::kExtensionPoint || name != "fake") return nullptr;
    return static_cast<TaskDriver*>(&driver_);
  }
  std::vector<std::string> extension_names(std::string_view point) const override {
    const bool has_it = point == TaskDriver::kExtensionPoint || (point == DevicePlugin::kExtensionPoint && devices);
    return has_it ? std::vector<std::string>{"fake"} : std::vector<std::string>();
  }
  Uuid node() const { return node_; }
  DevicePlugin* devices = nullptr;  // before the agent starts

 private:
  const Status none_ = unavailable("not a server");
  AgentInfo info_;
  SystemClock clock_;
  Metrics metrics_;
  FakeServers& servers_;
  LocalStore& store_;
  FakeDriver& driver_;
  Uuid node_;
};

class FakeCall final : public Call {
 public:
  const CallContext& context() const override { return context_; }
  const ReadView& view() const override { std::abort(); }
  CallContext context_;
};

class Recorder final : public MessageStream {
 public:
  bool send(std::string message) override {
    data += parse_message<v1::FileFrame>(message)->data();
    return true;
  }
  std::optional<std::string> receive(SteadyTime) override { return std::nullopt; }
  std::string data;
};

// Takes the handlers, as the kernel does.
class FakeDeclarations final : public Declarations {
 public:
  Result<TableId> table(TableSpec) override { return unimplemented("no tables"); }
  Result<TableId> other_table(std::string_view) override { return unimplemented("no tables"); }
  Status command(std::string, ApplyFunction) override { return ok_status(); }
  Status service(std::string_view, std::vector<MethodBinding> methods) override {
    for (MethodBinding& method : methods) bindings[method.name] = std::move(method);
    return ok_status();
  }
  Status configuration(std::string, ConfigSchema) override { return ok_status(); }
  Status extension(std::string point, std::string, void* implementation) override {
    if (point == NodeLocator::kExtensionPoint) locator = static_cast<NodeLocator*>(implementation);
    return ok_status();
  }
  std::map<std::string, MethodBinding> bindings;
  NodeLocator* locator = nullptr;
};

}  // namespace drover::agent
