// operator raft …, operator autopilot …, operator scheduler ….
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/operator.pb.h"
#include "drover/time.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

// --- operator raft ---------------------------------------------------------------------------------------------------

int list_peers(Run& run) {
  const Parameters further = run.arguments.on("stale") ? Parameters{{"stale", "true"}} : Parameters();
  auto answer = run.client.call<v1::OperatorRaft::Configuration>({}, further);
  if (!answer) return run.fail("Error getting peers", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  std::vector<std::vector<std::string>> rows = {{"Node", "ID", "Address", "State", "Voter", "RaftProtocol"}};
  for (const v1::RaftPeer& server : answer->message.servers()) {
    rows.push_back({server.node(), id_text(server.id()), server.address(), server.leader() ? "leader" : "follower",
                    yes_no(server.voter()), server.raft_protocol()});
  }
  run.out << format_list(rows);
  return 0;
}

// Calls the method for the peer that -peer-id or -peer-address means.
template <typename Method>
int with_peer(Run& run, const std::string& failed, const std::string& done) {
  v1::RaftPeerRequest peer;
  peer.set_id(run.arguments.value("peer-id"));
  peer.set_address(run.arguments.value("peer-address"));
  if (peer.id().empty() == peer.address().empty())
    return run.usage("exactly one of -peer-id and -peer-address is needed");
  auto answer = run.client.call<Method>(peer);
  if (!answer) return run.fail(failed, answer.status());
  run.out << done << " peer with " << (peer.id().empty() ? "address" : "id") << " \"" << peer.id() << peer.address()
          << "\"\n";
  return 0;
}

int remove_peer(Run& run) { return with_peer<v1::OperatorRaft::RemovePeer>(run, "Error removing peer", "Removed"); }

int transfer_leadership(Run& run) {
  return with_peer<v1::OperatorRaft::TransferLeadership>(run, "Error transferring leadership",
                                                         "Transferred leadership to");
}

// --- operator autopilot ----------------------------------------------------------------------------------------------

// A field of the configuration, named by its flag with '-' for '_'.
struct Setting {
  const char* flag;
  const char* help;
};
constexpr Setting kSettings[] = {
    {"cleanup-dead-servers", "Remove failed servers: true or false"},
    {"last-contact-threshold", "A healthy server was heard within it"},
    {"max-trailing-logs", "Entries by which a healthy server may be behind"},
    {"min-quorum", "Voters below which no failed server is removed"},
    {"server-stabilization-time", "How long a new server is healthy before it votes"},
    {"enable-redundancy-zones", "Not available: only false"},
    {"disable-upgrade-migration", "true or false"},
    {"enable-custom-upgrades", "Not available: only false"},
};

const google::protobuf::FieldDescriptor& field_of(std::string name) {
  std::ranges::replace(name, '-', '_');
  return *v1::AutopilotConfiguration::descriptor()->FindFieldByName(name);
}

int get_config(Run& run) {
  auto answer = run.client.call<v1::OperatorAutopilot::GetConfiguration>({});
  if (!answer) return run.fail("Error querying Autopilot configuration", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Setting& setting : kSettings) {
    const auto value = nlohmann::json::parse(field_to_json(answer->message, field_of(setting.flag)));
    pairs.emplace_back(json_name(field_of(setting.flag)), value.is_string() ? value.get<std::string>() : value.dump());
  }
  run.out << format_pairs(pairs);
  return 0;
}

int set_config(Run& run) {
  auto known = run.client.call<v1::OperatorAutopilot::GetConfiguration>({});
  if (!known) return run.fail("Error querying Autopilot configuration", known.status());
  v1::SetAutopilotRequest request;
  v1::AutopilotConfiguration& configuration = *request.mutable_configuration();
  configuration = known->message;
  for (const Setting& setting : kSettings) {
    if (!run.arguments.is_set(setting.flag)) continue;
    const std::string given = run.arguments.value(setting.flag);
    if (given.empty() || !text_to_field(given, field_of(setting.flag), configuration).ok())
      return run.usage("-" + std::string(setting.flag) + ": \"" + given + "\" is no such value");
  }
  // Somebody else's change in between is not overwritten.
  request.set_cas(configuration.modify_index());
  auto answer = run.client.call<v1::OperatorAutopilot::SetConfiguration>(request);
  if (!answer) return run.fail("Error setting Autopilot configuration", answer.status());
  if (!answer->message.updated()) {
    run.out << "Configuration could not be atomically updated, please try again\n";
    return 1;
  }
  run.out << "Configuration updated!\n";
  return 0;
}

int health(Run& run) {
  // Unhealthy comes as an error whose text is the answer.
  auto answer = run.client.call<v1::OperatorAutopilot::Health>({});
  const std::string body = answer ? answer->body : answer.status().message();
  v1::AutopilotHealth report;
  if (!json_to_message(body, report).ok()) return run.fail("Error querying Autopilot health", answer.status());
  const int code = answer ? 0 : 1;
  if (run.arguments.on("json")) {
    run.out << nlohmann::json::parse(body).dump(4) << "\n";
    return code;
  }
  run.out << "Healthy: " << yes_no(report.healthy()) << "\nFailure tolerance: " << report.failure_tolerance() << "\n\n";
  std::vector<std::vector<std::string>> rows = {{"ID", "Name", "Address", "SerfStatus", "Version", "Leader", "Voter",
                                                 "Healthy", "LastContact", "LastTerm", "LastIndex", "StableSince"}};
  for (const v1::ServerHealth& server : report.servers()) {
    rows.push_back({id_text(server.id()), server.name(), server.address(), server.serf_status(), server.version(),
                    yes_no(server.leader()), yes_no(server.voter()), yes_no(server.healthy()), server.last_contact(),
                    std::to_string(server.last_term()), std::to_string(server.last_index()),
                    server.stable_since() == 0 ? "" : format_time(server.stable_since())});
  }
  run.out << format_list(rows);
  return code;
}

// --- operator scheduler ----------------------------------------------------------------------------------------------

// One setting of the scheduler: its flag, its title, and where it stands. All but the algorithm are true or false.
struct SchedulerSetting {
  const char* flag;
  const char* title;
  const char* help;
  const char* field;
  bool of_preemption = false;
};
constexpr SchedulerSetting kSchedulerSettings[] = {
    {"scheduler-algorithm", "Scheduler Algorithm", "binpack or spread", "scheduler_algorithm"},
    {"memory-oversubscription", "Memory Oversubscription", "Whether tasks may use up to their memory_max",
     "memory_oversubscription_enabled"},
    {"reject-job-registration", "Reject Job Registration", "Whether only management tokens may register jobs",
     "reject_job_registration"},
    {"pause-eval-broker", "Pause Eval Broker", "Whether no evaluation is handed out", "pause_eval_broker"},
    {"preempt-system-scheduler", "Preemption System Scheduler", "Whether system jobs may evict others",
     "system_scheduler_enabled", true},
    {"preempt-service-scheduler", "Preemption Service Scheduler", "Whether service jobs may evict others",
     "service_scheduler_enabled", true},
    {"preempt-batch-scheduler", "Preemption Batch Scheduler", "Whether batch jobs may evict others",
     "batch_scheduler_enabled", true},
    {"preempt-sysbatch-scheduler", "Preemption SysBatch Scheduler", "Whether sysbatch jobs may evict others",
     "sys_batch_scheduler_enabled", true},
};

const google::protobuf::FieldDescriptor& field_of(const SchedulerSetting& setting) {
  const auto* message =
      setting.of_preemption ? v1::PreemptionConfig::descriptor() : v1::SchedulerConfiguration::descriptor();
  return *message->FindFieldByName(setting.field);
}

int get_scheduler_config(Run& run) {
  auto answer = run.client.call<v1::OperatorScheduler::GetConfiguration>({});
  if (!answer) return run.fail("Error querying scheduler configuration", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  const v1::SchedulerConfiguration& config = answer->message.scheduler_config();
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const SchedulerSetting& setting : kSchedulerSettings) {
    const auto value =
        nlohmann::json::parse(setting.of_preemption ? field_to_json(config.preemption_config(), field_of(setting))
                                                    : field_to_json(config, field_of(setting)));
    pairs.emplace_back(setting.title, value.is_string() ? value.get<std::string>() : value.dump());
  }
  pairs.emplace_back("Modify Index", std::to_string(config.modify_index()));
  run.out << format_pairs(pairs);
  return 0;
}

int set_scheduler_config(Run& run) {
  auto known = run.client.call<v1::OperatorScheduler::GetConfiguration>({});
  if (!known) return run.fail("Error querying for scheduler configuration", known.status());
  v1::SetSchedulerConfigurationRequest request;
  v1::SchedulerConfiguration& config = *request.mutable_configuration();
  config = known->message.scheduler_config();
  for (const SchedulerSetting& setting : kSchedulerSettings) {
    if (!run.arguments.is_set(setting.flag)) continue;
    const std::string given = run.arguments.value(setting.flag);
    const Status read = setting.of_preemption
                            ? text_to_field(given, field_of(setting), *config.mutable_preemption_config())
                            : text_to_field(given, field_of(setting), config);
    if (given.empty() || !read.ok())
      return run.usage("-" + std::string(setting.flag) + ": \"" + given + "\" is no such value");
  }
  // Somebody else's change in between is not overwritten.
  request.set_cas(config.modify_index());
  if (run.arguments.is_set("check-index")) {
    uint64_t index = 0;
    const std::string given = run.arguments.value("check-index");
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), index);
    if (error != std::errc() || end != given.data() + given.size())
      return run.usage("-check-index: \"" + given + "\" is no index");
    request.set_cas(index);
  }
  auto answer = run.client.call<v1::OperatorScheduler::SetConfiguration>(request);
  if (!answer) return run.fail("Error setting scheduler configuration", answer.status());
  if (!answer->message.updated()) {
    run.out << "Configuration could not be atomically updated, please try again\n";
    return 1;
  }
  run.out << "Scheduler configuration updated!\n";
  return 0;
}

std::vector<Flag> peer_flags() {
  return {with_value("peer-id", "", "The server's identifier, as list-peers shows it"),
          with_value("peer-address", "", "The server's RPC address, as list-peers shows it")};
}

}  // namespace

std::vector<Definition> operator_commands() {
  std::vector<Flag> settings;
  for (const Setting& setting : kSettings) settings.push_back(with_value(setting.flag, "", setting.help));
  std::vector<Flag> of_scheduler;
  for (const SchedulerSetting& setting : kSchedulerSettings) {
    of_scheduler.push_back(with_value(setting.flag, "", setting.help));
  }
  of_scheduler.push_back(with_value("check-index", "", "Only if the configuration's modify index is this one"));
  const Flag as_json = on_off("json", "As JSON");
  const std::string removal =
      "  A failed server that autopilot does not remove. One that lives is taken in again within a minute:\n"
      "  stop it first.\n";
  return {
      {"operator raft list-peers", "Lists the servers that form the cluster.", "", "",
       with_object_flags({on_off("stale", "As the asked server knows it, also without a leader")}), 0, 0, list_peers},
      {"operator raft remove-peer", "Removes a server from the cluster.", "", removal, peer_flags(), 0, 0, remove_peer},
      {"operator raft transfer-leadership", "Makes another server lead.", "", "", peer_flags(), 0, 0,
       transfer_leadership},
      {"operator autopilot get-config", "Shows what autopilot goes by.", "", "", with_object_flags({}), 0, 0,
       get_config},
      {"operator autopilot set-config", "Changes what autopilot goes by.", "", "", settings, 0, 0, set_config},
      {"operator scheduler get-config", "Shows how allocations are placed.", "", "", with_object_flags({}), 0, 0,
       get_scheduler_config},
      {"operator scheduler set-config", "Changes how allocations are placed.", "", "", of_scheduler, 0, 0,
       set_scheduler_config},
      {"operator autopilot health", "Shows how the cluster's servers are.", "", "", {as_json}, 0, 0, health}};
}

}  // namespace drover::cli
