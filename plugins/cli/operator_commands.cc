// operator raft …, operator autopilot ….
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli_command.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

using nlohmann::json;

std::string yes_no(const json& value) { return value.is_boolean() && value.get<bool>() ? "true" : "false"; }

// --- operator raft ---------------------------------------------------------------------------------------------------

int list_peers(Run& run) {
  Parameters parameters;
  if (run.arguments.on("stale")) parameters["stale"] = "true";
  auto answer = run.client.get("/v1/operator/raft/configuration", parameters);
  if (!answer) return run.fail("Error getting peers", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  std::vector<std::vector<std::string>> rows = {{"Node", "ID", "Address", "State", "Voter", "RaftProtocol"}};
  for (const json& server : member(*answer, "Servers")) {
    rows.push_back({text(server, "Node"), text(server, "ID"), text(server, "Address"),
                    yes_no(member(server, "Leader")) == "true" ? "leader" : "follower", yes_no(member(server, "Voter")),
                    text(server, "RaftProtocol")});
  }
  run.out << format_list(rows);
  return 0;
}

// The peer that -peer-id or -peer-address means, as parameters of the API; empty unless exactly one is given.
Parameters peer_of(const Run& run) {
  const bool by_id = run.arguments.is_set("peer-id"), by_address = run.arguments.is_set("peer-address");
  if (by_id == by_address) return {};
  return by_id ? Parameters{{"id", run.arguments.value("peer-id")}}
               : Parameters{{"address", run.arguments.value("peer-address")}};
}

int remove_peer(Run& run) {
  const Parameters peer = peer_of(run);
  if (peer.empty()) return run.usage("exactly one of -peer-id and -peer-address is needed");
  auto answer = run.client.write("DELETE", "/v1/operator/raft/peer", peer);
  if (!answer) return run.fail("Error removing peer", answer.status());
  const auto& [by, which] = *peer.begin();
  run.out << "Removed peer with " << by << " \"" << which << "\"\n";
  return 0;
}

int transfer_leadership(Run& run) {
  const Parameters peer = peer_of(run);
  if (peer.empty()) return run.usage("exactly one of -peer-id and -peer-address is needed");
  auto answer = run.client.write("PUT", "/v1/operator/raft/transfer-leadership", peer);
  if (!answer) return run.fail("Error transferring leadership", answer.status());
  const auto& [by, which] = *peer.begin();
  run.out << "Transferred leadership to peer with " << by << " \"" << which << "\"\n";
  return 0;
}

// --- operator autopilot ----------------------------------------------------------------------------------------------

struct Setting {
  const char* flag;
  const char* field;
  enum Kind { boolean, number, duration } kind;
  const char* help;
};
constexpr Setting kSettings[] = {
    {"cleanup-dead-servers", "CleanupDeadServers", Setting::boolean, "Remove failed servers: true or false"},
    {"last-contact-threshold", "LastContactThreshold", Setting::duration, "A healthy server was heard within it"},
    {"max-trailing-logs", "MaxTrailingLogs", Setting::number, "Entries by which a healthy server may be behind"},
    {"min-quorum", "MinQuorum", Setting::number, "Voters below which no failed server is removed"},
    {"server-stabilization-time", "ServerStabilizationTime", Setting::duration,
     "How long a new server is healthy before it votes"},
    {"enable-redundancy-zones", "EnableRedundancyZones", Setting::boolean, "Not available: only false"},
    {"disable-upgrade-migration", "DisableUpgradeMigration", Setting::boolean, "true or false"},
    {"enable-custom-upgrades", "EnableCustomUpgrades", Setting::boolean, "Not available: only false"},
};

int get_config(Run& run) {
  auto answer = run.client.get("/v1/operator/autopilot/configuration");
  if (!answer) return run.fail("Error querying Autopilot configuration", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Setting& setting : kSettings) {
    const json& value = member(*answer, setting.field);
    pairs.emplace_back(setting.field, value.is_string() ? value.get<std::string>() : value.dump());
  }
  run.out << format_pairs(pairs);
  return 0;
}

// The flag's text as the API wants it; nothing when it is none.
std::optional<json> value_of(const Setting& setting, const std::string& text) {
  if (setting.kind == Setting::duration) return json(text);
  if (setting.kind == Setting::boolean)
    return text == "true" || text == "false" ? std::optional(json(text == "true")) : std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(json(value)) : std::nullopt;
}

int set_config(Run& run) {
  auto configuration = run.client.get("/v1/operator/autopilot/configuration");
  if (!configuration) return run.fail("Error querying Autopilot configuration", configuration.status());
  for (const Setting& setting : kSettings) {
    if (!run.arguments.is_set(setting.flag)) continue;
    const std::string given = run.arguments.value(setting.flag);
    const auto value = value_of(setting, given);
    if (!value) return run.usage("-" + std::string(setting.flag) + ": \"" + given + "\" is no such value");
    (*configuration)[setting.field] = *value;
  }
  // Somebody else's change in between is not overwritten.
  const std::string index = std::to_string(number(*configuration, "ModifyIndex"));
  auto answer =
      run.client.write("PUT", "/v1/operator/autopilot/configuration", {{"cas", index}}, configuration->dump());
  if (!answer) return run.fail("Error setting Autopilot configuration", answer.status());
  if (!answer->is_boolean() || !answer->get<bool>()) {
    run.out << "Configuration could not be atomically updated, please try again\n";
    return 1;
  }
  run.out << "Configuration updated!\n";
  return 0;
}

int health(Run& run) {
  // Unhealthy comes as an error whose text is the answer.
  auto answer = run.client.get("/v1/operator/autopilot/health");
  json report = answer ? *answer : json::parse(answer.status().message(), nullptr, false);
  if (!report.is_object()) return run.fail("Error querying Autopilot health", answer.status());
  const int code = answer ? 0 : 1;
  if (run.arguments.on("json")) {
    run.out << report.dump(4) << "\n";
    return code;
  }
  run.out << "Healthy: " << yes_no(member(report, "Healthy"))
          << "\nFailure tolerance: " << number(report, "FailureTolerance") << "\n\n";
  std::vector<std::vector<std::string>> rows = {{"ID", "Name", "Address", "SerfStatus", "Version", "Leader", "Voter",
                                                 "Healthy", "LastContact", "LastTerm", "LastIndex", "StableSince"}};
  for (const json& server : member(report, "Servers")) {
    rows.push_back({text(server, "ID"), text(server, "Name"), text(server, "Address"), text(server, "SerfStatus"),
                    text(server, "Version"), yes_no(member(server, "Leader")), yes_no(member(server, "Voter")),
                    yes_no(member(server, "Healthy")), text(server, "LastContact"),
                    std::to_string(number(server, "LastTerm")), std::to_string(number(server, "LastIndex")),
                    text(server, "StableSince")});
  }
  run.out << format_list(rows);
  return code;
}

std::vector<Flag> peer_flags() {
  return {with_value("peer-id", "", "The server's identifier, as list-peers shows it"),
          with_value("peer-address", "", "The server's RPC address, as list-peers shows it")};
}

}  // namespace

std::vector<Definition> operator_commands() {
  std::vector<Flag> settings;
  for (const Setting& setting : kSettings) settings.push_back(with_value(setting.flag, "", setting.help));
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
      {"operator autopilot health", "Shows how the cluster's servers are.", "", "", {as_json}, 0, 0, health}};
}

}  // namespace drover::cli
