#include "registry.h"

#include <algorithm>

#include "computed_class.h"
#include "driver_events.h"
#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/secret.h"
#include "drover/uuid.h"
#include "drover/v1/node_pool.pb.h"
#include "identities.h"
#include "node_evaluations.h"
#include "nodes.pb.h"

namespace drover::nodes {
namespace {

constexpr auto kProposeTime = std::chrono::seconds(10);
constexpr std::chrono::nanoseconds kIdentityTtl = std::chrono::hours(24);  // where the pool says nothing

Status not_proven() { return permission_denied("the node does not prove who it is"); }

bool has_other_volumes(const v1::Node& a, const v1::Node& b) {
  const auto offers = [](const v1::Node& node, const v1::HostVolume& wanted) {
    const auto at = node.host_volumes().find(wanted.name());
    return at != node.host_volumes().end() && serialize(at->second) == serialize(wanted);
  };
  return a.host_volumes_size() != b.host_volumes_size() ||
         std::ranges::any_of(a.host_volumes(), [&](const auto& volume) { return !offers(b, volume.second); });
}

// A storage plugin as it describes itself, but for the time at which it did.
std::string said_by(v1::CsiInfo info) {
  info.clear_update_time();
  return serialize(info);
}

bool has_other_plugins(const google::protobuf::Map<std::string, v1::CsiInfo>& a,
                       const google::protobuf::Map<std::string, v1::CsiInfo>& b) {
  return a.size() != b.size() || std::ranges::any_of(a, [&](const auto& plugin) {
           const auto at = b.find(plugin.first);
           return at == b.end() || said_by(at->second) != said_by(plugin.second);
         });
}

// True when the scheduler's constraints can see a difference between the nodes' descriptions.
bool looks_different(const v1::Node& a, const v1::Node& b) {
  return a.computed_class() != b.computed_class() || a.name() != b.name() ||
         serialize(a.node_resources()) != serialize(b.node_resources()) || a.drivers_size() != b.drivers_size() ||
         has_other_volumes(a, b) || has_other_plugins(a.csi_node_plugins(), b.csi_node_plugins()) ||
         has_other_plugins(a.csi_controller_plugins(), b.csi_controller_plugins());
}

}  // namespace

Status Registry::declare(Declarations& declare) {
  return declare.service("drover.v1.NodeRegistry",
                         {method<&Registry::register_node>("Register", this), method<&Registry::prove>("Prove", this),
                          method<&Registry::heartbeat>("Heartbeat", this)});
}

Status Registry::start(Host& host, const HeartbeatOptions& options) {
  host_ = &host;
  {
    MutexLock lock(mutex_);
    heartbeats_.emplace(options);
  }
  DROVER_TRY(allocs_, host.find_table("allocs"));
  DROVER_TRY(jobs_, host.find_table("jobs"));
  DROVER_TRY(job_versions_, host.find_table("job_versions"));
  DROVER_TRY(node_pools_, host.find_table("node_pools"));
  keys_ = host.extension<Keyring>("keyring");
  return ok_status();
}

v1::HeartbeatResponse Registry::answer(const v1::Node& node, const std::string& identity) {
  v1::HeartbeatResponse response;
  response.set_identity(identity);
  MutexLock lock(mutex_);
  const double random = std::uniform_real_distribution<double>(0, 1)(random_);
  const size_t known = heartbeats_->size();
  response.set_heartbeat_ttl(heartbeats_->heard(node.id(), host_->clock().steady(), random).count());
  if (heartbeats_->size() != known) changed_.notify_all();
  host_->metrics().set("nomad.nomad.heartbeat.active", static_cast<double>(heartbeats_->size()));
  for (const RaftServer& server : host_->raft().servers) response.add_servers(server.address);
  response.set_scheduling_eligibility(node.scheduling_eligibility());
  return response;
}

Result<Write<v1::HeartbeatResponse>> Registry::register_node(const v1::RegisterNodeRequest& request, Call& call) {
  v1::Node node = request.node();
  if (node.id().size() != 16) return invalid_argument("missing node ID for client registration");
  if (node.secret_id().size() != 16) return invalid_argument("missing node secret ID for client registration");
  if (node.datacenter().empty()) return invalid_argument("missing datacenter for client registration");
  if (node.name().empty()) return invalid_argument("missing node name for client registration");
  auto existing = nodes_.get(call.view(), node.id());
  if (existing && !is_same_secret(existing->secret_id(), node.secret_id())) {
    return permission_denied("node secret ID does not match. Not registering node.");
  }
  if (node.node_pool().empty()) node.set_node_pool("default");
  if (!existing) DROVER_RETURN_IF_ERROR(introductions_.admit(node, request.introduction()));
  if (!is_pool_name(node.node_pool()) || node.node_pool() == "all") {
    return invalid_argument("node is not allowed to register in node pool \"" + node.node_pool() + "\"");
  }
  node.set_status(v1::NODE_STATUS_INITIALIZING);
  node.set_scheduling_eligibility("eligible");
  node.set_computed_class(computed_class(node));
  const int64_t now = host_->clock().wall_ns();
  node.set_status_updated_at(now / 1'000'000'000);
  node.clear_identity();
  std::string token;
  if (request.takes_identity()) {
    const v1::Node& known = existing ? *existing : node;
    if (auto given = next_identity(known, node, request.identity(), false, call.view())) {
      *node.mutable_identity() = std::move(given->row);
      token = std::move(given->token);
    } else if (is_latest(known, request.identity()) && is_proof_of(known, request.identity(), now)) {
      *node.mutable_identity() = known.identity();
    }
  }
  v1::NodeRegistered command;
  *command.mutable_node() = node;
  command.set_time(now);
  if (existing && existing->status() == v1::NODE_STATUS_READY && looks_different(*existing, node)) {
    add_node_evaluations(call.view(), allocs_, jobs_, node, *command.mutable_evaluations());
  }
  if (existing) {
    for (v1::NodeEvent& event : driver_events(*existing, node, now)) *command.add_events() = std::move(event);
  }
  return Write<v1::HeartbeatResponse>(
      command, [this, token = std::move(token), node = existing ? *std::move(existing) : std::move(node)](
                   const Applied&) { return answer(node, token); });
}

Result<v1::NodeProofResponse> Registry::prove(const v1::NodeProof& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  auto node = nodes_.get(call.view(), request.node_id());
  if (!node) return not_found("node not found");
  if (!is_proof_of(*node, request.secret_id(), host_->clock().wall_ns())) return not_proven();
  return v1::NodeProofResponse();
}

Result<Write<v1::HeartbeatResponse>> Registry::heartbeat(const v1::HeartbeatRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  auto node = nodes_.get(call.view(), request.node_id());
  if (!node) return not_found("node not found");
  if (!is_proof_of(*node, request.secret_id(), host_->clock().wall_ns())) return not_proven();
  v1::NodeStatus wanted = request.status();
  if (wanted != v1::NODE_STATUS_READY && wanted != v1::NODE_STATUS_INITIALIZING && wanted != v1::NODE_STATUS_DOWN) {
    return invalid_argument("a node cannot give itself this status");
  }
  wanted = status_when_heard(call.view(), allocs_, *node, wanted);
  std::optional<Given> given;
  if (request.takes_identity())
    given = next_identity(*node, *node, request.secret_id(), request.renews_identity(), call.view());
  if (node->status() == wanted && !given) return Write(answer(*node));
  const auto answered = [this, node = *node, token = given ? given->token : ""](const Applied&) {
    return answer(node, token);
  };
  if (node->status() == wanted) {
    v1::NodeIdentityGiven command;
    command.set_node_id(node->id());
    *command.mutable_identity() = std::move(given->row);
    return Write<v1::HeartbeatResponse>(command, answered);
  }
  const bool was_down = node->status() == v1::NODE_STATUS_DOWN && wanted == v1::NODE_STATUS_READY;
  v1::NodeStatusUpdated command =
      with_status(*node, wanted, was_down ? "Node reregistered by heartbeat" : "", call.view());
  if (given) *command.mutable_identity() = std::move(given->row);
  return Write<v1::HeartbeatResponse>(command, answered);
}

int64_t Registry::identity_ttl(const v1::Node& node, const ReadView& view) const {
  const auto pool = Table<v1::NodePool>(node_pools_).get(view, node_pool_key(pool_of(node)));
  return pool && pool->node_identity_ttl() > 0 ? pool->node_identity_ttl() : kIdentityTtl.count();
}

std::optional<Registry::Given> Registry::next_identity(const v1::Node& known, const v1::Node& next,
                                                       const std::string& shown, bool asks,
                                                       const ReadView& view) const {
  if (!gives_identities_ || !keys_) return std::nullopt;
  const int64_t now = host_->clock().wall_ns();
  if (!needs_identity(known, next, shown, asks, now)) {
    if (known.identity().former_digest().empty()) return std::nullopt;
    Given settled{.row = known.identity(), .token = ""};
    settled.row.clear_former_digest();
    settled.row.clear_former_ends_at();
    return settled;
  }
  const int64_t ttl = identity_ttl(next, view);
  auto token = keys_->sign(view,
                           claims_of(NodeClaims{.node = next,
                                                .region = host_->agent().region,
                                                .token_id = Uuid::random().to_string(),
                                                .now_ns = now,
                                                .ttl_ns = ttl}),
                           Keyring::Algorithm::eddsa);
  if (!token) {
    log::debug("nodes", "a node gets no identity yet", {{"error", token.status().message()}});
    return std::nullopt;
  }
  v1::NodeIdentity row = with_token(known, shown, *token, now, ttl);
  return Given{.row = std::move(row), .token = *std::move(token)};
}

void Registry::begin_identities() {
  if (gives_identities_ || !keys_) return;
  const Status known = host_->propose(v1::NodeIdentityGiven(), host_->clock().steady() + kProposeTime).status();
  if (known.ok()) {
    gives_identities_ = true;
  } else {
    log::debug("nodes", "nodes get no identities yet", {{"error", known.message()}});
  }
}

v1::NodeStatusUpdated Registry::with_status(const v1::Node& node, v1::NodeStatus status, std::string message,
                                            const ReadView& view) const {
  const int64_t now = host_->clock().wall_ns();
  v1::NodeStatusUpdated command;
  command.set_node_id(node.id());
  command.set_status(status);
  command.set_time(now);
  if (!message.empty()) {
    command.mutable_event()->set_message(std::move(message));
    command.mutable_event()->set_subsystem("Cluster");
    command.mutable_event()->set_timestamp(now);
  }
  if (concerns_scheduler(node.status(), status))
    add_node_evaluations(view, allocs_, jobs_, node, *command.mutable_evaluations());
  return command;
}

void Registry::invalidate(const std::string& node_id) {
  const uint64_t term = host_->term();
  const auto view = host_->snapshot();
  auto node = nodes_.get(*view, node_id);
  if (!node || node->status() == v1::NODE_STATUS_DOWN) return;
  const v1::NodeStatus status = status_when_silent(*view, allocs_, job_versions_, *node, host_->clock().wall_ns());
  // One that is only out of reach is looked at again: the time that its allocations have may end.
  if (status == v1::NODE_STATUS_DISCONNECTED) watch_again(node_id);
  if (status == node->status()) return;
  log::warn("heartbeat", "node heartbeat missed", {{"node", Uuid::from_bytes(node_id).to_string()}});
  host_->metrics().add("nomad.nomad.heartbeat.invalidate");
  const Status proposed = host_
                              ->propose(with_status(*node, status, "Node heartbeat missed", *view),
                                        host_->clock().steady() + kProposeTime, term)
                              .status();
  if (!proposed.ok()) {
    log::warn("heartbeat", "could not mark a silent node; trying again", {{"error", proposed.message()}});
    watch_again(node_id);
  }
}

void Registry::watch_again(const std::string& node_id) {
  MutexLock lock(mutex_);
  heartbeats_->heard(node_id, host_->clock().steady(), 0);
}

void Registry::lead(std::stop_token stop) {
  expect_nodes();
  while (!stop.stop_requested()) {
    if (mark_silent()) continue;
    begin_identities();
    MutexLock lock(mutex_);
    const auto next = heartbeats_->next_deadline().value_or(host_->clock().steady() + std::chrono::seconds(10));
    changed_.wait_until(lock, stop, next, [&, size = heartbeats_->size()]() DROVER_REQUIRES(mutex_) {
      return heartbeats_->size() != size;
    });
  }
}

void Registry::expect_nodes() {
  auto view = host_->snapshot();
  std::vector<std::string> alive;
  nodes_.scan(*view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    if (node.status() != v1::NODE_STATUS_DOWN) alive.push_back(node.id());
    return true;
  });
  MutexLock lock(mutex_);
  for (const std::string& node : alive) heartbeats_->expect(node, host_->clock().steady());
}

bool Registry::mark_silent() {
  std::vector<std::string> expired;
  {
    MutexLock lock(mutex_);
    expired = heartbeats_->expired(host_->clock().steady());
  }
  for (const std::string& node : expired) invalidate(node);
  return !expired.empty();
}

}  // namespace drover::nodes
