// The leader looks after the cluster's servers every two seconds; operators see and change its configuration.
#include <utility>

#include "autopilot.pb.h"
#include "config_row.h"
#include "decide.h"
#include "drover/api/operator.pb.h"
#include "drover/duration.h"
#include "drover/json.h"
#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/module.h"
#include "drover/mutex.h"
#include "drover/pause.h"
#include "drover/server_directory.h"
#include "raft_rpc.h"

namespace drover::autopilot {
namespace {

constexpr std::chrono::nanoseconds kInterval = std::chrono::seconds(2);
constexpr std::chrono::nanoseconds kFirstInterval = std::chrono::milliseconds(250);  // until the others are heard
constexpr auto kMeasureInterval = std::chrono::seconds(1);
constexpr auto kChangeTime = std::chrono::seconds(10);
constexpr std::string_view kRow = "autopilot";  // the only one

struct Commands {
  Table<v1::AutopilotConfiguration> table;

  Result<std::string> configured(const v1::AutopilotConfigured& command, ApplyContext& context) const {
    const auto existing = table.get(context.rows(), kRow);
    v1::SetAutopilotResponse answer;
    if (command.has_check_index() && command.check_index() != (existing ? existing->modify_index() : 0))
      return serialize(answer);
    v1::AutopilotConfiguration row = command.configuration();
    row.set_create_index(existing ? existing->create_index() : context.index());
    row.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(table.put(context.rows(), row));
    answer.set_updated(true);
    return serialize(answer);
  }
};

class AutopilotPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("autopilot", config_schema()));
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "server",
        {.options = {{.name = "redundancy_zone"}, {.name = "upgrade_version"}, {.name = "non_voting_server"}}}));
    DROVER_TRY(table_, declare.table<v1::AutopilotConfiguration>(
                           "autopilot", {},
                           [](const v1::AutopilotConfiguration&, RowKeys& keys) { keys.primary(std::string(kRow)); }));
    DROVER_RETURN_IF_ERROR(declare.command<&Commands::configured>(std::make_shared<Commands>(Commands{table_})));
    DROVER_RETURN_IF_ERROR(raft_rpc_.declare(declare));
    return declare.service("drover.v1.OperatorAutopilot",
                           {method<&AutopilotPlugin::get_configuration>("GetConfiguration", this),
                            method<&AutopilotPlugin::set_configuration>("SetConfiguration", this),
                            method<&AutopilotPlugin::health>("Health", this)});
  }

  Status start(Host& host) override {
    host_ = &host;
    initial_ = initial_configuration(host.configuration("autopilot"));
    raft_rpc_.start(host);
    measure();
    return ok_status();
  }

  void lead(std::stop_token stop) override {
    {
      MutexLock lock(mutex_);
      report_ = {};
    }
    last_held_.clear();
    const SteadyTime settled = host_->clock().steady() + kInterval;
    while (!stop.stop_requested()) {
      look();
      pause_for(host_->clock().steady() < settled ? kFirstInterval : kInterval, stop);
    }
  }

  void stop(SteadyTime) override {}

 private:
  v1::AutopilotConfiguration current(const ReadView& view) const {
    auto row = table_.get(view, kRow);
    return row ? *std::move(row) : initial_;
  }

  // Once a second, on every server. [pool]
  void measure() {
    const RaftInfo raft = host_->raft();
    Metrics& metrics = host_->metrics();
    if (std::exchange(role_, raft.role) != raft.role) metrics.add("nomad.raft.state." + raft.role);
    metrics.set("nomad.raft.lastIndex", static_cast<double>(raft.last_index));
    metrics.set("nomad.raft.commitIndex", static_cast<double>(raft.commit_index));
    metrics.set("nomad.raft.peers", static_cast<double>(raft.servers.size()));
    if (raft.is_leader) {
      std::chrono::nanoseconds longest{};
      for (const RaftServer& server : raft.servers) {
        if (server.is_voter) longest = std::max(longest, server.since_contact.value_or(std::chrono::nanoseconds()));
      }
      metrics.observe("nomad.raft.leader.lastContact", longest);
    }
    host_->post_after(kMeasureInterval, [this] { measure(); });
  }

  void look() {
    const RaftInfo raft = host_->raft();
    if (!raft.is_leader) return;
    if (!table_.get(*host_->snapshot(), kRow)) write_initial();
    const auto config = to_config(current(*host_->snapshot()));
    const auto* directory = host_->extension<ServerDirectory>("gossip");
    if (!config || !directory) return;
    const SteadyTime now = host_->clock().steady();
    Report report = examine(*config, raft, directory->servers(), last_report(), now, host_->clock().wall_ns());
    host_->metrics().set("nomad.nomad.autopilot.healthy", report.is_healthy ? 1 : 0);
    host_->metrics().set("nomad.nomad.autopilot.failure_tolerance", report.failure_tolerance);
    const Plan plan = decide(*config, report, now);
    {
      MutexLock lock(mutex_);
      report_ = std::move(report);
    }
    if (!plan.held.empty() && plan.held != last_held_)
      log::warn("autopilot", "failed servers are not removed", {{"reason", plan.held}});
    last_held_ = plan.held;
    if (plan.action) carry_out(*plan.action);
  }

  void write_initial() {
    v1::AutopilotConfigured command;
    *command.mutable_configuration() = initial_;
    command.set_check_index(0);
    command.set_time(host_->clock().wall_ns());
    const Status status = host_->propose(command, host_->clock().steady() + kChangeTime).status();
    if (!status.ok()) log::warn("autopilot", "the configuration cannot be written yet", {{"error", status.message()}});
  }

  void carry_out(const Action& action) {
    const bool is_removal = action.edit.kind == RaftEdit::Kind::remove;
    const Status status = host_->raft_control()->change_servers({action.edit}, host_->clock().steady() + kChangeTime);
    const std::string_view what = is_removal ? "removed a server" : "promoted a server";
    if (status.ok()) {
      log::info("autopilot", what, {{"server", action.edit.id.to_string()}, {"reason", action.reason}});
    } else {
      log::warn("autopilot", "a server can be neither promoted nor removed now",
                {{"server", action.edit.id.to_string()}, {"error", status.message()}});
    }
  }

  Report last_report() const {
    MutexLock lock(mutex_);
    return report_;
  }

  // --- the API
  Result<v1::AutopilotConfiguration> get_configuration(const v1::AutopilotRequest&, Call& call) {
    v1::AutopilotConfiguration configuration = current(call.view());
    call.set_index(configuration.modify_index());
    return configuration;
  }

  Result<Write<v1::SetAutopilotResponse>> set_configuration(const v1::SetAutopilotRequest& request, Call&) {
    v1::AutopilotConfigured command;
    *command.mutable_configuration() = request.configuration();
    v1::AutopilotConfiguration& wanted = *command.mutable_configuration();
    DROVER_TRY(const Config config, to_config(wanted));
    wanted.set_last_contact_threshold(format_duration(config.last_contact_threshold));
    wanted.set_server_stabilization_time(format_duration(config.server_stabilization_time));
    if (request.has_cas()) command.set_check_index(request.cas());
    command.set_time(host_->clock().wall_ns());
    return Write<v1::SetAutopilotResponse>(
        command, [](const Applied& applied) { return parse_message<v1::SetAutopilotResponse>(applied.answer); });
  }

  Result<v1::AutopilotHealth> health(const v1::AutopilotRequest&, Call&) {
    const Report report = last_report();
    v1::AutopilotHealth response;
    response.set_healthy(report.is_healthy);
    response.set_failure_tolerance(report.failure_tolerance);
    for (const Health& server : report.servers) {
      v1::ServerHealth& out = *response.add_servers();
      out.set_id(server.id.bytes());
      out.set_name(server.name);
      out.set_address(server.address);
      out.set_serf_status(server.status ? std::string(to_string(*server.status)) : "none");
      out.set_version(server.version);
      out.set_leader(server.is_leader);
      out.set_last_contact(server.last_contact ? format_duration(*server.last_contact) : "never");
      out.set_last_term(server.last_term);
      out.set_last_index(server.last_index);
      out.set_healthy(server.is_healthy);
      out.set_voter(server.is_voter);
      out.set_stable_since(server.stable_since_wall);
    }
    if (report.is_healthy) return response;
    return with_http_status(unavailable(message_to_json(response)), 429);
  }

  Host* host_ = nullptr;
  Table<v1::AutopilotConfiguration> table_;
  v1::AutopilotConfiguration initial_;
  RaftRpc raft_rpc_;
  std::string role_;       // as last measured [pool]
  std::string last_held_;  // [lead]
  mutable Mutex mutex_;
  Report report_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace drover::autopilot

DROVER_MODULE(drover::autopilot::AutopilotPlugin, "module", "autopilot", "0.1.0");
