#include "tables.h"

#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/secret.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/node.pb.h"
#include "nodes.pb.h"

namespace drover::nodes {
namespace {

constexpr int kEventsKept = 10;

void add_event(v1::Node& node, const v1::NodeEvent& event, uint64_t index) {
  v1::NodeEvent stamped = event;
  stamped.set_create_index(index);
  *node.add_events() = std::move(stamped);
  while (node.events_size() > kEventsKept) node.mutable_events()->erase(node.events().begin());
}

Status add_evaluations(const google::protobuf::RepeatedPtrField<v1::Evaluation>& evaluations, int64_t time,
                       ApplyContext& context) {
  if (evaluations.empty()) return ok_status();
  v1::EvalsUpdated command;
  *command.mutable_evaluations() = evaluations;
  for (v1::Evaluation& eval : *command.mutable_evaluations()) eval.set_node_modify_index(context.index());
  command.set_time(time);
  return also(context, command);
}

// A node's pool comes into being with its first node.
Status ensure_pool(const v1::Node& node, ApplyContext& context) {
  if (pool_of(node) == "default") return ok_status();  // every cluster has it
  v1::NodePoolsEnsured command;
  command.add_node_pools()->set_name(node.node_pool());
  return also(context, command);
}

// The finds of others on nodes that are gone are not there any more.
template <typename Ids>
Status forget_services(const Ids& node_ids, ApplyContext& context) {
  v1::ServicesForgotten command;
  for (const std::string& id : node_ids) command.add_node_ids(id);
  return also(context, command);
}

class Commands {
 public:
  explicit Commands(Table<v1::Node> nodes) : nodes_(nodes) {}

  Result<std::string> registered(const v1::NodeRegistered& command, ApplyContext& context) const {
    v1::Node node = command.node();
    auto existing = nodes_.get(context.rows(), node.id());
    if (existing) {
      if (!is_same_secret(existing->secret_id(), node.secret_id()))
        return permission_denied("node secret ID does not match. Not registering node.");
      // The servers' decisions about a node survive its registering again.
      node.set_status(existing->status());
      node.set_status_description(existing->status_description());
      node.set_status_updated_at(existing->status_updated_at());
      node.set_scheduling_eligibility(existing->scheduling_eligibility());
      node.clear_drain_strategy();
      if (existing->has_drain_strategy()) *node.mutable_drain_strategy() = existing->drain_strategy();
      node.clear_last_drain();
      if (existing->has_last_drain()) *node.mutable_last_drain() = existing->last_drain();
      node.set_drain(existing->drain());
      node.set_last_missed_heartbeat_index(existing->last_missed_heartbeat_index());
      node.set_last_alloc_update_index(existing->last_alloc_update_index());
      node.set_create_index(existing->create_index());
      *node.mutable_events() = existing->events();
    } else {
      node.set_create_index(context.index());
    }
    v1::NodeEvent event;
    event.set_message(existing ? "Node re-registered" : "Node registered");
    event.set_subsystem("Cluster");
    event.set_timestamp(command.time());
    add_event(node, event, context.index());
    for (const v1::NodeEvent& further : command.events()) add_event(node, further, context.index());
    node.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(nodes_.put(context.rows(), node));
    DROVER_RETURN_IF_ERROR(ensure_pool(node, context));
    DROVER_RETURN_IF_ERROR(add_evaluations(command.evaluations(), command.time(), context));
    return std::string();
  }

  Result<std::string> status_updated(const v1::NodeStatusUpdated& command, ApplyContext& context) const {
    auto node = nodes_.get(context.rows(), command.node_id());
    if (!node) return not_found("node not found");
    const bool away = command.status() == v1::NODE_STATUS_DOWN || command.status() == v1::NODE_STATUS_DISCONNECTED;
    if (away) {
      node->set_last_missed_heartbeat_index(context.index());
    } else if (command.status() == v1::NODE_STATUS_READY) {
      node->set_last_missed_heartbeat_index(0);
    }
    node->set_status(command.status());
    node->set_status_updated_at(command.time() / 1'000'000'000);
    if (command.has_identity()) *node->mutable_identity() = command.identity();
    if (command.has_event()) add_event(*node, command.event(), context.index());
    node->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(nodes_.put(context.rows(), *node));
    if (command.status() == v1::NODE_STATUS_DOWN)
      DROVER_RETURN_IF_ERROR(forget_services(std::vector{command.node_id()}, context));
    DROVER_RETURN_IF_ERROR(add_evaluations(command.evaluations(), command.time(), context));
    return std::string();
  }

  // Nobody sees a difference, so the node keeps its index.
  Result<std::string> identity_given(const v1::NodeIdentityGiven& command, ApplyContext& context) const {
    auto node = nodes_.get(context.rows(), command.node_id());
    if (!node) return std::string();
    *node->mutable_identity() = command.identity();
    DROVER_RETURN_IF_ERROR(nodes_.put(context.rows(), *node));
    return std::string();
  }

  Result<std::string> eligibility_updated(const v1::NodeEligibilityUpdated& command, ApplyContext& context) const {
    auto node = nodes_.get(context.rows(), command.node_id());
    if (!node) return not_found("node not found");
    if (node->drain() && command.eligibility() == "eligible") {
      return failed_precondition("can not set node's scheduling eligibility to eligible while it is draining");
    }
    node->set_scheduling_eligibility(command.eligibility());
    add_event(*node, command.event(), context.index());
    node->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(nodes_.put(context.rows(), *node));
    DROVER_RETURN_IF_ERROR(add_evaluations(command.evaluations(), command.time(), context));
    return std::string();
  }

  Result<std::string> drain_updated(const v1::NodeDrainUpdated& command, ApplyContext& context) const {
    auto node = nodes_.get(context.rows(), command.node_id());
    if (!node) return not_found("node not found");
    v1::DrainMetadata& last = *node->mutable_last_drain();
    if (command.has_strategy()) {
      if (!node->drain()) {
        last.Clear();
        last.set_started_at(command.time());
      }
      *node->mutable_drain_strategy() = command.strategy();
      node->mutable_drain_strategy()->set_started_at(last.started_at());
      node->set_drain(true);
      node->set_scheduling_eligibility("ineligible");
      last.set_status(v1::DRAIN_STATUS_DRAINING);
    } else {
      node->clear_drain_strategy();
      node->set_drain(false);
      if (command.mark_eligible()) node->set_scheduling_eligibility("eligible");
      last.set_status(command.status());
    }
    for (const auto& [key, value] : command.meta()) (*last.mutable_meta())[key] = value;
    last.set_updated_at(command.time());
    add_event(*node, command.event(), context.index());
    node->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(nodes_.put(context.rows(), *node));
    DROVER_RETURN_IF_ERROR(add_evaluations(command.evaluations(), command.time(), context));
    return std::string();
  }

  Result<std::string> caught_up(const v1::NodeCaughtUp& command, ApplyContext& context) const {
    auto node = nodes_.get(context.rows(), command.node_id());
    if (!node) return std::string();
    node->set_last_alloc_update_index(context.index());
    node->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(nodes_.put(context.rows(), *node));
    return std::string();
  }

  Result<std::string> deleted(const v1::NodesDeleted& command, ApplyContext& context) const {
    for (const std::string& id : command.node_ids()) nodes_.erase(context.rows(), id);
    DROVER_RETURN_IF_ERROR(forget_services(command.node_ids(), context));
    DROVER_RETURN_IF_ERROR(add_evaluations(command.evaluations(), command.time(), context));
    return std::string();
  }

 private:
  const Table<v1::Node> nodes_;
};

}  // namespace

Status declare_tables(Declarations& declare, Table<v1::Node>& nodes) {
  DROVER_TRY(nodes, declare_table(declare, nodes_table()));
  auto commands = std::make_shared<Commands>(nodes);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::registered>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::status_updated>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::identity_given>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::eligibility_updated>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::drain_updated>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::caught_up>(commands));
  return declare.command<&Commands::deleted>(commands);
}

}  // namespace drover::nodes
