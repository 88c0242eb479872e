#include "node/own_services.h"

#include <pthread.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/plugin.h"
#include "drover/sha256.h"

namespace drover::consul {
namespace {

using Json = nlohmann::json;

struct Place {
  std::string host;
  int port = 0;
};

// "host:port", "[v6]:port".
Place place_of(const std::string& address) {
  const size_t colon = address.rfind(':');
  Place out{.host = address.substr(0, colon)};
  const char* const end = address.data() + address.size();
  if (colon != std::string::npos) std::from_chars(address.data() + colon + 1, end, out.port);
  if (out.host.starts_with('[') && out.host.ends_with(']')) out.host = out.host.substr(1, out.host.size() - 2);
  return out;
}

// Where this machine reaches what listens there.
std::string reachable(const std::string& listens) {
  Place place = place_of(listens);
  if (place.host.empty() || place.host == "0.0.0.0") place.host = "127.0.0.1";
  if (place.host == "::") place.host = "::1";
  const bool is_v6 = place.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

struct Door {
  const char* tag;
  std::string advertised;
  std::string listens;  // as far as it is known, else as it is advertised
  std::string check;  // its name
};

class Describer {
 public:
  Describer(const ApiAccess& api, const Config& config) : api_(api), config_(config) {}

  WantedService service(const char* role, const std::string& name, const Door& door) const {
    const Place place = place_of(door.advertised);
    WantedService out;
    KnownService& service = out.service;
    service.id = std::string("_nomad-") + role + "-" + digest(std::string(role) + name + door.tag + door.advertised);
    service.name = name;
    service.address = place.host;
    service.port = place.port;
    service.tags = {door.tag};
    service.tags.insert(service.tags.end(), config_.tags.begin(), config_.tags.end());
    service.meta["external-source"] = "nomad";
    add_check(role, door, out);
    return out;
  }

 private:
  static std::string digest(const std::string& text) { return to_hex(sha256(text).substr(0, 20)); }

  void add_check(const char* role, const Door& door, WantedService& out) const {
    const bool is_http = std::string_view(door.tag) == "http";
    if (is_http && api_.wants_certificates) return;
    const std::string at = config_.checks_use_advertise ? door.advertised : reachable(door.listens);
    const std::string id = std::string(kCheckPrefix) + digest(out.service.id + door.check + at);
    Json body = {{"ID", id},           {"Name", door.check},   {"ServiceID", out.service.id},
                 {"Interval", "10s"}, {"Timeout", is_http ? "5s" : "2s"}};
    if (is_http) {
      body["HTTP"] = (api_.has_tls ? "https://" : "http://") + at + "/v1/agent/health?type=" + role;
      body["Method"] = "GET";
      if (api_.has_tls) body["TLSSkipVerify"] = true;
    } else {
      body["TCP"] = at;
    }
    out.checks[id] = {.body = body.dump()};
  }

  const ApiAccess& api_;
  const Config& config_;
};

}  // namespace

std::vector<WantedService> own_services(const AgentInfo& agent, const ApiAccess& api, const Config& config) {
  const Describer describe(api, config);
  std::vector<WantedService> out;
  if (agent.server) {
    const Door doors[] = {{"http", agent.advertise_http, agent.http_address, config.server_http_check},
                          {"rpc", agent.advertise_rpc, agent.advertise_rpc, config.server_rpc_check},
                          {"serf", agent.advertise_serf, agent.serf_address, config.server_serf_check}};
    for (const Door& door : doors) out.push_back(describe.service("server", config.server_service, door));
  }
  if (agent.client) {
    out.push_back(describe.service("client", config.client_service,
                                   {"http", agent.advertise_http, agent.http_address, config.client_http_check}));
  }
  return out;
}

void OwnServices::start(const ConsulClient& client, std::vector<WantedService> services) {
  client_ = &client;
  for (WantedService& each : services) wanted_.services[each.service.id] = std::move(each);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void OwnServices::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  const SteadyTime end = SystemClock().steady() + kGoodbye;
  for (const auto& [id, service] : wanted_.services) {
    if (SystemClock().steady() > end) return;
    const Status status = client_->deregister_service(id, {});
    if (!status.ok()) log::debug("consul", "this agent stays in Consul", {{"error", status.message()}});
    if (status.code() == Code::unavailable) return;
  }
}

Status OwnServices::register_all(const std::stop_token& stop) const {
  Known known;
  DROVER_TRY(known.services, client_->services(stop));
  DROVER_TRY(known.checks, client_->checks(stop));
  for (const Operation& operation : plan(wanted_, known, {})) {
    switch (operation.kind) {
      case Operation::Kind::register_service:
        DROVER_RETURN_IF_ERROR(client_->register_service(operation.body, stop));
        break;
      case Operation::Kind::register_check:
        DROVER_RETURN_IF_ERROR(client_->register_check(operation.body, stop));
        break;
      case Operation::Kind::deregister_check:
        DROVER_RETURN_IF_ERROR(client_->deregister_check(operation.id, stop));
        break;
      case Operation::Kind::deregister_service:
        break;  // another agent's may look the same
    }
  }
  return ok_status();
}

void OwnServices::work(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "consul-self");
  int failures = 0;
  for (;;) {
    const Status status = register_all(stop);
    if (stop.stop_requested()) return;
    failures = status.ok() ? 0 : failures + 1;
    if (failures % 10 == 1) log::warn("consul", "this agent is not in Consul", {{"error", status.message()}});
    const auto retry = std::min<std::chrono::nanoseconds>(kRetry * failures, kEvery);
    if (!pause_for(failures == 0 ? std::chrono::nanoseconds(kEvery) : retry, stop)) return;
  }
}

}  // namespace drover::consul
