// The driver before any task: its configuration, its engine, its health.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/container_options.h"
#include "docker_running.h"
#include "drover/hclspec.h"
#include "drover/log.h"
#include "drover/plugin.h"
#include "drover/uuid.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSocket = "unix:///var/run/docker.sock";
constexpr auto kProbeTime = 20s;

std::string endpoint_of(const PluginOptions& options) {
  if (!options.endpoint.empty()) return options.endpoint;
  const char* host = std::getenv("DOCKER_HOST");
  return host && *host ? host : kSocket;
}

// A folder of this user alone. Empty: there can be none.
std::string make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  struct stat about {};
  const bool is_there = ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
  if (is_there && ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid())
    return path;
  return {};
}

std::string state_folder(const PluginOptions& options, const std::string& agent_folder) {
  if (!options.state_dir.empty()) return make_folder(options.state_dir);
  if (!agent_folder.empty()) return make_folder(agent_folder + "/docker");
  if (std::string folder = make_folder("/run/drover-docker"); !folder.empty()) return folder;
  return make_folder("/tmp/drover-docker-" + std::to_string(::geteuid()));
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

}  // namespace

DockerDriver::DockerDriver() = default;
DockerDriver::~DockerDriver() { stop(); }

hclspec::Spec DockerDriver::config_schema() const { return plugin_schema(); }
hclspec::Spec DockerDriver::task_config_schema() const { return container_schema(); }

void DockerDriver::set_agent(const AgentInfo& agent) {
  agent_folder_ = agent.data_dir;
  is_dev_mode_ = agent.dev_mode;
}

Status DockerDriver::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(PluginOptions options, read_plugin_options(request.msgpack_config(), is_dev_mode_));
  DROVER_TRY(std::string socket, socket_of(endpoint_of(options)));
  if (configured_) {
    if (*configured_ == request.msgpack_config()) return ok_status();
    return failed_precondition("docker is configured already; another configuration needs a new process");
  }
  options_ = std::move(options);
  state_folder_ = state_folder(options_, agent_folder_);
  if (state_folder_.empty())
    log::warn("docker", "there is no folder for the driver's state; logs may be read twice after a restart", {});
  running_ = std::make_unique<Running>(
      std::move(socket), options_, state_folder_, [this]() -> std::optional<DanglingContainers::Held> {
        DanglingContainers::Held held{.node = node_of(nullptr), .containers = held_containers()};
        if (held.node.empty()) return std::nullopt;
        return held;
      });
  configured_ = request.msgpack_config();
  return ok_status();
}

driver::DriverCapabilities DockerDriver::capabilities() const {
  driver::DriverCapabilities out;
  out.set_send_signals(true);
  out.set_exec(true);
  out.set_fs_isolation(driver::DriverCapabilities::IMAGE);
  for (const auto mode :
       {driver::NetworkIsolationSpec::HOST, driver::NetworkIsolationSpec::GROUP, driver::NetworkIsolationSpec::TASK})
    out.add_network_isolation_modes(mode);
  out.set_must_create_network(true);
  out.set_mount_configs(driver::DriverCapabilities::ANY_MOUNTS);
  out.set_disable_log_collection(options_.disable_log_collection);
  return out;
}

Status DockerDriver::probe(EngineFacts& facts) {
  const auto ask = [&](const char* target) {
    return running_->engine.call({.target = target}, Patience::of(kProbeTime, calls_.ending()));
  };
  DROVER_TRY(const std::string version, ask("/version"));
  DROVER_RETURN_IF_ERROR(read_version(version, facts));
  DROVER_TRY(const std::string info, ask("/info"));
  DROVER_RETURN_IF_ERROR(read_info(info, facts));
  // An engine without that network has no address to tell.
  const auto bridge = ask(facts.is_podman ? "/networks/podman" : "/networks/bridge");
  return bridge ? read_bridge(*bridge, facts) : ok_status();
}

Result<EngineFacts> DockerDriver::facts() {
  {
    const MutexLock lock(mutex_);
    if (facts_) return *facts_;
  }
  EngineFacts found;
  DROVER_RETURN_IF_ERROR(probe(found));
  const MutexLock lock(mutex_);
  facts_ = found;
  was_seen_ = true;
  return found;
}

driver::FingerprintResponse DockerDriver::fingerprint() {
  driver::FingerprintResponse print;
  const auto unusable = [&](driver::FingerprintResponse::HealthState health, const char* why) {
    print.set_health(health);
    print.set_health_description(why);
    return print;
  };
  if (!running_) return unusable(driver::FingerprintResponse::UNDETECTED, "Failed to initialize docker client");
  EngineFacts found;
  const Status probed = probe(found);
  bool was_seen = false;
  {
    const MutexLock lock(mutex_);
    facts_ = probed.ok() ? std::optional(found) : std::nullopt;
    was_seen_ = was_seen_ || probed.ok();
    was_seen = was_seen_;
  }
  if (!probed.ok()) {
    log::debug("docker", "the engine does not answer", {{"error", probed.message()}});
    return unusable(was_seen ? driver::FingerprintResponse::UNHEALTHY : driver::FingerprintResponse::UNDETECTED,
                    "Failed to connect to docker daemon");
  }
  if (found.cgroup_version == 2 && ::geteuid() != 0)
    return unusable(driver::FingerprintResponse::UNDETECTED, "Driver must run as root");
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) (*print.mutable_attributes())[std::string("driver.docker") + name].set_string_val(value);
  };
  set("", "1");
  set(".version", found.version);
  set(".bridge_ip", found.bridge_ip);
  set(".runtimes", joined(found.runtimes));
  set(".os_type", found.os_type);
  set(".privileged.enabled", options_.allows_privileged ? "true" : "");
  set(".volumes.enabled", options_.has_volumes ? "true" : "");
  set(".pids.limit", options_.pids_limit > 0 ? std::to_string(options_.pids_limit) : "");
  print.set_health(driver::FingerprintResponse::HEALTHY);
  print.set_health_description("Healthy");
  return print;
}

Result<std::string> DockerDriver::encode_config(std::string_view config_json) {
  DROVER_TRY(const hcl::Value written, hcl::from_json(config_json));
  DROVER_TRY(const hcl::Value config, hclspec::decode(container_schema(), written));
  std::string bytes = hclspec::to_msgpack(config);
  DROVER_RETURN_IF_ERROR(read_container_options(bytes).status());
  return bytes;
}

std::string DockerDriver::position_file(const std::string& container) const {
  return state_folder_.empty() ? std::string() : state_folder_ + "/" + container + ".log";
}

// The node that this driver works for: said by each task, and kept, so that after a restart without any task what is
// left over is still known as the node's own.
std::string DockerDriver::node_of(const driver::TaskConfig* config) {
  const std::string file = state_folder_.empty() ? std::string() : state_folder_ + "/node";
  {
    const MutexLock lock(mutex_);
    if (!node_.empty() && (!config || config->node_id() == node_)) return node_;
    if (config) node_ = config->node_id();
  }
  if (config) {
    if (!file.empty() && Uuid::parse(config->node_id())) std::ofstream(file) << config->node_id();
    return config->node_id();
  }
  std::string kept;
  if (!file.empty()) std::ifstream(file) >> kept;
  if (!Uuid::parse(kept)) return {};
  const MutexLock lock(mutex_);
  if (node_.empty()) node_ = kept;
  return node_;
}

}  // namespace drover::docker
