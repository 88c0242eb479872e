// For tests: a node with its servers in memory, whose agent can be started again.
#pragma once

#include <stdlib.h>

#include <deque>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <string>

#include "drover/plugin.h"
#include "drover/thread_pool.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "keeper/keeper.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_node.h"
#include "testing/fake_plugin.h"

namespace drover::mounts::testing {

class MemoryStore final : public LocalStore {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    const auto at = rows_.find(std::string(key));
    return at == rows_.end() ? std::optional<std::string>() : std::optional<std::string>(at->second);
  }
  Status write(std::span<const Write> writes) override {
    const std::lock_guard lock(mutex_);
    for (const Write& write : writes) {
      rows_.erase(write.key);
      if (write.value) rows_[write.key] = *write.value;
    }
    return ok_status();
  }
  Result<std::vector<std::pair<std::string, std::string>>> list(std::string_view prefix) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& row : rows_) {
      if (row.first.starts_with(prefix)) out.push_back(row);
    }
    return out;
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return rows_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> rows_;
};

// The servers' side of claims: claimed is attached, unless a test says otherwise.
class FakeServers {
 public:
  Result<std::string> answer(const CallContext& context, const std::string& bytes) {
    const std::string method = context.method.substr(context.method.rfind('/') + 1);
    std::unique_lock lock(mutex_);
    calls_.push_back(method);
    if (auto& failures = failures_[method]; !failures.empty()) {
      const Status status = failures.front();
      failures.pop_front();
      return status;
    }
    if (method == "Claim") return claim(*parse_message<v1::CsiClaimRequest>(bytes));
    if (method == "Get") return get(lock, *parse_message<v1::CsiClaimName>(bytes), context.stop);
    if (method == "Released") {
      claims_.erase(key_of(*parse_message<v1::CsiClaimName>(bytes)));
      return std::string();
    }
    v1::CsiClaimsResponse all;
    for (const auto& [key, claim] : claims_) *all.add_claims() = claim;
    return all.SerializeAsString();
  }
  void fail(const std::string& method, Status status, int times = 1) {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < times; ++i) failures_[method].push_back(status);
  }
  // Claims stay at that step, with that error, from now on.
  void hold_at(v1::CsiClaimStep step, std::string error = {}, bool is_final = false) {
    const std::lock_guard lock(mutex_);
    step_ = step;
    error_ = std::move(error);
    is_final_ = is_final;
    for (auto& [key, claim] : claims_) set(claim);
    changed_.notify_all();
  }
  void add(const v1::CsiClaim& claim) {
    const std::lock_guard lock(mutex_);
    claims_[{claim.alloc_id(), claim.volume_id()}] = claim;
  }
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  size_t claims() const {
    const std::lock_guard lock(mutex_);
    return claims_.size();
  }

 private:
  using Key = std::pair<std::string, std::string>;
  static Key key_of(const v1::CsiClaimName& name) { return {name.alloc_id(), name.volume_id()}; }
  void set(v1::CsiClaim& claim) const {
    claim.set_step(step_);
    claim.set_last_error(error_);
    claim.set_is_final_error(is_final_);
  }
  std::string claim(const v1::CsiClaimRequest& request) {
    v1::CsiClaim& claim = claims_[key_of(request.name())];
    claim.set_namespace_("default");
    claim.set_alloc_id(request.name().alloc_id());
    claim.set_volume_id(request.name().volume_id());
    claim.set_plugin_id("disks");
    claim.set_external_volume_id("ext-" + request.name().volume_id());
    claim.set_read_only(request.read_only());
    claim.set_access_mode(request.access_mode());
    claim.set_attachment_mode(request.attachment_mode());
    (*claim.mutable_volume_context())["pool"] = "fast";
    (*claim.mutable_publish_context())["device"] = "/dev/fake";
    set(claim);
    v1::CsiClaimResponse answer;
    *answer.mutable_claim() = claim;
    return answer.SerializeAsString();
  }
  Result<std::string> get(std::unique_lock<std::mutex>& lock, const v1::CsiClaimName& name, std::stop_token stop) {
    if (!claims_.contains(key_of(name))) return not_found("no such claim");
    changed_.wait_for(lock, stop, std::chrono::milliseconds(50),
                      [&] { return step_ != v1::CSI_CLAIM_STEP_CLAIMED || is_final_; });
    v1::CsiClaimResponse answer;
    *answer.mutable_claim() = claims_[key_of(name)];
    (*answer.mutable_secrets())["password"] = "hush";
    return answer.SerializeAsString();
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::deque<Status>> failures_;
  std::map<Key, v1::CsiClaim> claims_;
  std::vector<std::string> calls_;
  v1::CsiClaimStep step_ = v1::CSI_CLAIM_STEP_ATTACHED;
  std::string error_;
  bool is_final_ = false;
};

class NodeHost final : public ::drover::testing::FakeHost {
 public:
  ~NodeHost() override { pool_.stop(); }
  LocalStore& local_store() override { return store; }
  void post(std::function<void()> task) override { (void)pool_.run_blocking(std::move(task)); }
  void post_after(std::chrono::nanoseconds delay, std::function<void()> task) override {
    pool_.post_at(machine_.steady() + delay,
                  [this, task = std::move(task)]() mutable { (void)pool_.run_blocking(std::move(task)); });
  }
  MemoryStore store;

 private:
  SystemClock machine_;
  ThreadPool pool_{ThreadPool::Options{}, machine_};
};

class NodeWorld {
 public:
  NodeWorld() {
    char name[] = "/tmp/drover-mounts-XXXXXX";
    folder = std::filesystem::canonical(::mkdtemp(name)).string();
    folders.emplace(folder);
    std::filesystem::create_directories(base());
    (void)host.rows().extend<NodeCalls>("agent", node_);
    host.answer_calls_with([this](const CallContext& context, const std::string& bytes) {
      return servers.answer(context, bytes);
    });
    claims.start(host);
    start_agent();
    plugin_comes();
  }
  ~NodeWorld() {
    keeper.reset();
    std::filesystem::remove_all(folder);
  }

  // The agent's next life. Nothing is running until it is attached.
  void start_agent() {
    keeper.reset();
    keeper.emplace(Keeper::Setup{.host = host,
                                 .instances = instances,
                                 .claims = claims,
                                 .turns = turns,
                                 .folders = *folders,
                                 .timing = {.first_pause = std::chrono::milliseconds(5),
                                            .longest_pause = std::chrono::milliseconds(20),
                                            .patience = std::chrono::seconds(60),
                                            .each_try = each_try},
                                 .mounted = [this] {
                                   return looks_at_machine ? mounted_paths() : plugin.mounts();
                                 }});
    const Status status = keeper->open();
    DROVER_CHECK(status.ok());
    instances.when_changed([this] {
      if (keeper) keeper->plugins_changed();
    });
  }
  void plugin_comes() {
    v1::CsiInfo info;
    info.set_plugin_id("disks");
    info.set_healthy(true);
    info.mutable_node_info()->set_requires_node_stage_volume(stages);
    info.mutable_node_info()->set_supports_expand(true);
    v1::CsiInfo controller = info;
    controller.clear_node_info();
    controller.mutable_controller_info()->set_supports_create_delete(true);
    controller.mutable_controller_info()->set_supports_attach_detach(true);
    controller.mutable_controller_info()->set_supports_expand(true);
    number = instances.add(std::make_shared<const Instance>(Instance{.plugin_id = "disks",
                                                                     .type = "monolith",
                                                                     .alloc = Uuid::random(),
                                                                     .base = base(),
                                                                     .base_seen = base(),
                                                                     .client = plugin.client()}),
                           {.controller = std::make_shared<const v1::CsiInfo>(controller),
                            .node = std::make_shared<const v1::CsiInfo>(info)});
  }
  void plugin_goes() { instances.remove(number); }

  std::string base() const { return folder + "/client/csi/monolith/disks"; }
  static MountKey key(const Uuid& alloc, const std::string& volume = "data") { return {alloc, "default", volume}; }
  static Usage usage() { return {false, "multi-node-multi-writer", "file-system"}; }
  Result<std::string> mount(const Uuid& alloc, std::stop_token stop = {}, const std::string& volume = "data") {
    keeper->attached(alloc);
    return keeper->mount(
        key(alloc, volume), usage(), {}, [this](const std::string& what) { waited.push_back(what); }, stop);
  }
  // Nothing of a volume is left: at the plugin, on disk, with the servers.
  bool is_clean() const {
    return plugin.staged().empty() && plugin.published().empty() && host.store.size() == 0 && servers.claims() == 0;
  }

  std::string folder;
  FakePlugin plugin;
  FakeServers servers;
  NodeHost host;
  Instances instances;
  Claims claims;
  Turns turns;
  std::optional<Folders> folders;
  std::optional<Keeper> keeper;
  std::vector<std::string> waited;
  uint64_t number = 0;
  bool stages = true;
  bool looks_at_machine = false;  // for what is mounted, instead of at the plugin
  std::chrono::nanoseconds each_try = std::chrono::seconds(10);

 private:
  ::drover::testing::FakeNode node_;
};

}  // namespace drover::mounts::testing
