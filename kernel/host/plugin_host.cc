#include "kernel/host/plugin_host.h"

#include <algorithm>
#include <future>
#include <memory>

#include "drover/agent_config.h"
#include "drover/nearest.h"

namespace drover::host {
namespace {

class RegistryDeclarations final : public Declarations {
 public:
  RegistryDeclarations(std::string plugin, const Registry& registry)
      : plugin_(std::move(plugin)), registry_(registry) {}

  Result<TableId> table(TableSpec spec) override {
    DROVER_TRY(TableId id, registry_.store.add_table(std::move(spec)));
    registry_.commands.add_table(plugin_, id);
    return id;
  }
  Result<TableId> other_table(std::string_view name) override {
    if (auto id = registry_.store.find_table(name)) return *id;
    return not_found("table " + std::string(name) +
                     " is not declared; its plugin must come before this one: require its capability");
  }
  Status later_table(std::string_view name, std::optional<TableId>& id) override {
    if (registry_.later) registry_.later->push_back({std::string(name), &id});
    return ok_status();
  }
  Status command(std::string name, ApplyFunction apply) override {
    return registry_.commands.add_command(plugin_, std::move(name), std::move(apply));
  }
  Status service(std::string_view full_name, std::vector<MethodBinding> methods) override {
    return registry_.methods.add_service(plugin_, full_name, std::move(methods));
  }
  Status configuration(std::string block, ConfigSchema schema) override {
    if (block == "plugin") block = "plugin:" + plugin_;
    const ConfigSchema own = agent_schema({});  // the kernel's
    const auto kernels = std::ranges::find(own.options, block, &ConfigOption::name);
    std::vector<ConfigOption>& options = registry_.configuration[block].options;
    const auto has = [](const std::vector<ConfigOption>& all, const std::string& name) {
      return std::ranges::find(all, name, &ConfigOption::name) != all.end();
    };
    for (ConfigOption& option : schema.options) {
      if (has(options, option.name) || (kernels != own.options.end() && has(kernels->options, option.name)))
        return already_exists("option " + block + "." + option.name + " is declared twice");
      options.push_back(std::move(option));
    }
    return ok_status();
  }
  Status extension(std::string point, std::string name, void* implementation) override {
    return registry_.extensions.add(plugin_, std::move(point), std::move(name), implementation);
  }

 private:
  const std::string plugin_;
  Registry registry_;
};

class FeedSubscription final : public ChangeSubscription {
 public:
  explicit FeedSubscription(state::Subscription feed) : feed_(std::move(feed)) {}
  Event next(SteadyTime deadline, std::stop_token stop) override {
    state::FeedEvent event = feed_.next(deadline, stop);
    switch (event.kind) {
      case state::FeedEvent::Kind::batch:
        return std::move(event.batch);
      case state::FeedEvent::Kind::resync:
        return Resync{};
      default:
        return Timeout{};
    }
  }

 private:
  state::Subscription feed_;
};

class PluginHost final : public Host {
 public:
  PluginHost(std::string plugin, Shared& shared, std::unique_ptr<LocalStore> local_store)
      : plugin_(std::move(plugin)), shared_(shared), local_store_(std::move(local_store)) {}

  const AgentInfo& agent() const override { return shared_.info; }
  Clock& clock() override { return *shared_.clock; }
  Caller& caller() override { return *shared_.caller; }
  Metrics& metrics() override { return *shared_.metrics; }
  LocalStore& local_store() override { return *local_store_; }

  const ConfigBlock* configuration(std::string_view block) const override {
    if (block.empty()) return &shared_.configuration;
    if (block != "plugin") return shared_.configuration.block(block);
    const ConfigBlock* own = shared_.configuration.block("plugin", plugin_);
    return own ? own->block("config") : nullptr;
  }
  std::string configuration_json() const override { return shared_.configuration_json; }

  Result<Applied> propose(std::string_view command, std::string payload, SteadyTime deadline,
                          uint64_t only_in_term) override {
    auto answer = std::make_shared<std::promise<Result<Applied>>>();
    std::future<Result<Applied>> answered = answer->get_future();
    propose(command, std::move(payload), deadline, only_in_term,
            [answer](Result<Applied> applied) { answer->set_value(std::move(applied)); });
    return answered.get();  // exactly once, by the deadline
  }
  void propose(std::string_view command, std::string payload, SteadyTime deadline, uint64_t only_in_term,
               std::function<void(Result<Applied>)> done) override {
    host::propose(shared_, plugin_, command, std::move(payload), deadline, only_in_term, std::move(done));
  }
  uint64_t term() const override { return shared_.consensus ? shared_.consensus->term() : 0; }

  std::shared_ptr<const ReadView> snapshot() override { return shared_.store->shared_snapshot("plugin"); }
  Result<std::shared_ptr<const ReadView>> snapshot_at(uint64_t index, SteadyTime deadline,
                                                      std::stop_token stop) override {
    DROVER_RETURN_IF_ERROR(shared_.store->wait_for_index(index, deadline, stop));
    return snapshot();
  }
  std::pair<std::shared_ptr<const ReadView>, std::unique_ptr<ChangeSubscription>> follow(
      std::vector<TableId> tables) override {
    auto view = snapshot();
    const uint64_t index = view->index();
    return {std::move(view), std::make_unique<FeedSubscription>(shared_.store->subscribe(index, std::move(tables)))};
  }
  Result<TableId> find_table(std::string_view name) const override {
    if (auto id = shared_.store->find_table(name)) return *id;
    return not_found("no table " + std::string(name));
  }

  RaftInfo raft() const override { return shared_.raft_info ? shared_.raft_info() : RaftInfo{}; }
  RaftControl* raft_control() override { return shared_.raft_control; }
  void identify_node(Uuid node, std::string secret) override { shared_.identify_node(node, std::move(secret)); }
  std::optional<Uuid> local_node() const override { return shared_.local_node(); }

  void post(std::function<void()> task) override { run(shared_, std::move(task)); }
  void post_after(std::chrono::nanoseconds delay, std::function<void()> task) override {
    shared_.pool->post_at(shared_.clock->steady() + delay,
                          [&shared = shared_, task = std::move(task)] { run(shared, task); });
  }

  std::vector<std::string> methods() const override {
    std::vector<std::string> names;
    for (const auto& [name, method] : shared_.methods->all()) names.push_back(name);
    return names;
  }
  void* find_extension(std::string_view point, std::string_view name) const override {
    return shared_.extensions->find(point, name);
  }
  std::vector<std::string> extension_names(std::string_view point) const override {
    return shared_.extensions->names(point);
  }

 private:
  // Runs on a thread where it may wait; if none is left, as soon as one is.
  static void run(Shared& shared, std::function<void()> task) {
    if (shared.pool->run_blocking(task).code() != Code::resource_exhausted) return;
    shared.pool->post_at(shared.clock->steady() + std::chrono::milliseconds(100),
                         [&shared, task = std::move(task)] { run(shared, task); });
  }

  const std::string plugin_;
  Shared& shared_;
  std::unique_ptr<LocalStore> local_store_;
};

}  // namespace

void propose(Shared& shared, std::string_view plugin, std::string_view command, std::string payload,
             SteadyTime deadline, uint64_t only_in_term, std::function<void(Result<Applied>)> done) {
  if (!shared.consensus) {
    done(unavailable("this agent is not a server"));
    return;
  }
  if (const std::string server = shared.who_lacks(command); !server.empty()) {
    done(failed_precondition("server " + server + " does not know the command " + std::string(command) +
                             " and would have to end: enable or install plugin " + std::string(plugin) +
                             " there, or remove that server from the cluster"));
    return;
  }
  shared.consensus->propose(
      encode_command(command, payload), deadline,
      [done = std::move(done)](Result<raft::Applied> answer) {
        if (!answer) return done(answer.status());
        done(Applied{answer->index, std::move(answer->answer)});
      },
      only_in_term);
}

Status ExtensionTable::add(std::string_view plugin, std::string point, std::string name, void* implementation) {
  auto [at, is_new] = extensions_.try_emplace({point, name}, Extension{std::string(plugin), implementation});
  if (is_new) return ok_status();
  return already_exists(point + " \"" + name + "\" is already provided by plugin " + at->second.plugin);
}

void* ExtensionTable::find(std::string_view point, std::string_view name) const {
  auto at = extensions_.find(std::pair(std::string(point), std::string(name)));
  return at == extensions_.end() ? nullptr : at->second.implementation;
}

std::vector<std::string> ExtensionTable::names(std::string_view point) const {
  std::vector<std::string> names;
  for (const auto& [key, extension] : extensions_) {
    if (key.first == point) names.push_back(key.second);
  }
  return names;
}

std::unique_ptr<Declarations> make_declarations(const std::string& plugin, const Registry& registry) {
  return std::make_unique<RegistryDeclarations>(plugin, registry);
}

std::unique_ptr<Host> make_plugin_host(const std::string& plugin, Shared& shared,
                                       std::unique_ptr<LocalStore> local_store) {
  return std::make_unique<PluginHost>(plugin, shared, std::move(local_store));
}

}  // namespace drover::host
