// Storage on the node that runs allocations: storage plugins, which run as tasks or by the agent's configuration, and
// the volumes that they mount.
#include <filesystem>

#include "csi/protocol/client.h"
#include "drover/config.h"
#include "drover/module.h"
#include "drover/node_calls.h"
#include "drover/plugin_programs/callback_threads.h"
#include "keeper/keeper.h"
#include "node_rpc.h"
#include "programs/programs.h"
#include "supervisor/plugin_hook.h"
#include "volume_hooks.h"

namespace drover::mounts {
namespace {

class MountsPlugin final : public Plugin, private NodeRegistered {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(declare.configuration("plugin_kind:" + std::string(kProgramKind), program_schema()));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeFingerprint>("csi", instances_));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeRegistered>("csi", *this));
    DROVER_RETURN_IF_ERROR(declare.extend<AllocHook>("csi", volumes_));
    DROVER_RETURN_IF_ERROR(declare.extend<TaskHook>("csi_volumes", mounts_));
    DROVER_RETURN_IF_ERROR(declare.extend<NodePrograms>("csi", programs_));
    return declare.extend<TaskHook>("csi_plugin", plugins_);
  }

  Status start(Host& host) override {
    if (!host.agent().client) return ok_status();
    plugin_programs::keep_callback_threads();
    DROVER_TRY(const std::string data_dir, without_links(host.agent().data_dir));
    folders_.emplace(data_dir);
    claims_.start(host);
    keeper_.emplace(
        Keeper::Setup{.host = host, .instances = instances_, .claims = claims_, .turns = turns_, .folders = *folders_});
    DROVER_RETURN_IF_ERROR(keeper_->open().with_context("read what is mounted on this node"));
    instances_.when_changed([this] { keeper_->plugins_changed(); });
    plugins_.start(
        {.host = &host, .instances = &instances_, .folders = &*folders_, .connect = [](const std::string& socket) {
           return std::make_shared<csi::Client>(socket);
         }});
    volumes_.start(host.clock(), *keeper_);
    mounts_.start(*keeper_);
    rpc_.start({.host = host, .instances = instances_, .turns = turns_, .keeper = *keeper_});
    return start_programs(host);
  }

  // Programs last: what allocations had mounted is unmounted by then, or stays.
  void stop(SteadyTime) override {
    if (keeper_) keeper_->stop();
    programs_.stop();
  }

 private:
  Status start_programs(Host& host) {
    const ConfigBlock* const all = host.configuration("");
    DROVER_TRY(std::vector<ProgramSettings> wanted, read_programs(all ? *all : ConfigBlock()));
    return programs_.start({.host = host,
                            .instances = instances_,
                            .folders = *folders_,
                            .is_used = [this](const std::string& id) { return keeper_->uses(id); },
                            .connect =
                                [](const std::string& socket, std::shared_ptr<csi::KnownSecrets> told) {
                                  return std::make_shared<csi::Client>(socket, std::move(told));
                                }},
                           std::move(wanted));
  }

  // The agent has restored its allocations before the servers hear of the node.
  void registered() override { keeper_->settled(); }

  // As the system lists mounts.
  static Result<std::string> without_links(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const auto path = std::filesystem::canonical(folder, error);
    if (error) return errno_status(error.value(), "find " + folder);
    return path.string();
  }

  Instances instances_;
  Turns turns_;
  Claims claims_;
  std::optional<Folders> folders_;
  std::optional<Keeper> keeper_;
  NodeRpc rpc_;
  PluginHook plugins_;
  Programs programs_;
  VolumesHook volumes_;
  VolumeMountsHook mounts_;
};

}  // namespace
}  // namespace drover::mounts

DROVER_MODULE(drover::mounts::MountsPlugin, "module", "mounts", "0.1.0");
