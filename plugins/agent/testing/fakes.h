// Servers and a host in the test's memory, and calls as the kernel makes them. For agent_fixture.h.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "drover/api/allocations.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/config.h"
#include "drover/metrics.h"
#include "drover/node_locator.h"
#include "drover/plugin.h"
#include "drover/stopping.h"
#include "drover/v1/node_service.pb.h"
#include "testing/fake_driver.h"

namespace drover::agent {

// The servers: what a node registers, and the allocations that it is given.
class FakeServers final : public Caller {
 public:
  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) override {
    done(call_and_wait(std::move(context), std::move(request)));
  }
  Result<std::unique_ptr<StreamCall>> open(CallContext context, std::string request, StreamReceiver receiver) override {
    if (!streams) return unimplemented("no streams");
    return streams(context, request, std::move(receiver));
  }
  Result<Reply> call_and_wait(CallContext context, std::string request) override {
    std::unique_lock lock(mutex_);
    if (const auto at = failures.find(context.method); at != failures.end() && !at->second.empty()) {
      Status failure = std::move(at->second.front());
      at->second.pop_front();
      return failure;
    }
    if (context.method == "/drover.v1.NodeRegistry/Register") {
      registered = *parse_message<v1::RegisterNodeRequest>(request);
      node.emplace().ParseFromString(registered.node().SerializeAsString());
      ++registrations;
      changed.notify_all();
      return heartbeat_reply();
    }
    if (!believes(context)) return not_believed();
    if (context.method == "/drover.v1.NodeRegistry/Heartbeat") {
      if (is_silent) return unavailable("nobody answers");
      if (parse_message<v1::HeartbeatRequest>(request)->renews_identity()) ++wanted_identities;
      if (forget_node) {
        forget_node = false;
        return not_found("node not found");
      }
      ready = true;
      changed.notify_all();
      return heartbeat_reply();
    }
    if (context.method == "/drover.v1.NodeAllocations/Watch") {
      changed.wait(lock, context.stop,
                   [&] { return is_stopping || index > context.query.min_index || !believes(context); });
      if (!believes(context)) return not_believed();
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
        if (jobs.contains(id)) *response.add_jobs() = jobs.at(id);
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
    if (context.method == "/drover.v1.Allocations/Get") {
      const auto wanted = parse_message<v1::AllocationRequest>(request);
      const auto& rows = allocations.contains(wanted->alloc_id()) ? allocations : elsewhere;
      const auto at = rows.find(wanted->alloc_id());
      if (at == rows.end()) return not_found("alloc not found");
      v1::AllocationResponse response;
      *response.mutable_allocation()->mutable_allocation() = at->second;
      return Reply{response.SerializeAsString(), {}};
    }
    if (context.method == "/drover.v1.Nodes/Drain") {
      drain = *parse_message<v1::NodeDrainRequest>(request);
      ++index;
      changed.notify_all();
      return Reply{};
    }
    if (context.method == "/drover.v1.Nodes/Get") {
      changed.wait_for(lock, context.query.max_wait, [&] { return index > context.query.min_index; });
      ++looks;
      v1::NodeResponse response;
      response.mutable_node()->mutable_node()->set_drain(drain && !is_drained);
      Reply reply{response.SerializeAsString(), {}};
      reply.meta.index = index;
      return reply;
    }
    return unimplemented(context.method);
  }

  // Heartbeats are not answered any more, or again.
  void refuse_heartbeats(bool refuse) {
    std::lock_guard lock(mutex_);
    is_silent = refuse;
  }
  // The next call of the method that has no such answer yet gets this one.
  void fail_next(const std::string& method, Status failure) {
    std::lock_guard lock(mutex_);
    failures[method].push_back(std::move(failure));
  }
  // The next answer to the node's registration or heartbeat has this identity. From then on nothing else proves it.
  void give_identity(const std::string& token) {
    std::lock_guard lock(mutex_);
    next_identity = token;
  }
  // Nothing proves the node until it gets the next identity.
  void doubt() {
    std::lock_guard lock(mutex_);
    proof = "another one";
    changed.notify_all();
  }
  // The node's drain is over.
  void end_drain() {
    std::lock_guard lock(mutex_);
    is_drained = true;
    ++index;
    changed.notify_all();
  }
  void place(v1::Allocation allocation, v1::Job job) {
    std::lock_guard lock(mutex_);
    allocation.set_alloc_modify_index(++index);
    jobs[allocation.id()] = std::move(job);
    const std::string id = allocation.id();
    allocations[id] = std::move(allocation);
    changed.notify_all();
  }
  // The servers describe it anew, as it was.
  void touch(const std::string& id) {
    std::lock_guard lock(mutex_);
    allocations[id].set_alloc_modify_index(++index);
    changed.notify_all();
  }
  void stop(const std::string& id) {
    std::lock_guard lock(mutex_);
    allocations[id].set_desired_status(v1::DESIRED_STATUS_STOP);
    allocations[id].set_alloc_modify_index(++index);
    changed.notify_all();
  }
  // The same, and its job is gone.
  void purge(const std::string& id) {
    {
      std::lock_guard lock(mutex_);
      jobs.erase(id);
    }
    stop(id);
  }
  // The allocation is replaced by that one, on another node.
  void follow(const std::string& id, const Uuid& successor, const Uuid& node) {
    std::lock_guard lock(mutex_);
    allocations.at(id).set_next_allocation(successor.bytes());
    elsewhere[successor.bytes()].set_node_id(node.bytes());
  }
  void forget_report(const std::string& id) {
    std::lock_guard lock(mutex_);
    reported.erase(id);
  }
  void remove(const std::string& id) {
    std::lock_guard lock(mutex_);
    allocations.erase(id);
    ++index;
    changed.notify_all();
  }
  // Waits until a predicate holds for the node's reports; returns the last one.
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

  // Answers streaming calls. Before the agent starts.
  std::function<Result<std::unique_ptr<StreamCall>>(const CallContext&, const std::string& request, StreamReceiver)>
      streams;
  // Guarded by mutex_, as everything.
  std::optional<v1::Node> node;
  bool ready = false;
  bool forget_node = false;
  bool is_stopping = false, is_silent = false;
  std::optional<v1::NodeDrainRequest> drain;
  bool is_drained = false;
  int looks = 0;  // at the node
  int refused_watches = 0;
  int registrations = 0, updates = 0, refuse_updates = 0;
  v1::RegisterNodeRequest registered;  // the last one
  std::string proof, next_identity;    // empty: whatever it shows; none
  int disbelieved = 0, wanted_identities = 0;
  std::map<std::string, v1::Allocation> reported;

 private:
  bool believes(const CallContext& context) const {
    const bool is_of_node = context.method.starts_with("/drover.v1.NodeRegistry/Heartbeat") ||
                            context.method.starts_with("/drover.v1.NodeAllocations/");
    return !is_of_node || proof.empty() || context.node_secret == proof;
  }
  Status not_believed() {
    ++disbelieved;
    changed.notify_all();
    return permission_denied("the node does not prove who it is");
  }
  Result<Reply> heartbeat_reply() {
    v1::HeartbeatResponse response;
    response.set_heartbeat_ttl(1'000'000'000);
    if (!next_identity.empty()) {
      proof = std::exchange(next_identity, "");
      response.set_identity(proof);
    }
    return Reply{response.SerializeAsString(), {}};
  }
  std::mutex mutex_;
  std::condition_variable_any changed;
  uint64_t index = 1;
  std::map<std::string, std::deque<Status>> failures;  // by method
  std::map<std::string, v1::Allocation> allocations;
  std::map<std::string, v1::Allocation> elsewhere;  // of other nodes
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

using Extensions = std::map<std::pair<std::string, std::string>, void*>;  // by point and name

class FakeHost : public Host {
 public:
  FakeHost(std::string data_dir, FakeServers& servers, LocalStore& store, bool dev_mode)
      : servers_(servers), store_(store) {
    info_ = {
        .name = "node-1", .region = "global", .datacenter = "dc1", .version = "0.1.0", .data_dir = std::move(data_dir)};
    info_.dev_mode = dev_mode;
  }
  const AgentInfo& agent() const override { return info_; }
  Clock& clock() override { return clock_; }
  Caller& caller() override { return servers_; }
  Metrics& metrics() override { return metrics_; }
  LocalStore& local_store() override { return store_; }
  const ConfigBlock* configuration(std::string_view block) const override {
    return block == "client" && client ? &*client : nullptr;
  }
  std::string configuration_json() const override { return "{}"; }
  Result<Applied> propose(std::string_view, std::string, SteadyTime, uint64_t) override { return none_; }
  void propose(std::string_view, std::string, SteadyTime, uint64_t, std::function<void(Result<Applied>)> d) override {
    d(none_);
  }
  uint64_t term() const override { return 0; }
  std::shared_ptr<const ReadView> snapshot() override { return nullptr; }
  Result<std::shared_ptr<const ReadView>> snapshot_at(uint64_t, SteadyTime, std::stop_token) override { return none_; }
  std::pair<std::shared_ptr<const ReadView>, std::unique_ptr<ChangeSubscription>> follow(
      std::vector<TableId>) override {
    return {};
  }
  Result<TableId> find_table(std::string_view) const override { return not_found("no tables"); }
  RaftInfo raft() const override { return {}; }
  RaftControl* raft_control() override { return nullptr; }
  void identify_node(Uuid node, std::string) override { node_ = node; }
  std::optional<Uuid> local_node() const override { return node_; }
  std::vector<std::string> methods() const override { return {}; }
  void post(std::function<void()> task) override { task(); }
  void post_after(std::chrono::nanoseconds, std::function<void()> task) override { task(); }
  void* find_extension(std::string_view point, std::string_view name) const override {
    const auto at = extensions.find({std::string(point), std::string(name)});
    return at == extensions.end() ? nullptr : at->second;
  }
  std::vector<std::string> extension_names(std::string_view point) const override {
    std::vector<std::string> names;
    for (const auto& [key, implementation] : extensions) {
      if (key.first == point) names.push_back(key.second);
    }
    return names;
  }
  Uuid node() const { return node_; }
  Extensions extensions;              // before the agent starts, as the following
  std::optional<ConfigBlock> client;  // the agent's configuration

 protected:
  AgentInfo info_;

 private:
  const Status none_ = unavailable("not a server");
  SystemClock clock_;
  Metrics metrics_;
  FakeServers& servers_;
  LocalStore& store_;
  Uuid node_;
};

class FakeCall final : public Call {
 public:
  FakeCall() { context_.identity.permissions = all_permissions(); }
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
class FakeDeclarations : public Declarations {
 public:
  Result<TableId> table(TableSpec) override { return unimplemented("no tables"); }
  Result<TableId> other_table(std::string_view) override { return unimplemented("no tables"); }
  Status command(std::string, ApplyFunction) override { return ok_status(); }
  Status service(std::string_view service, std::vector<MethodBinding> methods) override {
    for (MethodBinding& method : methods) {
      const std::string name = method.name;
      bindings[bindings.contains(name) ? std::string(service) + "/" + name : name] = std::move(method);
    }
    return ok_status();
  }
  Status configuration(std::string, ConfigSchema) override { return ok_status(); }
  Status extension(std::string point, std::string name, void* implementation) override {
    extensions[{std::move(point), std::move(name)}] = implementation;
    return ok_status();
  }
  std::map<std::string, MethodBinding> bindings;  // by name; by "service/name" where an earlier service has that name
  Extensions extensions;
};

}  // namespace drover::agent
