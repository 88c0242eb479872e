// Native services. On servers: who is found where. On nodes: saying so, to whichever provider a service names.
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/node_fingerprint.h"
#include "drover/pause.h"
#include "drover/plugin_source.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/node.pb.h"
#include "node/native_provider.h"
#include "node/service_hooks.h"
#include "rpc.h"
#include "rules.h"
#include "services.pb.h"
#include "sync_merger.h"

namespace drover::services {
namespace {

constexpr auto kSweepEvery = std::chrono::seconds(30);
constexpr auto kProposeTime = std::chrono::seconds(10);

ConfigSchema client_options() {
  return {.options = {{.name = "nomad_service_discovery",
                       .type = ConfigType::boolean,
                       .default_text = "true",
                       .help = "Jobs with services of the provider nomad may be placed on this node."}}};
}

class ServicesPlugin final : public Plugin, private NodeFingerprint {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(declare.extend<Proposer>(v1::ServicesSynced::descriptor()->full_name(), syncs_));
    DROVER_RETURN_IF_ERROR(declare.extend<ServiceProvider>("nomad", native_));
    DROVER_RETURN_IF_ERROR(declare.configuration("client", client_options()));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeFingerprint>("services", *this));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeRegistered>("services", publisher_));
    DROVER_RETURN_IF_ERROR(declare.extend<AllocHook>("services", group_hook_));
    return declare.extend<TaskHook>("services", task_hook_);
  }

  Status start(Host& host) override {
    host_ = &host;
    rpc_.start(host);
    syncs_.start(host);
    setup_ = {.host = &host, .publisher = &publisher_, .discover = [this] { discover(); }};
    if (!host.agent().client) return ok_status();
    native_.start(host);
    // One plugin runs the checks of a node.
    for (const std::string& name : host.extensions<ServiceHealth>()) health_ = host.extension<ServiceHealth>(name);
    publisher_.start(
        [&host] {
          const NodeCalls* calls = node_calls(host);
          return calls ? calls->proof() : std::nullopt;
        },
        health_);
    if (health_) health_->watch([this] { publisher_.health_changed(); });
    for (const std::string& name : host.extensions<PluginSource>())
      host.extension<PluginSource>(name)->watch<ServiceProvider>([this] { discover(); });
    discover();
    return ok_status();
  }

  // Services in the servers' state are found on this node where jobs ask for it.
  Status describe(v1::Node& node) override {
    const ConfigBlock* client = host_->configuration("client");
    if (!client || client->boolean("nomad_service_discovery", true))
      (*node.mutable_attributes())["nomad.service_discovery"] = "true";
    return ok_status();
  }

  void lead(std::stop_token stop) override {
    while (pause_for(kSweepEvery, stop)) sweep();
  }
  void stop(SteadyTime) override {
    if (host_ && host_->agent().client) {
      for (const std::string& name : host_->extensions<PluginSource>())
        host_->extension<PluginSource>(name)->watch<ServiceProvider>({});
    }
    if (health_) health_->watch({});
    publisher_.stop();
    syncs_.stop();
  }

 private:
  // Providers of this build, and programs, which come and go.
  void discover() {
    for (const std::string& name : host_->extensions<ServiceProvider>())
      publisher_.offer(name, *host_->extension<ServiceProvider>(name));
    for (const std::string& name : host_->extensions<PluginSource>()) {
      for (const auto& each : host_->extension<PluginSource>(name)->plugins<ServiceProvider>())
        publisher_.offer(each.name, *each.plugin);
    }
  }

  // Rows that outlived what they stand for, whatever the reason.
  void sweep() {
    if (!tables_.nodes || !tables_.allocs) return;
    const uint64_t term = host_->term();
    v1::ServicesSwept command;
    *command.mutable_outlived() = outlived(tables_, *host_->snapshot());
    if (command.outlived().node_ids().empty() && command.outlived().alloc_ids().empty()) return;
    const auto applied = host_->propose(command, host_->clock().steady() + kProposeTime, term);
    if (!applied)
      log::warn("services", "services of ended work are not removed", {{"error", applied.status().message()}});
  }

  Host* host_ = nullptr;
  ServiceHealth* health_ = nullptr;  // null: no checks are run here
  Tables tables_;
  Rpc rpc_{tables_};
  SyncMerger syncs_;
  Publisher publisher_;
  NativeProvider native_;
  HookSetup setup_;
  GroupServicesHook group_hook_{setup_};
  TaskServicesHook task_hook_{setup_};
};

}  // namespace
}  // namespace drover::services

DROVER_MODULE(drover::services::ServicesPlugin, "module", "services", "0.1.0");
