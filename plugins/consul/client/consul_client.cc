#include "client/consul_client.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "client/json_fields.h"
#include "drover/base64.h"
#include "drover/printable.h"

namespace drover::consul {
namespace {

using Json = nlohmann::json;

constexpr auto kWatchTime = std::chrono::seconds(60);     // that Consul is asked to hold a question
constexpr auto kWatchMargin = std::chrono::seconds(15);   // Consul adds up to a sixteenth, and the way takes time
constexpr size_t kMaxAnswer = 64 << 20;
constexpr size_t kMaxErrorText = 300;

Result<Json> parsed_object(const std::string& body) {
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return unavailable("Consul's answer is no JSON object");
  return json;
}

KnownService service_of(const std::string& id, const Json& json) {
  KnownService out{.id = id,
                   .name = text_in(json, "Service"),
                   .kind = text_in(json, "Kind"),
                   .address = text_in(json, "Address"),
                   .port = integer_in(json, "Port")};
  for (const Json& tag : list_in(json, "Tags")) {
    if (tag.is_string()) out.tags.push_back(tag.get<std::string>());
  }
  out.meta = texts_in(object_in(json, "Meta"));
  for (const auto& [name, at] : object_in(json, "TaggedAddresses").items()) {
    if (!at.is_object()) continue;
    out.tagged_addresses[name] = {.address = text_in(at, "Address"), .port = integer_in(at, "Port")};
  }
  out.has_tag_override = boolean_in(json, "EnableTagOverride");
  out.passing_weight = integer_in(object_in(json, "Weights"), "Passing", 1);
  out.warning_weight = integer_in(object_in(json, "Weights"), "Warning", 1);
  return out;
}

// "+ent" in the version says which Consul it is.
AgentSelf self_of(const Json& json) {
  const Json& config = object_in(json, "Config");
  const Json& tags = object_in(object_in(json, "Member"), "Tags");
  const Json& debug = object_in(json, "DebugConfig");
  AgentSelf out{.name = text_in(config, "NodeName"),
                .datacenter = text_in(config, "Datacenter"),
                .version = text_in(config, "Version"),
                .revision = text_in(config, "Revision"),
                .segment = text_in(tags, "segment")};
  const std::string build = text_in(tags, "build");
  if (out.version.empty()) out.version = build.substr(0, build.find(':'));
  out.is_enterprise = out.version.find("+ent") != std::string::npos || build.find("+ent") != std::string::npos;
  out.is_server = boolean_in(config, "Server");
  out.has_connect = boolean_in(debug, "ConnectEnabled");
  const int tls_port = integer_in(debug, "GRPCTLSPort", -1);
  out.grpc_port = integer_in(debug, "GRPCPort", -1);
  if (out.grpc_port <= 0) out.grpc_port = tls_port > 0 ? tls_port : -1;
  return out;
}

Status refusal(const http_client::Answer& answer) {
  const std::string why = "Unexpected response code: " + std::to_string(answer.status) + " (" +
                          printable(answer.body.substr(0, kMaxErrorText)) + ")";
  if (answer.status == 404) return not_found(why);
  if (answer.status == 401 || answer.status == 403) return permission_denied(why);
  if (answer.status == 429 || answer.status >= 500) return unavailable(why);
  return invalid_argument(why);
}

}  // namespace

Result<http_client::Answer> ConsulClient::exchange(const char* method, const std::string& path, const std::string& body,
                                                   const std::string& token, std::chrono::milliseconds limit,
                                                   std::stop_token stop) const {
  http_client::Request request{.url = endpoint_.origin + path, .method = method, .body = body};
  if (!endpoint_.name_space.empty()) {
    const char* mark = path.find('?') == std::string::npos ? "?" : "&";
    request.url += mark + ("ns=" + http_client::encoded(endpoint_.name_space));
  }
  const std::string& as = token.empty() ? endpoint_.token : token;
  if (!as.empty()) request.headers.emplace_back("X-Consul-Token", as);
  if (!endpoint_.auth.empty()) request.headers.emplace_back("Authorization", "Basic " + base64_encode(endpoint_.auth));
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  request.unix_socket = endpoint_.unix_socket;
  request.tls = endpoint_.tls;
  request.time_limit = limit;
  request.max_answer = kMaxAnswer;
  return http_client::exchange(request, std::move(stop));
}

Result<std::string> ConsulClient::call(const char* method, const std::string& path, const std::string& body,
                                       const std::string& token, std::stop_token stop) const {
  DROVER_TRY(http_client::Answer answer, exchange(method, path, body, token, endpoint_.timeout, std::move(stop)));
  if (answer.status != 200) return refusal(answer);
  return std::move(answer.body);
}

Result<Watched> ConsulClient::watch(const std::string& path, uint64_t index, const std::string& token,
                                    std::stop_token stop) const {
  std::string full = path;
  if (index > 0) {
    full += (path.find('?') == std::string::npos ? "?" : "&") + ("index=" + std::to_string(index)) +
            "&wait=" + std::to_string(std::chrono::milliseconds(kWatchTime).count()) + "ms";
  }
  const auto limit = index > 0 ? std::chrono::milliseconds(kWatchTime + kWatchMargin) : endpoint_.timeout;
  DROVER_TRY(http_client::Answer answer, exchange("GET", full, "", token, limit, std::move(stop)));
  if (answer.status != 200 && answer.status != 404) return refusal(answer);
  Watched out{.body = std::move(answer.body), .is_there = answer.status == 200};
  const std::string& said = answer.headers["x-consul-index"];
  std::from_chars(said.data(), said.data() + said.size(), out.index);
  out.index = std::max<uint64_t>(out.index, 1);
  return out;
}

ConsulClient ConsulClient::in(const std::string& name_space) const {
  Endpoint there = endpoint_;
  const bool is_this = name_space.empty() || (name_space == kDefaultNamespace && there.name_space.empty());
  if (!is_this) there.name_space = name_space;
  return ConsulClient(std::move(there));
}

Result<std::vector<std::string>> ConsulClient::namespaces(std::stop_token stop) const {
  DROVER_TRY(const AgentSelf agent, self(stop));
  std::vector<std::string> out;
  if (!agent.is_enterprise) return out;
  DROVER_TRY(const std::string body, call("GET", "/v1/namespaces", "", "", std::move(stop)));
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_array()) return unavailable("Consul's answer about its namespaces is no JSON array");
  for (const Json& each : json) {
    if (std::string name = text_in(each, "Name"); !name.empty()) out.push_back(in(name).endpoint_.name_space);
  }
  return out;
}

Result<AgentSelf> ConsulClient::self(std::stop_token stop) const {
  DROVER_TRY(const std::string body, call("GET", "/v1/agent/self", "", "", std::move(stop)));
  DROVER_TRY(const Json json, parsed_object(body));
  return self_of(json);
}

Result<std::map<std::string, KnownService>> ConsulClient::services(std::stop_token stop) const {
  DROVER_TRY(const std::string body, call("GET", "/v1/agent/services", "", "", std::move(stop)));
  DROVER_TRY(const Json json, parsed_object(body));
  std::map<std::string, KnownService> out;
  for (const auto& [id, row] : json.items()) {
    if (row.is_object()) out.emplace(id, service_of(id, row));
  }
  return out;
}

Result<std::map<std::string, KnownCheck>> ConsulClient::checks(std::stop_token stop) const {
  DROVER_TRY(const std::string body, call("GET", "/v1/agent/checks", "", "", std::move(stop)));
  DROVER_TRY(const Json json, parsed_object(body));
  std::map<std::string, KnownCheck> out;
  for (const auto& [id, row] : json.items()) {
    if (!row.is_object()) continue;
    out.emplace(id, KnownCheck{.id = id,
                               .name = text_in(row, "Name"),
                               .service_id = text_in(row, "ServiceID"),
                               .status = text_in(row, "Status"),
                               .output = text_in(row, "Output"),
                               .name_space = endpoint_.name_space});
  }
  return out;
}

Status ConsulClient::register_service(const std::string& body, std::stop_token stop) const {
  return call("PUT", "/v1/agent/service/register", body, "", std::move(stop)).status();
}
Status ConsulClient::deregister_service(const std::string& id, std::stop_token stop) const {
  return call("PUT", "/v1/agent/service/deregister/" + http_client::encoded(id), "", "", std::move(stop)).status();
}
Status ConsulClient::register_check(const std::string& body, std::stop_token stop) const {
  return call("PUT", "/v1/agent/check/register", body, "", std::move(stop)).status();
}
Status ConsulClient::deregister_check(const std::string& id, std::stop_token stop) const {
  return call("PUT", "/v1/agent/check/deregister/" + http_client::encoded(id), "", "", std::move(stop)).status();
}
Status ConsulClient::update_check(const std::string& id, std::string_view status, std::string_view output,
                                  std::stop_token stop) const {
  const Json body = {{"Status", status}, {"Output", output}};
  return call("PUT", "/v1/agent/check/update/" + http_client::encoded(id),
              body.dump(-1, ' ', false, Json::error_handler_t::replace), "", std::move(stop))
      .status();
}

}  // namespace drover::consul
