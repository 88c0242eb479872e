#include "agent_plugin.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "drover/api/client.pb.h"
#include "drover/api/client_disk.pb.h"
#include "drover/duration.h"
#include "drover/agent_config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "leaving/shutdown_drain.h"
#include "node_proof/introduction.h"
#include "server_calls.h"

extern char** environ;

namespace drover::agent {

namespace {

// Those that this agent knows before it has heard of any: itself, and those of its configuration.
std::vector<std::string> own_servers(Host& host) {
  std::vector<std::string> servers;
  if (host.agent().server) servers.push_back(host.agent().advertise_rpc);
  if (const ConfigBlock* configured = host.configuration("client")) {
    for (std::string& server : configured_servers(*configured).value_or({})) servers.push_back(std::move(server));
  }
  return servers;
}

}  // namespace

AgentPlugin::~AgentPlugin() { stop(SystemClock().steady()); }

Status AgentPlugin::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.configuration("client", client_schema()));
  DROVER_RETURN_IF_ERROR(declare.service(
      "drover.v1.ClientAllocations",
      {method<&Rpc::restart>("Restart", &rpc_), method<&Rpc::signal>("Signal", &rpc_),
       method<&Rpc::stats>("Stats", &rpc_), method<&Rpc::collect_garbage>("GarbageCollect", &rpc_),
       method<&Rpc::collect_all_garbage>("GarbageCollectAll", &rpc_), stream<&Rpc::exec>("Exec", &rpc_)}));
  DROVER_RETURN_IF_ERROR(declare.service("drover.v1.ClientStats", {method<&Rpc::host_stats>("Host", &rpc_)}));
  DROVER_RETURN_IF_ERROR(declare.service(
      "drover.v1.ClientFiles", {method<&FileRpc::list>("List", &files_), method<&FileRpc::stat>("Stat", &files_),
                                stream<&FileRpc::cat>("Cat", &files_), stream<&FileRpc::read_at>("ReadAt", &files_),
                                stream<&FileRpc::stream>("Stream", &files_), stream<&FileRpc::logs>("Logs", &files_)}));
  DROVER_RETURN_IF_ERROR(
      declare.service("drover.v1.ClientDisk", {stream<&SnapshotRpc::snapshot>("Snapshot", &snapshots_)}));
  DROVER_RETURN_IF_ERROR(declare.service(
      "drover.v1.NodeMetadata", {method<&NodeMeta::read>("Read", &meta_), method<&NodeMeta::apply>("Apply", &meta_)}));
  DROVER_RETURN_IF_ERROR(declare.service("drover.v1.ClientIdentity", {method<&NodeProof::get>("Get", &proof_),
                                                                      method<&NodeProof::renew>("Renew", &proof_)}));
  DROVER_RETURN_IF_ERROR(
      declare.service("drover.v1.ClientServers", {method<&KnownServers::list>("List", &known_servers_),
                                                  method<&KnownServers::set>("Set", &known_servers_)}));
  DROVER_RETURN_IF_ERROR(hooks_.declare(declare));
  DROVER_RETURN_IF_ERROR(declare.extend<AgentStats>("client", *this));
  DROVER_RETURN_IF_ERROR(declare.extend<NodeCalls>("agent", *this));
  DROVER_RETURN_IF_ERROR(declare.extend<HeardServers>("agent", known_servers_));
  DROVER_RETURN_IF_ERROR(declare.extend<Command>(client_state_.name(), client_state_));
  return declare.extend<NodeLocator>("agent", *this);
}

Status AgentPlugin::start(Host& host) {
  host_ = &host;
  DROVER_TRY(ClientConfig config, client_config(host.configuration("client"), host.agent().data_dir));
  if (!config.ignored_options.empty())
    log::warn("agent", "client.options has keys without effect", {{"keys", config.ignored_options}});
  store_ = std::make_unique<AgentStore>(host.local_store());
  DROVER_TRY(NodeIdentity identity, store_->identity());
  std::error_code error;
  std::filesystem::create_directories(config.alloc_dir, error);
  if (error) return errno_status(error.value(), "create client.alloc_dir " + config.alloc_dir);
  devices_ = std::make_unique<Devices>(host);
  // Whatever waits, waits on a thread of its own: as many as there are calls to drivers and hooks.
  pool_ = std::make_unique<ThreadPool>(ThreadPool::Options{.max_borrowed = SIZE_MAX}, host.clock());
  DROVER_TRY(HookTable hooks, find_hooks(host));
  if (const char* token = std::getenv(kIntroductionVariable)) config.intro_token = token;
  config.env_denylist.emplace_back(kIntroductionVariable);
  Variables variables = host_environment(environ, config.env_denylist);
  client_ = std::make_unique<Client>(
      Client{.host = host,
             .store = *store_,
             .logs = logs_,
             .devices = *devices_,
             .meta = meta_,
             .proof = proof_,
             .pool = *pool_,
             .hooks = std::move(hooks),
             .config = std::move(config),
             .host_environment = std::move(variables),
             .identity = std::move(identity),
             .node = [this] { return registration_->node(); },
             .doubted = [this] { registration_->beat_now(); },
             .changed = [this](Uuid id, bool urgent) { status_->changed(id, urgent); },
             .find_alloc = [this](const Uuid& id) { return allocations_->find(id.bytes()); },
             .make_room = [this](int64_t mb, std::stop_token stop) { collector_->make_room(mb, std::move(stop)); },
             .follow_events = [this](const std::string& name, TaskDriver& driver) { events_->follow(name, driver); }});
  DROVER_RETURN_IF_ERROR(logs_.start());
  allocations_ = std::make_unique<Allocations>(*client_);
  collector_ = std::make_unique<Collector>(*client_, *allocations_, [this] { return measure_disk(client_->config); });
  contact_ = std::make_unique<ContactWatch>(*client_, *allocations_);
  events_ = std::make_unique<DriverEvents>(
      [this](const TaskPlace& place, const std::string& driver, const driver::DriverTaskEvent& event) {
        if (auto runner = allocations_->find(place.allocation.bytes())) runner->driver_event(place.task, driver, event);
      });
  status_ = std::make_unique<StatusReporter>(
      *client_, [this](const std::vector<Uuid>& ids) { return allocations_->describe(ids); });
  known_servers_.configure(own_servers(host));
  registration_ = std::make_unique<Registration>(*client_, known_servers_, [this](bool anew) { known(anew); });
  DROVER_RETURN_IF_ERROR(meta_.open(*store_, client_->config.meta, [this] { registration_->describe_anew(); })
                             .with_context("read this node's metadata"));
  DROVER_RETURN_IF_ERROR(registration_->describe());
  devices_->start([this] { registration_->describe_anew(); });
  DROVER_RETURN_IF_ERROR(
      proof_.open(
                *store_, client_->identity.secret,
                [this, &host, node = client_->identity.id](const std::string& proof) {
                  // Back at the secret it must register first: others wait rather than be refused for good.
                  if (proof.size() == 16) is_known_ = false;
                  host.identify_node(node, proof);
                },
                [this] { registration_->beat_now(); })
          .with_context("read this node's identity"));
  host.identify_node(client_->identity.id, proof_.in_request());
  rpc_.attach(*client_, *allocations_);
  files_.attach(*client_, *allocations_);
  snapshots_.attach(*client_);
  located_ = allocations_.get();
  collector_->start();
  DROVER_RETURN_IF_ERROR(allocations_->restore().with_context("restore this node's allocations"));
  DROVER_RETURN_IF_ERROR(contact_->start().with_context("read when a server was last reached"));
  status_->start();
  allocations_->start();
  registration_->start();
  metrics_ = std::make_unique<NodeMetrics>(*client_, *allocations_);
  metrics_->start();
  return ok_status();
}

void AgentPlugin::known(bool anew) {
  contact_->heard();
  status_->node_is_known();
  allocations_->node_is_known();
  is_known_ = true;
  if (!anew) return;
  for (const std::string& name : host_->extensions<NodeRegistered>())
    host_->extension<NodeRegistered>(name)->registered();
}

std::optional<NodeProofOf> AgentPlugin::proof() const {
  if (!is_known_) return std::nullopt;
  return NodeProofOf{.id = client_->identity.id, .secret = proof_.in_request(), .name = client_->node()->name()};
}

CallContext AgentPlugin::context(std::string method, std::chrono::nanoseconds timeout, std::stop_token stop) const {
  return node_call(*client_, std::move(method), timeout, std::move(stop));
}

Variables AgentPlugin::variables() const {
  const auto node = client_ ? client_->node() : nullptr;
  return node ? node_variables(*node, client_->host.agent().region) : Variables();
}

std::chrono::nanoseconds AgentPlugin::leave_time() const {
  return client_ && client_->config.drain_on_shutdown ? drain_time(client_->config) : Plugin::leave_time();
}

void AgentPlugin::leave(SteadyTime deadline) {
  if (!client_ || !client_->config.drain_on_shutdown || host_->agent().dev_mode) return;
  log::info("agent", "drains this node before it ends", {{"node", client_->identity.id.to_string()}});
  const Status status = drain_before_end(*client_, *allocations_, deadline);
  if (status.ok()) {
    log::info("agent", "the drain of this node is complete");
  } else {
    log::warn("agent", "the drain of this node is not complete; tasks that are left go on without the agent",
              {{"error", status.message()}});
  }
}

void AgentPlugin::stop(SteadyTime deadline) {
  if (!host_) return;
  if (metrics_) metrics_->stop();
  if (collector_) collector_->stop();
  if (events_) events_->stop();
  if (devices_) devices_->stop();
  if (registration_) registration_->stop();
  if (contact_) contact_->stop();
  if (status_) status_->stop();
  // A development agent leaves nothing behind; any other leaves its tasks running, for its next life.
  if (allocations_) allocations_->stop(host_->agent().dev_mode, deadline);
  if (pool_) pool_->stop();
  logs_.stop();
  files_.stop();
  host_ = nullptr;
}

Result<Uuid> AgentPlugin::locate(std::string_view id) const {
  if (const Allocations* allocations = located_) return allocations->locate(id);
  return not_found("this agent runs nothing");
}

std::map<std::string, std::string> AgentPlugin::stats() const {
  const Allocations* allocations = located_;
  if (!allocations) return {};
  const auto [last, ttl] = registration_->heartbeats();
  std::string servers;
  for (const std::string& server : known_servers_.all()) servers += (servers.empty() ? "" : ",") + server;
  return {{"node_id", client_->identity.id.to_string()},
          {"known_servers", std::move(servers)},
          {"num_allocations", std::to_string(allocations->all().size())},
          {"last_heartbeat", last == SteadyTime() ? "never" : format_duration(client_->now() - last)},
          {"heartbeat_ttl", format_duration(ttl)}};
}

}  // namespace drover::agent

DROVER_MODULE(drover::agent::AgentPlugin, "module", "agent", "0.1.0");
