// The servers know each other by gossip; it begins their cluster and makes it grow.
#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "drover/api/members.pb.h"
#include "drover/log.h"
#include "drover/mutex.h"
#include "drover/pause.h"
#include "drover/module.h"
#include "drover/server_directory.h"
#include "drover/server_joiner.h"
#include "drover/v1/member.pb.h"
#include "founder.h"
#include "growth.h"
#include "joiner.h"
#include "keys/key_rpc.h"
#include "network.h"
#include "settings.h"

namespace drover::gossip {
namespace {

constexpr auto kChangeTime = std::chrono::seconds(10);     // for a change of the cluster's servers
constexpr auto kReconcileTime = std::chrono::seconds(60);  // then a removed server that is alive is taken in again
constexpr auto kRemovalTime = std::chrono::seconds(5);     // how long one that leaves waits for its removal
constexpr auto kSpreadTime = std::chrono::seconds(1);      // for the news that it has left

using Handled = std::pair<Uuid, std::string>;  // a server at an RPC address

class GossipPlugin final : public Plugin, public ServerDirectory, public ServerJoiner {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("server", server_schema()));
    DROVER_RETURN_IF_ERROR(declare.extend<ServerDirectory>("gossip", *this));
    DROVER_RETURN_IF_ERROR(declare.extend<ServerJoiner>("gossip", *this));
    DROVER_RETURN_IF_ERROR(key_rpc_.declare(declare));
    return declare.service("drover.v1.ServerMembership",
                           {method<&GossipPlugin::members>("Members", this), method<&GossipPlugin::join>("Join", this),
                            method<&GossipPlugin::force_leave>("ForceLeave", this)});
  }

  Status start(Host& host) override {
    host_ = &host;
    DROVER_TRY(settings_, read_settings(host));
    const AgentInfo& agent = host.agent();
    DROVER_RETURN_IF_ERROR(keyring_.start(agent.data_dir, settings_.encrypt));
    key_rpc_.start(host);
    DROVER_TRY(Seal seal, keyring_.seal());
    auto network = Network::open(agent.serf_address, std::move(seal), host.clock(), host.metrics());
    if (!network) {
      // Somebody who runs a server for himself need not care for a port that only others would use.
      const bool is_needed = settings_.bootstrap_expect != 1 || settings_.is_port_said ||
                             !settings_.start_join.empty() || !settings_.retry_join.empty();
      if (is_needed) return network.status().with_context("gossip on " + agent.serf_address);
      log::warn("gossip", "no gossip: this server stays alone", {{"error", network.status().message()}});
      publish({own_info(0)});
      return ok_status();
    }
    network_ = *std::move(network);
    keyring_.on_change([this](Seal changed) { network_->reseal(std::move(changed)); });
    joiner_ = std::make_unique<Joiner>(host, *network_);
    founder_ = std::make_unique<Founder>(host);
    auto core = std::make_unique<Core>(Options(), own_info(network_->port()), std::random_device()());
    network_->run(std::move(core), [this](Core& changed) { beat(changed); });
    return find_the_others();
  }

  // The leader takes in servers that appear.
  void lead(std::stop_token stop) override {
    std::set<Handled> handled;  // an operator's removal holds until the next full look
    SteadyTime next_look = host_->clock().steady();
    while (!stop.stop_requested()) {
      if (host_->clock().steady() >= next_look) {
        handled.clear();
        next_look = host_->clock().steady() + kReconcileTime;
      }
      grow(handled);
      pause_for(std::chrono::seconds(1), stop);
    }
  }

  void leave(SteadyTime deadline) override;

  void stop(SteadyTime) override {
    if (network_) network_->stop();
  }

  // --- ServerDirectory [any]
  std::vector<ServerMember> servers() const override {
    MutexLock lock(mutex_);
    return servers_;
  }

 private:
  ServerMember own_info(uint16_t port) const {
    const AgentInfo& agent = host_->agent();
    std::string address = agent.advertise_serf;
    if (address.ends_with(":0")) address = address.substr(0, address.size() - 1) + std::to_string(port);
    return {.id = agent.server_id,
            .name = agent.name,
            .region = agent.region,
            .datacenter = agent.datacenter,
            .version = agent.version,
            .address = std::move(address),
            .rpc_address = agent.advertise_rpc,
            .cluster_id = host_->raft().cluster_id,
            .bootstrap_expect = settings_.bootstrap_expect};
  }

  Status find_the_others() {
    if (!settings_.start_join.empty()) {
      const Joiner::Outcome outcome = joiner_->join_now(settings_.start_join);
      if (outcome.joined == 0) return unavailable("server_join.start_join: " + outcome.errors);
    }
    const std::vector<std::string> remembered = joiner_->remembered();
    if (!settings_.retry_join.empty()) {
      joiner_->keep_trying(settings_.retry_join, settings_);
    }
    if (!remembered.empty()) network_->join(remembered, [](size_t, const std::string&) {});
    return ok_status();
  }

  // [gossip]
  void beat(Core& core) {
    founder_->beat(core);
    if (core.version() == published_) return;
    published_ = core.version();
    const std::vector<Member> members = core.members();
    std::vector<ServerMember> servers;
    for (const Member& member : members) servers.push_back(member.info);
    say_what_changed(servers);
    publish(std::move(servers));
    if (core.self().state == State::alive) joiner_->remember(members);
  }

  void say_what_changed(const std::vector<ServerMember>& now) const {
    const std::vector<ServerMember> before = servers();
    for (const ServerMember& server : now) {
      const auto known = std::ranges::find(before, server.id, &ServerMember::id);
      if (known != before.end() && known->status == server.status && known->address == server.address) continue;
      for (const ServerMember& other : now) {
        if (other.id == server.id || other.name != server.name || other.region != server.region ||
            other.status != ServerStatus::alive || server.status != ServerStatus::alive)
          continue;
        log::error("gossip", "two servers have one name; give one of them another",
                   {{"server", server.name}, {"address", server.address}, {"other", other.address}});
      }
      static constexpr std::string_view kCounters[] = {"nomad.serf.member.join", "nomad.serf.member.leaving",
                                                       "nomad.serf.member.failed", "nomad.serf.member.left"};
      host_->metrics().add(kCounters[static_cast<size_t>(server.status)]);
      log::info("gossip", "a server is " + std::string(to_string(server.status)),
                {{"server", server.name}, {"region", server.region}, {"address", server.address}});
    }
  }

  void publish(std::vector<ServerMember> servers) {
    std::ranges::sort(servers, {}, [](const ServerMember& s) { return std::tie(s.name, s.region, s.id); });
    MutexLock lock(mutex_);
    servers_ = std::move(servers);
    changed_.notify_all();
  }

  void grow(std::set<Handled>& handled) {
    std::vector<ServerMember> unhandled = servers();
    std::erase_if(handled, [&](const Handled& each) {  // who was away is new when it returns
      return std::ranges::none_of(unhandled, [&](const ServerMember& server) {
        return server.status == ServerStatus::alive && Handled(server.id, server.rpc_address) == each;
      });
    });
    std::erase_if(unhandled, [&](const ServerMember& server) {
      return server.status == ServerStatus::alive && handled.contains({server.id, server.rpc_address});
    });
    const Growth growth = decide_growth(host_->raft(), unhandled, host_->agent().region);
    for (const std::string& name : growth.strangers) {
      log::error("gossip", "a server of another cluster speaks to this one; it is not taken in", {{"server", name}});
    }
    for (const RaftEdit& edit : growth.edits) {
      const Status status = host_->raft_control()->change_servers({edit}, host_->clock().steady() + kChangeTime);
      if (!status.ok()) {
        log::warn("gossip", "a server cannot be taken in yet",
                  {{"server", edit.id.to_string()}, {"error", status.message()}});
        return;
      }
      log::info("gossip", "took in a server", {{"server", edit.id.to_string()}, {"address", edit.address}});
    }
    if (!growth.edits.empty()) return;
    for (const ServerMember& server : unhandled) {
      if (server.status == ServerStatus::alive) handled.insert({server.id, server.rpc_address});
    }
  }

  // --- the API
  Result<drover::v1::AgentMembersResponse> members(const drover::v1::MembersRequest&, Call&) {
    drover::v1::AgentMembersResponse response;
    const AgentInfo& info = host_->agent();
    response.set_server_name(info.name);
    response.set_server_region(info.region);
    response.set_server_dc(info.datacenter);
    for (const ServerMember& server : servers()) *response.add_members() = to_agent_member(server);
    return response;
  }
  Result<drover::v1::JoinResponse> join(const drover::v1::JoinRequest& request, Call&) {
    if (request.address().empty()) return invalid_argument("missing address to join");
    if (!network_) return failed_precondition("this server has no gossip: its port was taken when it started");
    drover::v1::JoinResponse response;
    const Joiner::Outcome outcome = joiner_->join_now({request.address().begin(), request.address().end()});
    response.set_num_joined(static_cast<int64_t>(outcome.joined));
    response.set_error(outcome.errors);
    return response;
  }
  Result<size_t> join_servers(const std::vector<std::string>& addresses) override {
    if (!network_) return failed_precondition("this server has no gossip: its port was taken when it started");
    const Joiner::Outcome outcome = joiner_->join_now(addresses);
    if (outcome.joined == 0) return unavailable(outcome.errors);
    return outcome.joined;
  }
  Result<drover::v1::ForceLeaveResponse> force_leave(const drover::v1::ForceLeaveRequest& request, Call&) {
    if (request.node().empty()) return invalid_argument("missing node to force leave");
    if (network_) {  // a server that is not known has left already
      network_->post(
          [name = request.node(), now = host_->clock().steady()](Core& core) { core.force_leave(name, now); });
    }
    return drover::v1::ForceLeaveResponse();
  }

  Host* host_ = nullptr;
  Settings settings_;
  ServerKeyring keyring_;
  KeyRpc key_rpc_{keyring_, *this};
  std::unique_ptr<Network> network_;
  std::unique_ptr<Joiner> joiner_;
  std::unique_ptr<Founder> founder_;
  uint64_t published_ = 0;  // [gossip]
  mutable Mutex mutex_;
  CondVarAny changed_;
  std::vector<ServerMember> servers_ DROVER_GUARDED_BY(mutex_);
};

// Says so, hands leadership on, and waits until the others have removed this server or the time is up.
void GossipPlugin::leave(SteadyTime deadline) {
  const std::vector<ServerMember> known = servers();
  const auto live =
      std::ranges::count_if(known, [](const ServerMember& server) { return server.status == ServerStatus::alive; });
  if (!network_ || live <= 1) return;  // nobody to tell
  network_->post([](Core& core) { core.leave(); });
  Clock& clock = host_->clock();
  RaftInfo raft = host_->raft();
  const auto others = std::ranges::count_if(
      raft.servers, [&](const RaftServer& server) { return server.is_voter && server.id != raft.server_id; });
  if (raft.is_leader && others > 0) {
    const Status status =
        host_->raft_control()->transfer_leadership(Uuid(), std::min(deadline, clock.steady() + kRemovalTime));
    if (!status.ok()) log::warn("gossip", "leadership was not handed on", {{"error", status.message()}});
  }
  network_->post([](Core& core) { core.left(); });
  if (!settings_.rejoin_after_leave) joiner_->forget();
  const SteadyTime spread_until = std::min(deadline, clock.steady() + kSpreadTime);
  const SteadyTime removed_until = std::min(deadline, clock.steady() + kRemovalTime);
  while (clock.steady() < removed_until) {
    raft = host_->raft();
    const bool is_member =
        std::ranges::any_of(raft.servers, [&](const RaftServer& s) { return s.id == raft.server_id; });
    if (clock.steady() >= spread_until && (!is_member || others == 0)) break;
    MutexLock lock(mutex_);
    changed_.wait_until(lock, clock.steady() + std::chrono::milliseconds(100));
  }
}

}  // namespace
}  // namespace drover::gossip

DROVER_MODULE(drover::gossip::GossipPlugin, "module", "gossip", "0.1.0");
