#include "engine/answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/time.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

const Json& at(const Json& json, const char* name) {
  static const Json kNothing;
  if (!json.is_object()) return kNothing;
  const auto member = json.find(name);
  return member == json.end() ? kNothing : *member;
}

std::string text_at(const Json& json, const char* name) {
  const Json& value = at(json, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<uint64_t> unsigned_at(const Json& json, const char* name) {
  const Json& value = at(json, name);
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer()) return 0;  // a negative one
  if (value.is_number_float() && value.get<double>() >= 0 && value.get<double>() < 1e18)
    return static_cast<uint64_t>(value.get<double>());
  return std::nullopt;
}

int64_t integer_at(const Json& json, const char* name) {
  const Json& value = at(json, name);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

int int_at(const Json& json, const char* name) {
  return static_cast<int>(std::clamp<int64_t>(integer_at(json, name), INT32_MIN, INT32_MAX));
}

bool bool_at(const Json& json, const char* name) {
  const Json& value = at(json, name);
  return value.is_boolean() && value.get<bool>();
}

std::map<std::string, std::string> texts_at(const Json& json, const char* name) {
  std::map<std::string, std::string> out;
  const Json& members = at(json, name);
  if (!members.is_object()) return out;
  for (const auto& [key, value] : members.items()) {
    if (value.is_string()) out[key] = value.get<std::string>();
  }
  return out;
}

Result<Json> object(std::string_view text, std::string_view what) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return json;
  return data_loss("the engine's answer about " + std::string(what) + " cannot be read");
}

std::string without_slash(std::string name) {
  if (name.starts_with('/')) name.erase(0, 1);
  return name;
}

void read_networks(const Json& settings, Container& container) {
  container.sandbox = text_at(settings, "SandboxKey");
  const Json& networks = at(settings, "Networks");
  if (!networks.is_object()) return;
  for (const auto& [name, network] : networks.items()) {
    const std::string ip = text_at(network, "IPAddress"), ipv6 = text_at(network, "GlobalIPv6Address");
    if (ip.empty() && ipv6.empty()) continue;
    container.ip = ip;
    container.ipv6 = ipv6;
    container.network = name;
    return;
  }
}

}  // namespace

std::optional<int64_t> read_time(std::string_view text) {
  if (text.starts_with("0001-")) return 0;
  auto time = parse_time(text);
  return time ? std::optional(*time) : std::nullopt;
}

Result<Container> read_container(std::string_view text) {
  DROVER_TRY(const Json json, object(text, "a container"));
  Container out;
  out.id = text_at(json, "Id");
  if (out.id.empty()) return data_loss("the engine's answer about a container has no Id");
  out.name = without_slash(text_at(json, "Name"));
  out.image_id = text_at(json, "Image");
  const Json& state = at(json, "State");
  out.is_running = bool_at(state, "Running");
  out.pid = int_at(state, "Pid");
  out.exit_code = int_at(state, "ExitCode");
  out.oom_killed = bool_at(state, "OOMKilled");
  out.error = text_at(state, "Error");
  out.started = text_at(state, "StartedAt");
  out.started_ns = read_time(out.started).value_or(0);
  out.finished_ns = read_time(text_at(state, "FinishedAt")).value_or(0);
  const Json& config = at(json, "Config");
  out.has_tty = bool_at(config, "Tty");
  const Json& signal = at(config, "StopSignal");
  out.stop_signal = signal.is_number_integer() ? std::to_string(signal.get<int>()) : text_at(config, "StopSignal");
  out.labels = texts_at(config, "Labels");
  out.log_driver = text_at(at(at(json, "HostConfig"), "LogConfig"), "Type");
  out.cpuset_cpus = text_at(at(json, "HostConfig"), "CpusetCpus");
  read_networks(at(json, "NetworkSettings"), out);
  return out;
}

Result<std::vector<ListedContainer>> read_containers(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_array()) return data_loss("the engine's list of containers cannot be read");
  std::vector<ListedContainer> out;
  for (const Json& one : json) {
    ListedContainer container{.id = text_at(one, "Id"), .name = {}, .labels = texts_at(one, "Labels")};
    if (container.id.empty()) return data_loss("the engine's list of containers has one without an Id");
    const Json& names = at(one, "Names");
    if (names.is_array() && !names.empty() && names[0].is_string())
      container.name = without_slash(names[0].get<std::string>());
    container.is_running = text_at(one, "State") == "running";
    container.created_s = integer_at(one, "Created");
    out.push_back(std::move(container));
  }
  return out;
}

Status read_version(std::string_view text, EngineFacts& facts) {
  DROVER_TRY(const Json json, object(text, "its version"));
  facts.version = text_at(json, "Version");
  facts.os_type = text_at(json, "Os");
  const Json& components = at(json, "Components");
  if (components.is_array()) {
    facts.is_podman = std::ranges::any_of(
        components, [](const Json& one) { return text_at(one, "Name").find("Podman") != std::string::npos; });
  }
  return ok_status();
}

Status read_info(std::string_view text, EngineFacts& facts) {
  DROVER_TRY(const Json json, object(text, "itself"));
  if (const std::string os = text_at(json, "OSType"); !os.empty()) facts.os_type = os;
  facts.cgroup_version = text_at(json, "CgroupVersion") == "2" ? 2 : 1;
  facts.runtimes.clear();
  const Json& runtimes = at(json, "Runtimes");
  if (runtimes.is_object()) {
    for (const auto& [name, value] : runtimes.items()) facts.runtimes.push_back(name);
  }
  std::ranges::sort(facts.runtimes);
  return ok_status();
}

Status read_bridge(std::string_view text, EngineFacts& facts) {
  DROVER_TRY(const Json json, object(text, "its network"));
  facts.bridge_ip.clear();
  const Json& ranges = at(at(json, "IPAM"), "Config");
  if (!ranges.is_array()) return ok_status();
  for (const Json& range : ranges) {
    if (facts.bridge_ip.empty()) facts.bridge_ip = text_at(range, "Gateway");
  }
  return ok_status();
}

Result<std::string> read_text(std::string_view text, const char* member, std::string_view what) {
  DROVER_TRY(const Json json, object(text, what));
  std::string out = text_at(json, member);
  if (out.empty()) return data_loss("the engine's answer about " + std::string(what) + " has no " + member);
  return out;
}

Result<Image> read_image(std::string_view text) {
  DROVER_TRY(const Json json, object(text, "an image"));
  Image out{.id = text_at(json, "Id"), .work_dir = text_at(at(json, "Config"), "WorkingDir")};
  if (out.id.empty()) return data_loss("the engine's answer about an image has no Id");
  return out;
}

Result<ExecState> read_exec(std::string_view text) {
  DROVER_TRY(const Json json, object(text, "a command"));
  ExecState out{.is_running = bool_at(json, "Running"), .pid = int_at(json, "Pid"), .exit_code = {}};
  if (at(json, "ExitCode").is_number_integer()) out.exit_code = int_at(json, "ExitCode");
  return out;
}

Result<Sample> read_sample(std::string_view text) {
  DROVER_TRY(const Json json, object(text, "a container's use"));
  Sample out;
  const Json& cpu = at(json, "cpu_stats");
  const Json& used = at(cpu, "cpu_usage");
  out.cpu_ns = unsigned_at(used, "total_usage").value_or(0);
  out.user_ns = unsigned_at(used, "usage_in_usermode").value_or(0);
  out.system_ns = unsigned_at(used, "usage_in_kernelmode").value_or(0);
  out.machine_ns = unsigned_at(cpu, "system_cpu_usage").value_or(0);
  out.cores = int_at(cpu, "online_cpus");
  if (const Json& each = at(used, "percpu_usage"); out.cores <= 0 && each.is_array())
    out.cores = static_cast<int>(each.size());
  const Json& throttled = at(cpu, "throttling_data");
  out.throttled_periods = unsigned_at(throttled, "throttled_periods").value_or(0);
  out.throttled_ns = unsigned_at(throttled, "throttled_time").value_or(0);
  const Json& memory = at(json, "memory_stats");
  const Json& stats = at(memory, "stats");
  out.usage = unsigned_at(memory, "usage");
  out.max_usage = unsigned_at(memory, "max_usage");
  // The first form is that of control groups of version 1, the second that of version 2.
  out.rss = unsigned_at(stats, "rss");
  if (!out.rss) out.rss = unsigned_at(stats, "anon");
  out.cache = unsigned_at(stats, "cache");
  if (!out.cache) out.cache = unsigned_at(stats, "file");
  out.swap = unsigned_at(stats, "swap");
  return out;
}

}  // namespace drover::docker
