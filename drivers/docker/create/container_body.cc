#include "create/container_body.h"

#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "create/parts.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

constexpr const char* kLabelPrefix = "com.hashicorp.nomad.";

Json labels_of(const BodyInput& input) {
  const driver::TaskConfig& task = input.task;
  Json labels = Json::object();
  for (const auto& [name, value] : input.options.labels) labels[name] = value;
  const std::pair<const char*, const std::string&> extra[] = {
      {"job_name", task.job_name()}, {"job_id", task.job_id()},        {"task_group_name", task.task_group_name()},
      {"task_name", task.name()},    {"namespace", task.namespace_()}, {"node_name", task.node_name()},
      {"node_id", task.node_id()}};
  for (const auto& [name, value] : extra) {
    const bool is_wanted = std::ranges::any_of(input.plugin.extra_labels, [&, label = name](const std::string& glob) {
      return ::fnmatch(glob.c_str(), label, 0) == 0;
    });
    if (is_wanted) labels[std::string(kLabelPrefix) + name] = value;
  }
  labels[kAllocLabel] = task.alloc_id();
  labels[kTaskLabel] = task.id();
  labels[kNodeLabel] = task.node_id();
  return labels;
}

Json environment_of(const driver::TaskConfig& task) {
  std::map<std::string, std::string> all(task.env().begin(), task.env().end());
  for (const auto& [name, value] : task.device_env()) all[name] = value;
  Json out = Json::array();
  for (const auto& [name, value] : all) out.push_back(name + "=" + value);
  return out;
}

void add_command(const ContainerOptions& options, Json& body) {
  if (!options.entrypoint.empty()) body["Entrypoint"] = options.entrypoint;
  Json command = Json::array();
  if (options.command) command.push_back(*options.command);
  for (const std::string& argument : options.args) command.push_back(argument);
  if (!command.empty()) body["Cmd"] = std::move(command);
}

Json log_config(const BodyInput& input) {
  const PluginOptions& plugin = input.plugin;
  std::string type = plugin.log_type;
  std::map<std::string, std::string> config = plugin.log_config;
  if (input.options.logging) {
    if (!input.options.logging->driver.empty() && input.options.logging->driver != type) config.clear();
    if (!input.options.logging->driver.empty()) type = input.options.logging->driver;
    for (const auto& [name, value] : input.options.logging->config) config[name] = value;
  }
  if (type == "json-file") {  // these files grow for ever unless they are told not to
    config.try_emplace("max-file", "2");
    config.try_emplace("max-size", "2m");
  }
  if (input.engine.is_podman) config.erase("max-file");  // it has one file
  return {{"Type", type}, {"Config", config}};
}

void add_plain(const BodyInput& input, Json& body) {
  const ContainerOptions& options = input.options;
  const std::pair<const char*, const std::string&> texts[] = {{"Hostname", options.hostname},
                                                              {"User", input.task.user()},
                                                              {"WorkingDir", options.work_dir},
                                                              {"MacAddress", options.mac_address}};
  for (const auto& [name, value] : texts) {
    if (!value.empty()) body[name] = value;
  }
  if (options.tty) body["Tty"] = true;
  if (options.interactive) body["OpenStdin"] = true;
  if (options.disables_healthcheck) body["Healthcheck"] = {{"Test", {"NONE"}}};
  Json& host = body["HostConfig"];
  if (options.readonly_rootfs) host["ReadonlyRootfs"] = true;
  if (options.init) host["Init"] = true;
  if (!options.sysctl.empty()) host["Sysctls"] = options.sysctl;
  if (!options.storage_opt.empty()) host["StorageOpt"] = options.storage_opt;
  host["LogConfig"] = log_config(input);
}

}  // namespace

std::string container_name(const driver::TaskConfig& task) {
  std::string name = task.name() + "-" + task.alloc_id();
  std::ranges::replace(name, '/', '_');
  return name;
}

std::string other_container_name(const driver::TaskConfig& task) {
  std::string mark = task.id().substr(task.id().rfind('/') + 1);
  std::erase_if(mark, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return container_name(task) + "-" + mark;
}

Result<ContainerBody> container_body(const BodyInput& input) {
  ContainerBody out;
  Json body{{"Image", input.image}, {"Env", environment_of(input.task)}, {"Labels", labels_of(input)}};
  body["HostConfig"] = Json::object();
  add_command(input.options, body);
  add_plain(input, body);
  DROVER_RETURN_IF_ERROR(add_limits(input, body["HostConfig"]));
  DROVER_RETURN_IF_ERROR(add_network(input, body, out));
  DROVER_RETURN_IF_ERROR(add_ports(input, body, out));
  DROVER_RETURN_IF_ERROR(add_mounts(input, body["HostConfig"], out));
  DROVER_RETURN_IF_ERROR(add_devices(input, body["HostConfig"]));
  DROVER_RETURN_IF_ERROR(add_security(input, body["HostConfig"]));
  // A text that is no UTF-8 cannot stand in JSON; the engine would not take it either.
  out.json = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace drover::docker
