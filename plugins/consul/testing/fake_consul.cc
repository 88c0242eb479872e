#include "testing/fake_consul.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/http_client.h"
#include "drover/uuid.h"
#include "sdk/testing/identity_provider/web_server.h"
#include "testing/catalog.h"

namespace drover::consul::testing {
namespace {

using drover::testing::Asked;
using drover::testing::decoded;
using drover::testing::Told;
using drover::testing::WebServer;
using Json = nlohmann::json;

constexpr auto kSlow = std::chrono::seconds(2);
constexpr auto kLongestWait = std::chrono::minutes(5);

std::string value(const Asked& asked, const char* name) {
  const auto at = asked.query.find(name);
  return at == asked.query.end() ? std::string() : at->second;
}

// Nothing where the path does not begin so.
std::optional<std::string> behind(const std::string& path, std::string_view beginning) {
  if (!path.starts_with(beginning)) return std::nullopt;
  return decoded(std::string_view(path).substr(beginning.size()));
}

std::string name_in(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  return json.is_object() ? json.value("Name", "") : "";
}

const char* kSelf = R"({"Config":{"Datacenter":"dc1","NodeName":"machine","Server":true,"Revision":"abcdef",
"NodeID":"00000000-0000-0000-0000-0000000000aa","Version":"1.15.0"},
"DebugConfig":{"ConnectEnabled":true,"GRPCPort":8502,"GRPCTLSPort":-1},
"Member":{"Name":"machine","Tags":{"build":"1.15.0:abcdef","segment":""}},
"xDS":{"SupportedProxies":{"envoy":["1.25.1"]}}})";

}  // namespace

struct FakeConsul::State {
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false;  // guarded by mutex, as what follows
  std::map<std::string, Catalog> catalogs;  // by namespace
  std::vector<std::string> namespaces;      // empty: it is not Consul Enterprise
  Json trouble = Json::object();
  std::vector<std::string> calls;
  bool asks_tokens = false;
  std::map<std::string, std::string> tokens;  // secret → the token it was given for
  std::unique_ptr<WebServer> server;          // last: its threads use the others

  std::string trouble_with(const std::string& call) const {
    for (const auto& [beginning, what] : trouble.items()) {
      if (call.starts_with(beginning)) return what.get<std::string>();
    }
    return {};
  }

  Told answer(const Asked& asked) {
    const std::string call = asked.method + " " + asked.path;
    std::unique_lock lock(mutex);
    if (asked.path == "/control") return control(asked.body), changed.notify_all(), Told{.body = "{}"};
    if (asked.path == "/control/calls") return {.body = text_of_calls(), .type = "text/plain"};
    calls.push_back(asked.path == "/v1/agent/service/register" ? call + " " + name_in(asked.body) : call);
    const std::string what = trouble_with(call);
    if (what == "500") return {.status = 500, .body = "out of order"};
    if (what == "403") return {.status = 403, .body = "Permission denied"};
    if (what == "silence") return {.is_silent = true};
    if (what == "slow") changed.wait_for(lock, kSlow, [this] { return has_ended; });
    if (asked.query.contains("ns") && namespaces.empty()) {
      return {.status = 400, .body = "Invalid query parameter: \"ns\" - Namespaces are a Consul Enterprise feature"};
    }
    if (const auto refused = check_token(asked)) return *refused;
    if (asked.method == "GET") return ask(asked, lock);
    Said said = change(asked);
    changed.notify_all();
    return {.status = said.status, .body = std::move(said.body)};
  }

  Catalog& catalog_for(const Asked& asked) {
    const std::string name = value(asked, "ns");
    return catalogs[name.empty() ? "default" : name];
  }

  std::string text_of_calls() const {
    std::string out;
    for (const std::string& each : calls) out += each + "\n";
    return out;
  }

  std::optional<Told> check_token(const Asked& asked) const {
    const auto at = asked.headers.find("x-consul-token");
    const bool is_login = asked.path == "/v1/acl/login" || asked.path.starts_with("/v1/agent/");
    if (!asks_tokens || is_login || (at != asked.headers.end() && tokens.contains(at->second))) return std::nullopt;
    return Told{.status = 403, .body = "ACL not found"};
  }

  void control(const std::string& body) {
    const Json json = Json::parse(body);
    if (json.contains("namespaces")) namespaces = json["namespaces"].get<std::vector<std::string>>();
    if (json.value("lose", false)) tokens.clear();
    for (auto& [name, catalog] : catalogs) {
      if (json.value("lose", false)) catalog.lose();
      if (json.contains("check"))
        catalog.set_checks(json["check"].get<std::string>(), json.value("status", ""), json.value("output", ""));
      if (json.contains("edit")) catalog.edit_tags(json["edit"].get<std::string>(), json["tags"].dump());
      if (json.value("expire", false)) catalog.expire();
    }
    if (json.contains("trouble")) trouble = json["trouble"];
    if (json.contains("tokens")) asks_tokens = json["tokens"].get<bool>();
    if (json.value("forget_tokens", false)) tokens.clear();
  }

  Said login(const Asked& asked) {
    const Json json = Json::parse(asked.body, nullptr, false);
    if (!json.is_object() || json.value("AuthMethod", "") != "nomad-workloads") return {403, "ACL not found"};
    if (json.value("BearerToken", "").empty()) return {403, "Permission denied"};
    const std::string secret = Uuid::random().to_string();
    tokens[secret] = json["BearerToken"].get<std::string>();
    return {.body = Json{{"AccessorID", Uuid::random().to_string()}, {"SecretID", secret}, {"Local", true}}.dump()};
  }

  Said change(const Asked& asked) {
    Catalog& catalog = catalog_for(asked);
    if (asked.path == "/v1/agent/service/register") return catalog.register_service(asked.body);
    if (asked.path == "/v1/agent/check/register") return catalog.register_check(asked.body);
    if (const auto id = behind(asked.path, "/v1/agent/service/deregister/")) return catalog.deregister_service(*id);
    if (const auto id = behind(asked.path, "/v1/agent/check/deregister/")) return catalog.deregister_check(*id);
    if (const auto id = behind(asked.path, "/v1/agent/check/update/")) return catalog.update_check(*id, asked.body);
    if (asked.path == "/v1/acl/login") return login(asked);
    if (asked.path == "/v1/acl/logout") return tokens.erase(asked.headers.at("x-consul-token")), Said{};
    if (const auto path = behind(asked.path, "/v1/kv/")) {
      if (asked.method == "DELETE") return catalog.delete_key(*path, asked.query.contains("recurse"));
      return catalog.put_key(*path, asked.body);
    }
    return {404, "no such path"};
  }

  uint64_t index_for(const Asked& asked) {
    const Catalog& catalog = catalog_for(asked);
    return asked.path.starts_with("/v1/kv/") ? catalog.index_of_keys() : catalog.index_of_services();
  }

  // Holds the question until there is something newer, as long as it says.
  Told ask(const Asked& asked, std::unique_lock<std::mutex>& lock) {
    const uint64_t index = std::strtoull(value(asked, "index").c_str(), nullptr, 10);
    if (index > 0 && !asked.path.starts_with("/v1/agent/")) {
      const int64_t wait = std::atoll(value(asked, "wait").c_str());
      const auto limit = wait > 0 ? std::chrono::milliseconds(wait) : std::chrono::milliseconds(kLongestWait);
      changed.wait_for(lock, limit, [&] { return has_ended || index_for(asked) > index; });
    }
    Said said = find(asked);
    return {.status = said.status,
            .body = std::move(said.body),
            .headers = {{"X-Consul-Index", std::to_string(index_for(asked))},
                        {"X-Consul-KnownLeader", "true"},
                        {"X-Consul-LastContact", "0"}}};
  }

  std::string self() const {
    Json out = Json::parse(kSelf);
    if (!namespaces.empty()) out["Config"]["Version"] = "1.15.0+ent";
    return out.dump();
  }

  Said list_namespaces() const {
    Json out = Json::array({{{"Name", "default"}}});
    for (const std::string& name : namespaces) out.push_back({{"Name", name}});
    return {.body = out.dump()};
  }

  Said find(const Asked& asked) {
    const std::string& path = asked.path;
    const std::string dc = value(asked, "dc");
    if (!dc.empty() && dc != "dc1" && dc != "dc2") return {500, "No path to datacenter"};
    const bool is_elsewhere = dc == "dc2";  // where nothing is
    Catalog& catalog = catalog_for(asked);
    if (path == "/v1/agent/self") return {.body = self()};
    if (path == "/v1/namespaces" && !namespaces.empty()) return list_namespaces();
    if (path == "/v1/agent/services") return catalog.services();
    if (path == "/v1/agent/checks") return catalog.checks();
    if (path == "/v1/catalog/datacenters") return {.body = R"(["dc1","dc2"])"};
    if (path == "/v1/acl/token/self") return {.body = "{}"};
    if (is_elsewhere) return path.starts_with("/v1/kv/") ? Said{404, ""} : Said{.body = "[]"};
    if (path == "/v1/catalog/services") return catalog.list_services();
    if (path == "/v1/catalog/nodes") return catalog.nodes();
    if (const auto name = behind(path, "/v1/catalog/node/")) return catalog.node(*name);
    if (const auto name = behind(path, "/v1/catalog/service/")) return catalog.instances(*name, value(asked, "tag"));
    if (const auto name = behind(path, "/v1/health/service/"))
      return catalog.health(*name, value(asked, "tag"), asked.query.contains("passing"));
    if (const auto name = behind(path, "/v1/kv/")) {
      return catalog.keys(*name, asked.query.contains("recurse"), asked.query.contains("keys"),
                          asked.query.contains("raw"), value(asked, "separator"));
    }
    return {404, "no such path"};
  }
};

FakeConsul::FakeConsul() : state_(std::make_unique<State>()) {
  state_->server = std::make_unique<WebServer>("", "", [state = state_.get()](const Asked& asked) {
    return state->answer(asked);
  });
}

FakeConsul::~FakeConsul() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->has_ended = true;
    state_->changed.notify_all();
  }
  state_->server.reset();
}

std::string FakeConsul::url() const { return "http://127.0.0.1:" + std::to_string(state_->server->port()); }

void FakeConsul::control(const std::string& json) {
  const std::lock_guard lock(state_->mutex);
  state_->control(json);
  state_->changed.notify_all();
}

std::vector<std::string> FakeConsul::calls() const {
  const std::lock_guard lock(state_->mutex);
  return state_->calls;
}

void FakeConsul::clear_calls() {
  const std::lock_guard lock(state_->mutex);
  state_->calls.clear();
}

Result<std::string> FakeConsul::call(const std::string& method, const std::string& path,
                                     const std::string& body) const {
  return testing::call(url(), method, path, body);
}

Result<std::string> call(const std::string& url, const std::string& method, const std::string& path,
                         const std::string& body) {
  http_client::Request request{.url = url + path, .method = method, .body = body};
  DROVER_TRY(const http_client::Answer answer, http_client::exchange(request, {}));
  if (answer.status != 200) return unavailable(std::to_string(answer.status) + " " + answer.body);
  return answer.body;
}

}  // namespace drover::consul::testing
