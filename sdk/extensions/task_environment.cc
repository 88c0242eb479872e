#include "drover/task_environment.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "drover/model/job.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover {
namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

std::string clean(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (!is_word(c)) c = '_';
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// IPv6 addresses take brackets in front of a port.
std::string join(const std::string& ip, int port) {
  const bool v6 = ip.find(':') != std::string::npos;
  return (v6 ? "[" + ip + "]" : ip) + ":" + std::to_string(port);
}

void add_port(Variables& out, std::string_view label, const std::string& ip, int value, int to) {
  const std::string name = clean(label);
  const int inside = to > 0 ? to : value;
  out["NOMAD_IP_" + name] = ip;
  out["NOMAD_PORT_" + name] = std::to_string(inside);
  out["NOMAD_ADDR_" + name] = join(ip, value);
  out["NOMAD_HOST_IP_" + name] = ip;
  out["NOMAD_HOST_PORT_" + name] = std::to_string(value);
  out["NOMAD_HOST_ADDR_" + name] = join(ip, value);
  out["NOMAD_ALLOC_PORT_" + name] = std::to_string(inside);
}

template <typename Function>
void each_port(const v1::NetworkResource& network, Function&& function) {
  for (const v1::Port& port : network.reserved_ports()) function(port);
  for (const v1::Port& port : network.dynamic_ports()) function(port);
}

void add_ports(Variables& out, const v1::Allocation& allocation, const std::string& task) {
  for (const auto& [name, resources] : allocation.allocated_resources().tasks()) {
    for (const v1::NetworkResource& network : resources.networks()) {
      each_port(network, [&, &name = name](const v1::Port& port) {
        if (name == task) {
          add_port(out, port.label(), network.ip(), port.value(), port.to());
          return;
        }
        const std::string suffix = clean(name) + "_" + clean(port.label());
        out["NOMAD_IP_" + suffix] = network.ip();
        out["NOMAD_PORT_" + suffix] = std::to_string(port.value());
        out["NOMAD_ADDR_" + suffix] = join(network.ip(), port.value());
      });
    }
  }
  const v1::AllocatedSharedResources& shared = allocation.allocated_resources().shared();
  for (const v1::NetworkResource& network : shared.networks()) {
    each_port(network,
              [&](const v1::Port& port) { add_port(out, port.label(), network.ip(), port.value(), port.to()); });
  }
  for (const v1::PortMapping& port : shared.ports())
    add_port(out, port.label(), port.host_ip(), port.value(), port.to());
}

// The ports inside of the network that the allocation's tasks share.
void add_shared_network(Variables& out, const v1::Allocation& allocation, const v1::NetworkStatus& network) {
  if (network.address().empty()) return;
  for (const v1::PortMapping& port : allocation.allocated_resources().shared().ports()) {
    const std::string name = clean(port.label());
    const int inside = port.to() > 0 ? port.to() : port.value();
    out["NOMAD_ALLOC_INTERFACE_" + name] = network.interface_name();
    out["NOMAD_ALLOC_IP_" + name] = network.address();
    out["NOMAD_ALLOC_ADDR_" + name] = join(network.address(), inside);
  }
}

void add_limits(Variables& out, const v1::Allocation& allocation, const std::string& task) {
  auto at = allocation.allocated_resources().tasks().find(task);
  if (at == allocation.allocated_resources().tasks().end()) return;
  out["NOMAD_CPU_LIMIT"] = std::to_string(at->second.cpu().cpu_shares());
  out["NOMAD_MEMORY_LIMIT"] = std::to_string(at->second.memory().memory_mb());
  if (at->second.memory().memory_max_mb() > 0) {
    out["NOMAD_MEMORY_MAX_LIMIT"] = std::to_string(at->second.memory().memory_max_mb());
  }
  std::string cores;
  for (uint32_t core : at->second.cpu().reserved_cores()) cores += (cores.empty() ? "" : ",") + std::to_string(core);
  if (!cores.empty()) out["NOMAD_CPU_CORES"] = cores;
}

template <typename Map>
void add_meta(Variables& out, const Map& meta, const Variables& node) {
  for (const auto& [key, text] : meta) {
    const std::string name = clean(key);
    const std::string value = interpolate(text, out, node);
    out["NOMAD_META_" + name] = value;
    out["NOMAD_META_" + upper(name)] = value;
  }
}

std::optional<std::string> resolve(std::string_view reference, const Variables& environment, const Variables& node) {
  while (!reference.empty() && reference.front() == ' ') reference.remove_prefix(1);
  while (!reference.empty() && reference.back() == ' ') reference.remove_suffix(1);
  if (reference.starts_with("env[\"") && reference.ends_with("\"]")) {
    reference = reference.substr(5, reference.size() - 7);
    auto at = environment.find(reference);
    return at == environment.end() ? std::nullopt : std::optional(at->second);
  }
  if (auto at = environment.find(reference); at != environment.end()) return at->second;
  if (auto at = node.find(reference); at != node.end()) return at->second;
  return std::nullopt;
}

void interpolate_strings(nlohmann::json& value, const Variables& environment, const Variables& node) {
  if (value.is_string()) {
    value = interpolate(value.get_ref<const std::string&>(), environment, node);
  } else if (value.is_structured()) {
    for (nlohmann::json& inner : value) interpolate_strings(inner, environment, node);
  }
}

}  // namespace

std::string interpolate(std::string_view from, const Variables& environment, const Variables& node) {
  std::string out;
  size_t at = 0;
  while (at < from.size()) {
    const size_t open = from.find("${", at);
    const size_t close = open == std::string_view::npos ? open : from.find('}', open);
    if (close == std::string_view::npos) break;
    out += from.substr(at, open - at);
    if (auto value = resolve(from.substr(open + 2, close - open - 2), environment, node)) {
      out += *value;
    } else {
      out += from.substr(open, close + 1 - open);
    }
    at = close + 1;
  }
  out += from.substr(std::min(at, from.size()));
  return out;
}

uint32_t alloc_index(std::string_view alloc_name) {
  const size_t open = alloc_name.rfind('[');
  if (open == std::string_view::npos) return 0;
  uint32_t index = 0;
  std::from_chars(alloc_name.data() + open + 1, alloc_name.data() + alloc_name.size(), index);
  return index;
}

Variables task_environment(const EnvironmentInput& input) {
  const v1::Allocation& allocation = input.allocation;
  const std::string id = Uuid::from_bytes(allocation.id()).to_string();
  Variables out{{"NOMAD_ALLOC_DIR", input.paths.alloc_dir},
                {"NOMAD_TASK_DIR", input.paths.task_dir},
                {"NOMAD_SECRETS_DIR", input.paths.secrets_dir},
                {"NOMAD_ALLOC_ID", id},
                {"NOMAD_SHORT_ALLOC_ID", id.substr(0, 8)},
                {"NOMAD_ALLOC_NAME", allocation.name()},
                {"NOMAD_ALLOC_INDEX", std::to_string(alloc_index(allocation.name()))},
                {"NOMAD_TASK_NAME", input.task.name()},
                {"NOMAD_GROUP_NAME", allocation.task_group()},
                {"NOMAD_JOB_ID", input.job.id()},
                {"NOMAD_JOB_NAME", input.job.name()},
                {"NOMAD_DC", input.datacenter},
                {"NOMAD_REGION", input.region},
                {"NOMAD_NAMESPACE", allocation.namespace_()}};
  if (!input.job.parent_id().empty()) out["NOMAD_JOB_PARENT_ID"] = input.job.parent_id();
  add_limits(out, allocation, input.task.name());
  add_ports(out, allocation, input.task.name());
  if (input.network) add_shared_network(out, allocation, *input.network);
  add_meta(out, input.job.meta(), input.node);
  if (const v1::TaskGroup* group = find_group(input.job, allocation.task_group()))
    add_meta(out, group->meta(), input.node);
  add_meta(out, input.task.meta(), input.node);
  if (input.host) out.insert(input.host->begin(), input.host->end());
  const Variables before = out;
  for (const auto& [name, value] : input.task.env()) {
    out[interpolate(name, before, input.node)] = interpolate(value, before, input.node);
  }
  return out;
}

Variables node_variables(const v1::Node& node, std::string_view region) {
  Variables out{{"node.unique.id", Uuid::from_bytes(node.id()).to_string()},
                {"node.unique.name", node.name()},
                {"node.datacenter", node.datacenter()},
                {"node.region", std::string(region)},
                {"node.class", node.node_class()}};
  for (const auto& [key, value] : node.attributes()) out["attr." + key] = value;
  for (const auto& [key, value] : node.meta()) out["meta." + key] = value;
  return out;
}

Result<std::string> driver_config(std::string_view json, const Variables& environment, const Variables& node) {
  nlohmann::json value = json.empty() ? nlohmann::json::object() : nlohmann::json::parse(json, nullptr, false);
  if (value.is_null()) value = nlohmann::json::object();
  if (value.is_discarded() || !value.is_object()) return invalid_argument("the task's config is not a JSON object");
  interpolate_strings(value, environment, node);
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Variables host_environment(const char* const* environment, const std::vector<std::string>& denied) {
  Variables out;
  for (; environment && *environment; ++environment) {
    const std::string_view line(*environment);
    const size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    std::string name(line.substr(0, equals));
    if (std::ranges::find(denied, name) == denied.end()) out[std::move(name)] = std::string(line.substr(equals + 1));
  }
  return out;
}

}  // namespace drover
