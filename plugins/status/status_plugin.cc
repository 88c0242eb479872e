// The agent's account of itself and of the cluster.
#include <unistd.h>

#include <set>

#include "agent_info.h"
#include "cpu/profile_message.h"
#include "drover/module.h"
#include "drover/server_directory.h"
#include "drover/v1/member.pb.h"
#include "machine.h"
#include "monitor.h"
#include "profiles.h"

namespace drover::status {
namespace {

class StatusPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(
        declare.service("drover.v1.ClusterStatus",
                        {method<&StatusPlugin::leader>("Leader", this), method<&StatusPlugin::peers>("Peers", this),
                         method<&StatusPlugin::regions>("Regions", this)}));
    return declare.service(
        "drover.v1.AgentInformation",
        {method<&StatusPlugin::self>("Self", this), method<&StatusPlugin::health>("Health", this),
         method<&StatusPlugin::machine>("Machine", this),
         stream<&StatusPlugin::watch_log>("Monitor", this), stream<&StatusPlugin::profile>("Profile", this)});
  }

  Status start(Host& host) override {
    host_ = &host;
    return ok_status();
  }

  void stop(SteadyTime) override {}

 private:
  Result<v1::LeaderResponse> leader(const v1::StatusRequest&, Call&) {
    v1::LeaderResponse response;
    response.set_leader(host_->raft().leader_address);
    if (response.leader().empty()) return unavailable("No cluster leader");
    return response;
  }
  Result<v1::PeersResponse> peers(const v1::StatusRequest&, Call&) {
    v1::PeersResponse response;
    for (const RaftServer& server : host_->raft().servers) response.add_peers(server.address);
    return response;
  }
  Result<v1::RegionsResponse> regions(const v1::StatusRequest&, Call&) {
    v1::RegionsResponse response;
    std::set<std::string> names = {host_->agent().region};
    if (const auto* directory = host_->extension<ServerDirectory>("gossip")) {
      for (const ServerMember& server : directory->servers()) names.insert(server.region);
    }
    for (const std::string& name : names) response.add_regions(name);
    return response;
  }
  Result<v1::AgentSelfResponse> self(const v1::StatusRequest&, Call&) {
    v1::AgentSelfResponse response;
    const Known known = known_of(*host_);
    response.set_config(config_json(host_->configuration_json(), known));
    for (const ServerMember& server : known.servers) {
      if (server.id == known.agent.server_id) *response.mutable_member() = to_agent_member(server);
    }
    response.set_stats(stats_json(known));
    return response;
  }
  Result<v1::HealthResponse> health(const v1::HealthRequest& request, Call&) {
    return health_of(*host_, request, host_->local_node().has_value());
  }
  Status watch_log(const v1::MonitorRequest& request, Call& call, Replies<v1::MonitorFrame>& replies) {
    return monitor(request, call, replies);
  }

  Result<v1::AgentMachineResponse> machine(const v1::AgentMachineRequest&, Call&) {
    if (!may_show_machine(host_->configuration_json()))
      return permission_denied("without access control the machine is shown where the agent's enable_debug is set: Permission denied");
    v1::AgentMachineResponse response;
    const std::optional<Uuid> node = host_->local_node();
    response.set_agent_id(node ? node->bytes() : host_->agent().server_id.bytes());
    *response.mutable_host_data() = describe_machine(environ);
    return response;
  }

  Status profile(const v1::ProfileRequest& request, Call& call, Replies<v1::ProfileBytes>& replies) {
    if (!may_debug(host_->configuration_json()))
      return permission_denied("profiles are taken where the agent's enable_debug is set: Permission denied");
    v1::ProfileBytes bytes;
    if (request.profile() == "profile") {
      DROVER_TRY(const std::chrono::seconds time, profile_time(request.seconds()));
      DROVER_TRY(*bytes.mutable_data(), cpu_profile(time, call.stop()));
      bytes.set_content_type("application/octet-stream");
    } else {
      DROVER_TRY(*bytes.mutable_data(), take_profile(request.profile(), request.debug()));
      bytes.set_content_type("text/plain; charset=utf-8");
    }
    replies.send(bytes);
    return ok_status();
  }

  Host* host_ = nullptr;
};

}  // namespace
}  // namespace drover::status

DROVER_MODULE(drover::status::StatusPlugin, "module", "status", "0.1.0");
