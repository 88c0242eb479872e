#include "offline/node_state.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "drover/json.h"
#include "drover/task_driver.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"

#include "agent_state.pb.h"

namespace drover::agent {
namespace {

using Json = nlohmann::ordered_json;

// Fields of a task's configuration that hold no secret, and what they are called here.
constexpr std::pair<std::string_view, std::string_view> kShownFields[] = {
    {"id", "ID"},
    {"name", "Name"},
    {"job_id", "JobID"},
    {"job_name", "JobName"},
    {"parent_job_id", "ParentJobID"},
    {"namespace", "Namespace"},
    {"task_group_name", "TaskGroupName"},
    {"alloc_id", "AllocID"},
    {"node_id", "NodeID"},
    {"node_name", "NodeName"},
    {"user", "User"},
    {"alloc_dir", "AllocDir"},
    {"stdout_path", "StdoutPath"},
    {"stderr_path", "StderrPath"},
    {"resources", "Resources"},
    {"mounts", "Mounts"},
    {"devices", "Devices"},
    {"network_isolation_spec", "NetworkIsolationSpec"},
    {"dns", "DNS"}};

// Members of a driver's own state by which it finds its task again: of processes, and of containers.
constexpr std::string_view kShownMembers[] = {"version", "pid",       "start_time", "started_at", "launcher",
                                              "cgroup",  "container", "image",      "port_map"};

Json parsed(const std::string& text) { return Json::parse(text, nullptr, false); }

template <typename Map>
Json names_in(const Map& map) {
  std::vector<std::string> names;
  for (const auto& each : map) names.push_back(each.first);
  std::ranges::sort(names);
  return names;
}

// `name`: of the field as it stands in its definition.
void leave_out(Json& out, const std::string& name) { out["LeftOut"].push_back(name); }

Json config_json(const driver::TaskConfig& config) {
  Json out = Json::object();
  std::vector<const google::protobuf::FieldDescriptor*> set;
  config.GetReflection()->ListFields(config, &set);
  for (const auto* field : set) {
    const auto shown = std::ranges::find(kShownFields, std::string_view(field->name()),
                                         &std::pair<std::string_view, std::string_view>::first);
    if (shown == std::end(kShownFields)) continue;
    out[std::string(shown->second)] = parsed(field_to_json(config, *field));
  }
  if (!config.env().empty()) out["EnvNames"] = names_in(config.env());
  if (!config.device_env().empty()) out["DeviceEnvNames"] = names_in(config.device_env());
  for (const auto* field : set) {
    if (std::ranges::none_of(kShownFields, [&](const auto& one) { return one.first == field->name(); }))
      leave_out(out, field->name());
  }
  return out;
}

// Null where the driver keeps nothing.
Json driver_state_json(const std::string& state) {
  if (state.empty()) return nullptr;
  const Json kept = parsed(state);
  Json out = Json::object();
  if (!kept.is_object()) {
    out["Bytes"] = state.size();
    leave_out(out, "driver_state");
    return out;
  }
  for (const auto& [name, value] : kept.items()) {
    if (std::ranges::count(kShownMembers, name) > 0) out[name] = value;
  }
  for (const auto& [name, value] : kept.items()) {
    if (std::ranges::count(kShownMembers, name) == 0) leave_out(out, name);
  }
  return out;
}

Json handle_json(const driver::TaskHandle& handle) {
  return {{"Version", handle.version()},
          {"State", json_word(*driver::TaskState_descriptor()->FindValueByNumber(
                        driver::TaskState_IsValid(handle.state()) ? handle.state() : driver::UNKNOWN))},
          {"Config", config_json(handle.config())}};
}

// `is_task`: of a task, whose hooks are not called again once they are done.
template <typename Hooks>
Json hooks_json(const Hooks& hooks, bool is_task) {
  std::map<std::string, Json> sorted;
  for (const auto& [name, hook] : hooks) {
    Json out = Json::object();
    if (is_task) out["Done"] = hook.done();
    if (hook.has_adds()) out["Adds"] = config_json(hook.adds());
    if (!hook.values().empty()) {
      std::map<std::string, size_t> bytes;
      for (const auto& [key, value] : hook.values()) bytes[key] = value.size();
      out["ValueBytes"] = bytes;
      leave_out(out, "values");
    }
    sorted[name] = std::move(out);
  }
  return sorted.empty() ? Json::object() : Json(sorted);
}

Json task_json(const StoredTask& row) {
  Json local = {{"Hooks", hooks_json(row.hooks(), true)},
                {"TaskHandle", row.has_handle() ? handle_json(row.handle()) : Json()},
                {"Starting", row.starting()},
                {"RestartCount", row.restart_count()},
                {"RestartWindowBegan", row.restart_window_began()},
                {"DriverNetwork", nullptr}};
  if (row.has_network()) {
    std::map<std::string, int> ports(row.network().port_map().begin(), row.network().port_map().end());
    local["DriverNetwork"] = {{"PortMap", ports},
                              {"IP", row.network().addr()},
                              {"AutoAdvertise", row.network().auto_advertise()}};
  }
  return {{"LocalState", std::move(local)},
          {"RemoteState", row.has_state() ? parsed(message_to_json(row.state())) : Json()},
          {"DriverState", driver_state_json(row.handle().driver_state())}};
}

Json health_json(const StoredHealth& health) {
  return {{"DeploymentID", Uuid::from_bytes(health.deployment_id()).to_string()},
          {"Began", health.began()},
          {"Healthy", health.has_healthy() ? Json(health.healthy()) : Json()},
          {"Decided", health.decided()}};
}

Json allocation_json(const StoredAllocation& row) {
  Json alloc = parsed(message_to_json(row.allocation()));
  const v1::Job& job = row.job();
  return {{"Alloc", std::move(alloc)},
          {"Job",
           {{"ID", job.id()},
            {"Namespace", job.namespace_()},
            {"Version", job.version()},
            {"Type", job.type()},
            {"LeftOut", {"all else: what a job gives its tasks may hold secrets"}}}},
          {"DeployStatus", row.has_health() ? health_json(row.health()) : Json()},
          {"Hooks", hooks_json(row.hooks(), false)},
          {"Tasks", Json::object()}};
}

Result<Json> node_json(AgentStore& store) {
  DROVER_TRY(const std::optional<Uuid> id, store.known_id());
  if (!id) return not_found("the rows are no node's: the agent that wrote them is no client, or has never started");
  DROVER_TRY(const std::string token, store.node_token());
  DROVER_TRY(const MetaChanges meta, store.meta());
  DROVER_TRY(const std::optional<ContactMark> contact, store.contact());
  Json changes = Json::object();
  for (const auto& [key, value] : meta) changes[key] = value ? Json(*value) : Json();
  Json out = {{"ID", id->to_string()}, {"HasIdentity", !token.empty()}, {"MetaChanges", std::move(changes)}};
  out["LastContact"] = nullptr;
  if (contact) out["LastContact"] = {{"Boot", contact->boot}, {"SteadyTime", contact->steady_ns}};
  out["LeftOut"] = {"secret", "token"};
  return out;
}

}  // namespace

Result<NodeState> node_state(AgentStore& store) {
  NodeState out;
  Json all = Json::object();
  DROVER_TRY(all["Node"], node_json(store));
  Json& allocations = all["Allocations"] = Json::object();
  DROVER_TRY(const auto rows, store.allocation_rows());
  for (const auto& [id, row] : rows) {
    if (!row) out.problems.push_back("the row of allocation " + id.to_string() + ": " + row.status().message());
    Json& allocation = allocations[id.to_string()];
    if (row) allocation = allocation_json(*row);
    DROVER_TRY(const auto tasks, store.task_rows(id));
    for (const auto& [name, task] : tasks) {
      if (task) {
        allocation["Tasks"][name] = task_json(*task);
      } else {
        out.problems.push_back("the row of task \"" + name + "\" of allocation " + id.to_string() + ": " +
                               task.status().message());
      }
    }
  }
  out.json = all.dump(4, ' ', false, Json::error_handler_t::replace) + "\n";
  return out;
}

}  // namespace drover::agent
