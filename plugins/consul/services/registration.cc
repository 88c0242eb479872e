#include "services/registration.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "drover/v1/service_provider.pb.h"

namespace drover::consul {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMillion = 1'000'000;
constexpr int64_t kPatienceMs = 31'000;  // past the interval, until a check that nobody tells of is critical

int64_t milliseconds(const google::protobuf::Duration& time) { return time.seconds() * 1000 + time.nanos() / kMillion; }
std::string milliseconds_text(int64_t ms) { return std::to_string(ms) + "ms"; }

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string with_port(const std::string& host, uint32_t port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// Without an address of its own it is reached at the machine itself.
std::string place_of(const v1::InstanceCheck& check) {
  return with_port(check.address().empty() ? "127.0.0.1" : check.address(), check.port());
}

void describe_http(const v1::InstanceCheck& check, Json& out) {
  const std::string protocol = check.protocol().empty() ? "http" : check.protocol();
  const std::string path = check.path().starts_with('/') ? check.path() : "/" + check.path();
  out["HTTP"] = protocol + "://" + place_of(check) + path;
  if (!check.method().empty()) out["Method"] = check.method();
  if (!check.body().empty()) out["Body"] = check.body();
  if (protocol == "https") out["TLSSkipVerify"] = check.tls_skip_verify();
  if (!check.tls_server_name().empty()) out["TLSServerName"] = check.tls_server_name();
  Json header = Json::parse(check.header(), nullptr, false);
  if (header.is_object() && !header.empty()) out["Header"] = std::move(header);
}

void describe_grpc(const v1::InstanceCheck& check, Json& out) {
  out["GRPC"] = place_of(check) + (check.grpc_service().empty() ? "" : "/" + check.grpc_service());
  out["GRPCUseTLS"] = check.grpc_use_tls();
  if (check.grpc_use_tls()) out["TLSSkipVerify"] = check.tls_skip_verify();
  if (!check.tls_server_name().empty()) out["TLSServerName"] = check.tls_server_name();
}

Json check_json(const v1::InstanceCheck& check, const std::string& service_id) {
  Json out = {{"ID", check_id(check.id())}, {"Name", check.name()}, {"ServiceID", service_id}};
  const int64_t interval = milliseconds(check.interval());
  if (consul_runs(check.type())) {
    out["Interval"] = milliseconds_text(interval);
    out["Timeout"] = milliseconds_text(milliseconds(check.timeout()));
  } else {
    out["TTL"] = milliseconds_text(interval + kPatienceMs);
  }
  if (check.type() == "http") describe_http(check, out);
  if (check.type() == "tcp") out["TCP"] = place_of(check);
  if (check.type() == "grpc") describe_grpc(check, out);
  if (!check.initial_status().empty()) out["Status"] = check.initial_status();
  if (!check.notes().empty()) out["Notes"] = check.notes();
  if (check.success_before_passing() > 0) out["SuccessBeforePassing"] = check.success_before_passing();
  if (check.failures_before_critical() > 0) out["FailuresBeforeCritical"] = check.failures_before_critical();
  if (check.failures_before_warning() > 0) out["FailuresBeforeWarning"] = check.failures_before_warning();
  return out;
}

// "host", "host:port", "[v6]:port". Without a port it is the service's.
Result<TaggedAddress> tagged_address(const std::string& text, int port) {
  const bool is_bare_v6 = !text.starts_with('[') && std::ranges::count(text, ':') > 1;
  const size_t colon = text.rfind(':');
  const bool has_port = !is_bare_v6 && colon != std::string::npos && !text.ends_with(']');
  TaggedAddress out{.address = text, .port = port};
  if (has_port) {
    out.address = text.substr(0, colon);
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + colon + 1, end, out.port);
    if (error != std::errc() || at != end || out.port < 0 || out.port > 65535)
      return invalid_argument("\"" + text + "\" has no port behind its colon");
  }
  const std::string host = out.address;
  if (host.starts_with('[') && host.ends_with(']')) out.address = host.substr(1, host.size() - 2);
  return out;
}

}  // namespace

std::string check_id(const std::string& of_instance) { return std::string(kCheckPrefix) + of_instance; }

bool consul_runs(std::string_view type) { return type == "http" || type == "tcp" || type == "grpc"; }

Result<WantedService> wanted_service(const v1::ServiceInstance& instance, const std::string& node_id) {
  WantedService out;
  KnownService& service = out.service;
  service.id = instance.id();
  service.name = instance.service();
  service.address = instance.address();
  service.port = static_cast<int>(instance.port());
  service.tags.assign(instance.tags().begin(), instance.tags().end());
  service.meta.insert(instance.meta().begin(), instance.meta().end());
  service.meta["external-source"] = "nomad";
  service.meta[kNodeMeta] = node_id;
  for (const auto& [name, text] : instance.tagged_addresses()) {
    auto at = tagged_address(text, service.port);
    if (!at) return at.status().with_context("tagged_addresses: " + name);
    service.tagged_addresses[name] = *std::move(at);
  }
  service.has_tag_override = instance.enable_tag_override();
  service.passing_weight = std::max(instance.passing_weight(), 1);
  service.warning_weight = std::max(instance.warning_weight(), 1);
  for (const v1::InstanceCheck& check : instance.checks())
    out.checks[check_id(check.id())] = {.body = dump(check_json(check, service.id))};
  return out;
}

std::string registration_of(const WantedService& wanted, const std::vector<std::string>& tags) {
  const KnownService& service = wanted.service;
  Json addresses = Json::object();
  for (const auto& [name, at] : service.tagged_addresses)
    addresses[name] = {{"Address", at.address}, {"Port", at.port}};
  Json checks = Json::array();
  for (const auto& [id, check] : wanted.checks) {
    Json embedded = Json::parse(check.body);
    embedded["CheckID"] = id;
    embedded.erase("ID");
    embedded.erase("ServiceID");
    checks.push_back(std::move(embedded));
  }
  Json body = {{"ID", service.id},
               {"Name", service.name},
               {"Tags", tags},
               {"Address", service.address},
               {"Port", service.port},
               {"Meta", service.meta},
               {"TaggedAddresses", std::move(addresses)},
               {"EnableTagOverride", service.has_tag_override},
               {"Weights", {{"Passing", service.passing_weight}, {"Warning", service.warning_weight}}},
               {"Checks", std::move(checks)}};
  return dump(body);
}

}  // namespace drover::consul
