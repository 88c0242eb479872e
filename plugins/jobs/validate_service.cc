// Rules of services, their checks and the service mesh.
#include <algorithm>
#include <chrono>
#include <set>

#include "validate_parts.h"

namespace drover::jobs {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kSecond = std::chrono::nanoseconds(1s).count();

// RFC 1123; a reference that only the node can fill in counts as a good part of it.
bool is_service_name(const std::string& name) {
  if (name.find("${") != std::string::npos) return true;
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= 63 && std::ranges::all_of(name, is_good) && name.front() != '-' &&
         name.back() != '-';
}

// Nomad's words, which people search for.
std::string for_consul(const char* field) { return std::string(field) + " may only be set for Consul service checks"; }

void check_kind(const Place& place, const v1::ServiceCheck& check, const v1::Service& service) {
  const bool needs_port = check.type() == "http" || check.type() == "tcp" || check.type() == "grpc";
  place["port"].require(!needs_port || !check.port_label().empty() || !service.port_label().empty(),
                        "port is missing, here and in the service");
  if (check.type() == "http") {
    place["path"].require(!check.path().empty(), "an http check needs a path");
    place["path"].require(check.path().find("://") == std::string::npos, "must be a path, not a whole URL");
    place["protocol"].require_one_of(check.protocol(), {"http", "https"});
    place["method"].require(check.method().find_first_of(" \t/:") == std::string::npos,
                            quoted(check.method()) + " is no HTTP method");
  }
  if (check.type() == "script") place["command"].require(!check.command().empty(), "a script check needs a command");
  place["config"].require(check.config().empty() || !is_own_check_type(check.type()),
                          "is for types of checks that plugins bring");
}

void check_times(const Place& place, const v1::ServiceCheck& check) {
  place["interval"].require(check.interval() >= kSecond,
                            "interval (" + duration_text(check.interval()) + ") cannot be lower than 1s");
  place["timeout"].require(check.timeout() >= kSecond, "timeout (" + duration_text(check.timeout()) +
                                                           ") is lower than required minimum timeout 1s");
}

void check_check(const Place& place, const v1::ServiceCheck& check, const v1::Service& service,
                 const v1::TaskGroup& group, const v1::Task* task) {
  const bool is_consul = service.provider() == "consul";
  check_kind(place, check, service);
  check_times(place, check);
  if (!check.address_mode().empty())
    place["address_mode"].require_one_of(check.address_mode(), {"alloc", "driver", "host"});
  place["address_mode"].require(check.address_mode() != "driver" || (task && is_consul),
                                "\"driver\" is for the checks of a task's services in Consul");
  if (!check.initial_status().empty()) {
    place["initial_status"].require_one_of(check.initial_status(), {"passing", "warning", "critical"});
  }
  const bool needs_task = !task && (check.type() == "script" || (check.type() == "grpc" && is_consul));
  const std::string& name = check.task_name().empty() ? service.task_name() : check.task_name();
  place["task"].require(!needs_task || !name.empty(), "a " + check.type() + " check of a group's service needs a task");
  const bool exists = std::ranges::any_of(group.tasks(), [&](const v1::Task& each) { return each.name() == name; });
  place["task"].require(name.empty() || exists, "the group has no task " + quoted(name));
  place["success_before_passing"].require(check.success_before_passing() >= 0, "must not be negative");
  place["failures_before_critical"].require(check.failures_before_critical() >= 0, "must not be negative");
  const bool can_count = is_consul && check.type() != "script";
  place["success_before_passing"].require(check.success_before_passing() <= 0 || can_count,
                                          for_consul("success_before_passing"));
  place["failures_before_critical"].require(check.failures_before_critical() <= 0 || can_count,
                                            for_consul("failures_before_critical"));
  place["failures_before_warning"].require(check.failures_before_warning() <= 0 || can_count,
                                           for_consul("failures_before_warning"));
  place["expose"].require(!check.expose() || (is_consul && (check.type() == "http" || check.type() == "grpc")),
                          for_consul("expose"));
  place["expose"].require(!check.expose() || !is_consul,
                          "is for the proxies of Consul's service mesh, which is not carried out: give the check a "
                          "port");
  place["on_update"].require_one_of(check.on_update(), {"require_healthy", "ignore_warnings", "ignore"});
  place["check_restart"].require(check.check_restart().limit() >= 0, "limit must not be negative");
  place["check_restart"]["grace"].require(check.check_restart().grace() >= 0, "must not be negative");
  if (check.on_update() == "ignore") {
    place["on_update"].require(check.check_restart().limit() == 0,
                               "on_update value \"ignore\" is not compatible with check_restart");
  }
  if (check.on_update() == "ignore_warnings") {
    place["on_update"].require(is_consul, "\"ignore_warnings\" is for checks in Consul");
    place["on_update"].require(!check.has_check_restart() || check.check_restart().ignore_warnings(),
                               "\"ignore_warnings\" needs check_restart.ignore_warnings");
  }
}

constexpr const char* kOneConsul = "a node speaks to one Consul only, which is called \"default\"";

// What Consul has and this version does not carry out.
void check_in_consul(const Place& place, const v1::Service& service) {
  place["cluster"].require(service.cluster().empty() || service.cluster() == "default", kOneConsul);
  place["identity"].require(!service.has_identity(),
                            "services are registered with the token of the agent's block \"consul\": take the block "
                            "out");
  place["connect"].require(!service.has_connect(),
                           "Consul's service mesh is not carried out: it needs Envoy beside the tasks; take the block "
                           "out, and let the tasks find each other by the service's address");
  place["kind"].require(service.kind().empty(),
                        "is for the proxies of Consul's service mesh, which is not carried out");
}

void check_gateway(const Place& place, const v1::Gateway& gateway) {
  const int kinds = gateway.has_ingress() + gateway.has_terminating() + gateway.has_mesh();
  place.require(kinds == 1, "exactly one of ingress, terminating and mesh must be there");
  const std::string& discovery = gateway.proxy().envoy_dns_discovery_type();
  if (!discovery.empty()) {
    place["proxy"]["envoy_dns_discovery_type"].require_one_of(discovery, {"STRICT_DNS", "LOGICAL_DNS"});
  }
  for (int i = 0; i < gateway.ingress().listeners_size(); ++i) {
    const v1::IngressListener& listener = gateway.ingress().listeners(i);
    const Place at = place["ingress"].item("listener", "", i);
    at["port"].require(listener.port() > 0 && listener.port() <= 65535, "must be between 1 and 65535");
    at["protocol"].require_one_of(listener.protocol(), {"tcp", "http", "http2", "grpc"});
    for (int s = 0; s < listener.services_size(); ++s) {
      const v1::IngressService& service = listener.services(s);
      const Place service_at = at.item("service", service.name(), s);
      service_at.require(!service.name().empty(), "has no name");
      service_at.require(service.name() != "*" || (listener.protocol() != "tcp" && service.hosts().empty()),
                         "the name \"*\" is for other protocols than tcp, without hosts");
    }
  }
  for (int i = 0; i < gateway.terminating().services_size(); ++i) {
    const v1::LinkedService& service = gateway.terminating().services(i);
    const Place at = place["terminating"].item("service", service.name(), i);
    at.require(!service.name().empty(), "has no name");
    const bool has_more = !service.cert_file().empty() || !service.key_file().empty() || !service.sni().empty();
    at.require(!has_more || !service.ca_file().empty(), "cert_file, key_file and sni need a ca_file");
    at.require(service.cert_file().empty() == service.key_file().empty(), "cert_file and key_file belong together");
  }
}

void check_connect(const Place& place, const v1::Service& service, const v1::TaskGroup& group, const v1::Task* task) {
  const v1::Connect& connect = service.connect();
  const int kinds = connect.native() + connect.has_sidecar_service() + connect.has_gateway();
  place.require(kinds == 1, "exactly one of native, sidecar_service and gateway must be there");
  place.require(!task, "is for the services of a group");
  place.require(service.provider() == "consul", "is for services in Consul");
  place["native"].require(!connect.native() || !service.task_name().empty(), "needs the service's task");
  const bool has_bridge = std::ranges::any_of(
      group.networks(), [](const v1::NetworkResource& network) { return network.mode() == "bridge"; });
  place.require(!connect.has_sidecar_service() || has_bridge, "a sidecar needs the group's network in mode \"bridge\"");
  if (connect.has_gateway()) check_gateway(place["gateway"], connect.gateway());
  for (int i = 0; i < connect.sidecar_service().proxy().upstreams_size(); ++i) {
    const v1::Upstream& upstream = connect.sidecar_service().proxy().upstreams(i);
    const Place at = place["sidecar_service"]["proxy"].item("upstreams", upstream.destination_name(), i);
    at["destination_name"].require(!upstream.destination_name().empty(), "destination_name is missing");
    const std::string& mode = upstream.mesh_gateway().mode();
    if (!mode.empty()) at["mesh_gateway"]["mode"].require_one_of(mode, {"local", "remote", "none"});
  }
}

}  // namespace

bool is_own_check_type(std::string_view type) {
  return type == "http" || type == "tcp" || type == "grpc" || type == "script";
}

void check_consul(const Place& place, const v1::Consul& consul) {
  place["cluster"].require(consul.cluster().empty() || consul.cluster() == "default", kOneConsul);
  place["partition"].require(consul.partition().empty(),
                             "is not carried out: services stand in the partition of the node's Consul; take it out");
}

void check_service(const Place& place, const v1::Service& service, const v1::TaskGroup& group, const v1::Task* task) {
  place["name"].require(is_service_name(service.name()),
                        quoted(service.name()) + " is no service name: letters, digits and dashes, at most 63");
  if (service.provider() == "consul") check_in_consul(place, service);
  place["address_mode"].require_one_of(service.address_mode(), {"auto", "host", "driver", "alloc"});
  place["address_mode"].require(service.address_mode() != "driver" || task, "\"driver\" is for the services of a task");
  place["address_mode"].require(service.address_mode() != "alloc" || !task, "\"alloc\" is for the services of a group");
  place["address"].require(service.address().empty() || service.address_mode() == "auto",
                           "needs address_mode \"auto\"");
  place["on_update"].require_one_of(service.on_update(), {"require_healthy", "ignore_warnings", "ignore"});
  place["enable_tag_override"].require(!service.enable_tag_override() || service.provider() == "consul",
                                       "is for services in Consul");
  place["tagged_addresses"].require(service.tagged_addresses().empty() || service.provider() == "consul",
                                    "is for services in Consul");
  std::set<std::string> names;
  for (int i = 0; i < service.checks_size(); ++i) {
    const Place at = place.item("check", service.checks(i).name(), i);
    if (task && !names.insert(service.checks(i).name()).second) at.error("is defined twice");
    check_check(at, service.checks(i), service, group, task);
  }
  if (service.has_connect()) check_connect(place["connect"], service, group, task);
}

}  // namespace drover::jobs
