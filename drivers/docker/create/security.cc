#include <algorithm>
#include <nlohmann/json.hpp>

#include "create/capabilities.h"
#include "create/parts.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

constexpr const char* kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";

// Namespaces of the machine, or of a container that need not be the task's own, are for who may have everything.
Status check_namespace(const char* option, const std::string& mode, bool may_all) {
  const bool is_foreign = mode == "host" || mode.starts_with("container:") || mode.starts_with("ns:");
  if (!is_foreign || may_all) return ok_status();
  return invalid_argument(std::string(option) + " \"" + mode +
                          "\" needs the operator's permission: allow_privileged of plugin \"docker\"");
}

Result<std::string> runtime_of(const BodyInput& input) {
  const std::string& asked = input.options.runtime;
  const auto& allowed = input.plugin.allowed_runtimes;
  if (!asked.empty() && std::ranges::find(allowed, asked) == allowed.end())
    return invalid_argument("requested runtime \"" + asked + "\" is not allowed");
  if (!input.task.device_env().contains(kVisibleDevices)) return asked;
  const std::string& nvidia = input.plugin.nvidia_runtime;
  if (std::ranges::find(input.engine.runtimes, nvidia) == input.engine.runtimes.end())
    return invalid_argument("requested docker runtime \"" + nvidia + "\" was not found");
  if (!asked.empty() && asked != nvidia)
    return invalid_argument("conflicting runtime requests: gpu runtime \"" + nvidia +
                            "\" conflicts with task runtime \"" + asked + "\"");
  return nvidia;
}

// The separator of "seccomp=unconfined" or its older form with a colon.
size_t separator(const std::string& option) {
  const size_t equals = option.find('=');
  return equals == std::string::npos ? option.find(':') : equals;
}

bool names_profile(const std::string& option) {
  const size_t at = separator(option);
  return at != std::string::npos && option.substr(0, at) == "seccomp" && option.substr(at + 1) != "unconfined";
}

Result<std::string> profile(const BodyInput& input, const std::string& written) {
  const auto content = input.seccomp_profiles.find(written);
  if (content == input.seccomp_profiles.end())
    return invalid_argument("opening seccomp profile (" + written + ") failed: it was not read");
  const Json json = Json::parse(content->second, nullptr, false);
  if (!json.is_object()) return invalid_argument("compacting json for seccomp profile (" + written + ") failed");
  // Podman reads the file itself.
  if (input.engine.is_podman) return path_from(task_folder(input.task), written);
  return json.dump();
}

Result<Json> security_options(const BodyInput& input) {
  Json out = Json::array();
  for (const std::string& option : input.options.security_opt) {
    const size_t at = separator(option);
    if (at == std::string::npos && option != "no-new-privileges")
      return invalid_argument("invalid security_opt: \"" + option + "\"");
    if (!names_profile(option)) {
      out.push_back(option);
      continue;
    }
    DROVER_TRY(const std::string content, profile(input, option.substr(at + 1)));
    out.push_back("seccomp=" + content);
  }
  return out;
}

Status add_namespaces(const BodyInput& input, Json& host) {
  const ContainerOptions& options = input.options;
  const bool may = input.plugin.allows_privileged;
  const std::tuple<const char*, const char*, const std::string&> modes[] = {
      {"ipc_mode", "IpcMode", options.ipc_mode},
      {"pid_mode", "PidMode", options.pid_mode},
      {"uts_mode", "UTSMode", options.uts_mode},
      {"userns_mode", "UsernsMode", options.userns_mode}};
  for (const auto& [name, member, mode] : modes) {
    DROVER_RETURN_IF_ERROR(check_namespace(name, mode, may));
    if (!mode.empty()) host[member] = mode;
  }
  return ok_status();
}

}  // namespace

std::map<std::string, std::string> seccomp_files(const ContainerOptions& options, const driver::TaskConfig& task) {
  std::map<std::string, std::string> out;
  for (const std::string& option : options.security_opt) {
    if (!names_profile(option)) continue;
    const std::string written = option.substr(separator(option) + 1);
    out[written] = path_from(task_folder(task), written);
  }
  return out;
}

Status add_security(const BodyInput& input, Json& host) {
  const ContainerOptions& options = input.options;
  if (options.privileged && !input.plugin.allows_privileged)
    return invalid_argument("Docker privileged mode is disabled on this Nomad agent");
  if (options.privileged) host["Privileged"] = true;
  DROVER_TRY(const CapabilityChange change,
             capability_change(input.plugin.allowed_caps, options.cap_add, options.cap_drop));
  if (!change.add.empty()) host["CapAdd"] = change.add;
  if (!change.drop.empty()) host["CapDrop"] = change.drop;
  DROVER_RETURN_IF_ERROR(add_namespaces(input, host));
  DROVER_TRY(const std::string runtime, runtime_of(input));
  if (!runtime.empty()) host["Runtime"] = runtime;
  DROVER_TRY(Json security, security_options(input));
  if (!security.empty()) host["SecurityOpt"] = std::move(security);
  return ok_status();
}

}  // namespace drover::docker
