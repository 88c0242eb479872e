// Dynamic host volumes. On servers: what there are, and which node makes them. On nodes: making and keeping them.
#include "drover/config.h"
#include "drover/module.h"
#include "node/made_volumes.h"
#include "node/node_rpc.h"
#include "server/keeper.h"
#include "server/rpc.h"

namespace drover::host_volumes {
namespace {

ConfigSchema client_options() {
  return {
      .options = {{.name = "host_volumes_dir",
                   .help = "Where plugins put the volumes that they create; host_volumes in the data_dir when absent."},
                  {.name = "host_volume_plugin_dir",
                   .help = "The programs in it create and delete volumes; host_volume_plugins in the data_dir when "
                           "absent."}}};
}

class HostVolumesPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(node_rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(declare.configuration("client", client_options()));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeFingerprint>("host_volumes", volumes_));
    return declare.extend<HostVolumeSource>("host_volumes", volumes_);
  }

  Status start(Host& host) override {
    steps_.start(host);
    rpc_.start(host);
    keeper_.start(host);
    return host.agent().client ? start_node(host) : ok_status();
  }

  void lead(std::stop_token stop) override { keeper_.run(stop); }
  void stop(SteadyTime) override { volumes_.stop(); }

 private:
  Status start_node(Host& host) {
    const ConfigBlock* client = host.configuration("client");
    const auto folder = [&](const char* option, const char* usual) -> Result<std::string> {
      std::string path = client ? client->string(option, "") : "";
      if (path.empty()) path = host.agent().data_dir + "/" + usual;
      if (!path.starts_with('/'))
        return invalid_argument("client." + std::string(option) + ": must be an absolute path");
      return path;
    };
    MadeVolumes::Setup setup{.host = &host};
    DROVER_TRY(setup.folders.volumes, folder("host_volumes_dir", "host_volumes"));
    DROVER_TRY(setup.folders.plugins, folder("host_volume_plugin_dir", "host_volume_plugins"));
    if (client) {
      for (const ConfigBlock* block : client->all("host_volume")) setup.taken.insert(block->labels.at(0));
    }
    return volumes_.start(std::move(setup));
  }

  Tables tables_;
  Steps steps_{tables_};
  Rpc rpc_{tables_, steps_};
  Keeper keeper_{tables_, steps_};
  MadeVolumes volumes_;
  NodeRpc node_rpc_{volumes_};
};

}  // namespace
}  // namespace drover::host_volumes

DROVER_MODULE(drover::host_volumes::HostVolumesPlugin, "module", "host_volumes", "0.1.0");
