#include "testing/catalog.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/base64.h"

namespace drover::consul::testing {
namespace {

using Json = nlohmann::json;

Json or_empty(const Json& object, const char* name, Json otherwise) {
  const auto at = object.find(name);
  return at == object.end() || at->is_null() ? std::move(otherwise) : *at;
}

// "10s", "1500ms".
int64_t milliseconds(const std::string& text) {
  const int64_t number = std::atoll(text.c_str());
  return text.ends_with("ms") ? number : number * 1000;
}

bool has_tag(const Json& service, const std::string& tag) {
  if (tag.empty()) return true;
  const Json& tags = service["Tags"];
  return std::ranges::find(tags, Json(tag)) != tags.end();
}

Json check_json(const Check& check) {
  return {{"Node", Catalog::kNode},        {"CheckID", check.id},
          {"Name", check.name},            {"Status", check.status},
          {"Notes", ""},                   {"Output", check.output},
          {"ServiceID", check.service_id}, {"ServiceName", check.service_name},
          {"Type", check.type},            {"Definition", Json::parse(check.definition)}};
}

Json node_json() {
  return {{"ID", "00000000-0000-0000-0000-0000000000aa"},
          {"Node", Catalog::kNode},
          {"Address", Catalog::kAddress},
          {"Datacenter", "dc1"},
          {"TaggedAddresses", {{"lan", Catalog::kAddress}, {"wan", Catalog::kAddress}}},
          {"Meta", {{"consul-network-segment", ""}}}};
}

Json instance_json(const std::string& text) {
  const Json service = Json::parse(text);
  Json out = node_json();
  out["ServiceID"] = service["ID"];
  out["ServiceName"] = service["Service"];
  out["ServiceTags"] = service["Tags"];
  out["ServiceAddress"] = service["Address"];
  out["ServicePort"] = service["Port"];
  out["ServiceMeta"] = service["Meta"];
  out["ServiceWeights"] = service["Weights"];
  return out;
}

}  // namespace

Said Catalog::services() const {
  Json out = Json::object();
  for (const auto& [id, text] : services_) out[id] = Json::parse(text);
  return {.body = out.dump()};
}

Said Catalog::checks() {
  note_expired();
  Json out = Json::object();
  for (const auto& [id, check] : checks_) out[id] = check_json(check);
  return {.body = out.dump()};
}

void Catalog::note_expired() {
  for (auto& [id, check] : checks_) {
    if (check.ttl_ms == 0 || check.status == "critical") continue;
    if (SystemClock().steady() - check.told_at < std::chrono::milliseconds(check.ttl_ms)) continue;
    check.status = "critical";
    check.output = "TTL expired";
    ++service_index_;
  }
}

void Catalog::add_check(const Json& from, const std::string& service_id, const std::string& otherwise) {
  const std::string own = or_empty(from, "CheckID", or_empty(from, "ID", "")).get<std::string>();
  const std::string id = own.empty() ? otherwise : own;
  Check& check = checks_[id];
  const bool is_new = check.id.empty();
  check.id = id;
  check.service_id = service_id;
  if (const auto of = services_.find(service_id); of != services_.end())
    check.service_name = Json::parse(of->second)["Service"].get<std::string>();
  check.name = or_empty(from, "Name", "Service '" + check.service_name + "' check").get<std::string>();
  check.ttl_ms = milliseconds(or_empty(from, "TTL", "0").get<std::string>());
  check.type = from.contains("HTTP") ? "http" : from.contains("TCP") ? "tcp" : from.contains("GRPC") ? "grpc" : "ttl";
  check.definition = from.dump();
  if (is_new || from.contains("Status")) check.status = or_empty(from, "Status", "critical").get<std::string>();
  check.told_at = SystemClock().steady();
  ++service_index_;
}

Said Catalog::register_service(const std::string& body) {
  const Json from = Json::parse(body, nullptr, false);
  if (!from.is_object() || !from.contains("Name")) return {400, "Missing service name"};
  const std::string name = from["Name"].get<std::string>();
  const std::string id = or_empty(from, "ID", name).get<std::string>();
  Json addresses = or_empty(from, "TaggedAddresses", Json::object());
  const Json address = or_empty(from, "Address", ""), port = or_empty(from, "Port", 0);
  if (address != "") addresses.emplace("lan_ipv4", Json{{"Address", address}, {"Port", port}});
  const Json service = {{"ID", id},
                        {"Service", name},
                        {"Tags", or_empty(from, "Tags", Json::array())},
                        {"Meta", or_empty(from, "Meta", Json::object())},
                        {"Port", port},
                        {"Address", address},
                        {"TaggedAddresses", std::move(addresses)},
                        {"Weights", or_empty(from, "Weights", {{"Passing", 1}, {"Warning", 1}})},
                        {"EnableTagOverride", or_empty(from, "EnableTagOverride", false)},
                        {"Datacenter", "dc1"}};
  services_[id] = service.dump();
  ++service_index_;
  Json checks = or_empty(from, "Checks", Json::array());
  if (from.contains("Check")) checks.push_back(from["Check"]);
  for (size_t i = 0; i < checks.size(); ++i)
    add_check(checks[i], id, "service:" + id + (checks.size() > 1 ? ":" + std::to_string(i + 1) : ""));
  return {};
}

Said Catalog::deregister_service(const std::string& id) {
  if (services_.erase(id) == 0) {
    return {404, "Unknown service ID \"" + id + "\". Ensure that the service ID is passed, not the service name."};
  }
  std::erase_if(checks_, [&](const auto& row) { return row.second.service_id == id; });
  ++service_index_;
  return {};
}

Said Catalog::register_check(const std::string& body) {
  const Json from = Json::parse(body, nullptr, false);
  if (!from.is_object() || !from.contains("Name")) return {400, "Missing check name"};
  const std::string service = or_empty(from, "ServiceID", "").get<std::string>();
  if (!service.empty() && !services_.contains(service)) return {404, "ServiceID \"" + service + "\" does not exist"};
  add_check(from, service, from["Name"].get<std::string>());
  return {};
}

Said Catalog::deregister_check(const std::string& id) {
  if (checks_.erase(id) == 0) return {404, "Unknown check ID \"" + id + "\""};
  ++service_index_;
  return {};
}

Said Catalog::update_check(const std::string& id, const std::string& body) {
  const Json from = Json::parse(body, nullptr, false);
  const std::string status = from.is_object() ? or_empty(from, "Status", "").get<std::string>() : "";
  if (status != "passing" && status != "warning" && status != "critical") return {400, "Invalid check status"};
  const auto at = checks_.find(id);
  if (at == checks_.end()) return {404, "Unknown check ID \"" + id + "\""};
  if (at->second.ttl_ms == 0) return {500, "CheckID \"" + id + "\" does not have associated TTL"};
  at->second.status = status;
  at->second.output = or_empty(from, "Output", "").get<std::string>();
  at->second.told_at = SystemClock().steady();
  ++service_index_;
  return {};
}

Said Catalog::list_services() const {
  std::map<std::string, std::set<std::string>> found;
  for (const auto& [id, text] : services_) {
    const Json service = Json::parse(text);
    auto& tags = found[service["Service"].get<std::string>()];
    for (const Json& tag : service["Tags"]) tags.insert(tag.get<std::string>());
  }
  return {.body = found.empty() ? "{}" : Json(found).dump()};
}

Said Catalog::instances(const std::string& name, const std::string& tag) const {
  Json out = Json::array();
  for (const auto& [id, text] : services_) {
    const Json service = Json::parse(text);
    if (service["Service"] == name && has_tag(service, tag)) out.push_back(instance_json(text));
  }
  return {.body = out.dump()};
}

Said Catalog::health(const std::string& name, const std::string& tag, bool only_passing) {
  note_expired();
  Json out = Json::array();
  for (const auto& [id, text] : services_) {
    Json service = Json::parse(text);
    if (service["Service"] != name || !has_tag(service, tag)) continue;
    Json checks = Json::array();
    bool is_passing = true;
    for (const auto& [check_id, check] : checks_) {
      if (check.service_id != id) continue;
      checks.push_back(check_json(check));
      is_passing = is_passing && check.status == "passing";
    }
    if (only_passing && !is_passing) continue;
    out.push_back({{"Node", node_json()}, {"Service", std::move(service)}, {"Checks", std::move(checks)}});
  }
  return {.body = out.dump()};
}

Said Catalog::nodes() const { return {.body = Json::array({node_json()}).dump()}; }

Said Catalog::node(const std::string& name) const {
  if (name != kNode) return {.body = "null"};
  Json services = Json::object();
  for (const auto& [id, text] : services_) services[id] = Json::parse(text);
  return {.body = Json{{"Node", node_json()}, {"Services", std::move(services)}}.dump()};
}

Said Catalog::keys(const std::string& path, bool recurses, bool only_names, bool is_raw,
                   const std::string& separator) const {
  Json found = Json::array();
  for (const auto& [name, key] : keys_) {
    const bool is_asked = recurses || only_names ? name.starts_with(path) : name == path;
    if (!is_asked) continue;
    if (is_raw) return {.body = key.value};
    if (only_names) {
      const size_t end = separator.empty() ? std::string::npos : name.find(separator, path.size());
      const std::string shown = end == std::string::npos ? name : name.substr(0, end + separator.size());
      if (found.empty() || found.back() != shown) found.push_back(shown);
      continue;
    }
    found.push_back({{"Key", name},
                     {"Value", key.value.empty() ? Json(nullptr) : Json(base64_encode(key.value))},
                     {"Flags", 0},
                     {"LockIndex", 0},
                     {"CreateIndex", key.created},
                     {"ModifyIndex", key.modified}});
  }
  if (found.empty()) return {404, ""};
  return {.body = found.dump()};
}

Said Catalog::put_key(const std::string& path, const std::string& value) {
  Key& key = keys_[path];
  key.value = value;
  key.modified = ++key_index_;
  if (key.created == 0) key.created = key.modified;
  return {.body = "true"};
}

Said Catalog::delete_key(const std::string& path, bool recurses) {
  std::erase_if(keys_, [&](const auto& row) { return recurses ? row.first.starts_with(path) : row.first == path; });
  ++key_index_;
  return {.body = "true"};
}

void Catalog::lose() {
  services_.clear();
  checks_.clear();
  ++service_index_;
}

void Catalog::set_checks(const std::string& name, const std::string& status, const std::string& output) {
  for (auto& [id, check] : checks_) {
    if (check.name != name) continue;
    check.status = status;
    check.output = output;
  }
  ++service_index_;
}

void Catalog::edit_tags(const std::string& id, const std::string& tags) {
  const auto at = services_.find(id);
  if (at == services_.end()) return;
  Json service = Json::parse(at->second);
  service["Tags"] = Json::parse(tags);
  at->second = service.dump();
  ++service_index_;
}

void Catalog::expire() {
  for (auto& [id, check] : checks_) {
    if (check.ttl_ms > 0) check.told_at = {};
  }
}

}  // namespace drover::consul::testing
