// Defaults of services, their checks and the service mesh.
#include "canonical_parts.h"

namespace drover::jobs {
namespace {

// A value that holds a variable itself is left for the node, or filling in defaults twice would differ from once.
void replace_all(std::string& text, std::string_view from, const std::string& to) {
  if (to.find("${") != std::string::npos) return;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

void check_defaults(Side side, const v1::Service& service, v1::ServiceCheck& check) {
  DROVER_DEFAULT_TEXT(check, on_update, service.on_update());
  if (side == Side::server) DROVER_DEFAULT_TEXT(check, name, "service: \"" + service.name() + "\" check");
  if (side == Side::server && check.type() == "http") {
    DROVER_DEFAULT_TEXT(check, protocol, "http");
    DROVER_DEFAULT_TEXT(check, method, "GET");
  }
  if (service.has_check_restart()) {  // what the check does not set; it cannot take ignore_warnings back
    v1::CheckRestart restart = service.check_restart();
    restart.MergeFrom(check.check_restart());
    *check.mutable_check_restart() = restart;
  }
  if (check.has_check_restart()) DROVER_DEFAULT(*check.mutable_check_restart(), grace, ns(1s));
}

// Takes in the older names of its parts.
void proxy_defaults(v1::Proxy& proxy) {
  if (proxy.has_expose_config() && !proxy.has_expose()) *proxy.mutable_expose() = proxy.expose_config();
  proxy.clear_expose_config();
  if (proxy.has_expose()) {
    v1::Expose& expose = *proxy.mutable_expose();
    if (expose.paths().empty()) *expose.mutable_paths() = expose.path();
    expose.clear_path();
  }
  for (v1::Upstream& upstream : *proxy.mutable_upstreams()) {
    if (upstream.local_bind_socket_path().empty()) DROVER_DEFAULT_TEXT(upstream, local_bind_address, "127.0.0.1");
  }
}

void connect_defaults(Side side, v1::Connect& connect) {
  if (side == Side::server && connect.sidecar_service().has_proxy()) {
    proxy_defaults(*connect.mutable_sidecar_service()->mutable_proxy());
  }
  if (!connect.has_gateway()) return;
  v1::Gateway& gateway = *connect.mutable_gateway();
  if (side == Side::server || gateway.has_proxy()) {
    DROVER_DEFAULT(*gateway.mutable_proxy(), connect_timeout, ns(5s));
  }
  for (auto& [name, address] : *gateway.mutable_proxy()->mutable_envoy_gateway_bind_addresses()) {
    DROVER_DEFAULT_TEXT(address, name, name);
  }
  if (!gateway.has_ingress()) return;
  for (v1::IngressListener& listener : *gateway.mutable_ingress()->mutable_listeners()) {
    DROVER_DEFAULT_TEXT(listener, protocol, "tcp");
  }
}

}  // namespace

void service_defaults(Side side, const v1::Job& job, const v1::TaskGroup& group, const v1::Task* task,
                      v1::Service& service) {
  const std::string base = job.name() + "-" + group.name() + (task ? "-" + task->name() : "");
  DROVER_DEFAULT_TEXT(service, name, base);
  DROVER_DEFAULT_TEXT(service, provider, "consul");
  DROVER_DEFAULT_TEXT(service, address_mode, "auto");
  DROVER_DEFAULT_TEXT(service, on_update, "require_healthy");
  if (side == Side::server) {
    std::string name = service.name();
    replace_all(name, "${BASE}", task ? base : base + "-group");
    replace_all(name, "${JOB}", job.name());
    replace_all(name, "${TASKGROUP}", group.name());
    if (task) replace_all(name, "${TASK}", task->name());
    service.set_name(name);
    if (service.provider() == "consul") DROVER_DEFAULT_TEXT(service, cluster, "default");
    DROVER_DEFAULT_TEXT(service, namespace_, job.namespace_());
    if (task) DROVER_DEFAULT_TEXT(service, task_name, task->name());
    if (service.has_check_restart()) DROVER_DEFAULT(*service.mutable_check_restart(), grace, ns(1s));
  }
  for (v1::ServiceCheck& check : *service.mutable_checks()) check_defaults(side, service, check);
  if (service.has_connect()) connect_defaults(side, *service.mutable_connect());
}

}  // namespace drover::jobs
