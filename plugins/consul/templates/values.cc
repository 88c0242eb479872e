#include "templates/values.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/json_fields.h"
#include "drover/base64.h"
#include "templates/question.h"

namespace drover::consul {
namespace {

using Json = nlohmann::json;

// A number of 64 bits.
Json number_in(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number() ? *at : Json(0);
}

Json sorted_tags(const Json& tags) {
  std::set<std::string> out;
  for (const Json& tag : tags) {
    if (tag.is_string()) out.insert(tag.get<std::string>());
  }
  return out.empty() ? Json::array() : Json(out);
}

Json node_of(const Json& from) {
  return {{"ID", text_in(from, "ID")},
          {"Node", text_in(from, "Node")},
          {"Address", text_in(from, "Address")},
          {"Datacenter", text_in(from, "Datacenter")},
          {"TaggedAddresses", object_in(from, "TaggedAddresses")},
          {"Meta", object_in(from, "Meta")}};
}

void sort_by(Json& list, const char* first, const char* second) {
  std::stable_sort(list.begin(), list.end(), [&](const Json& one, const Json& other) {
    const std::string a = text_in(one, first), b = text_in(other, first);
    return a != b ? a < b : text_in(one, second) < text_in(other, second);
  });
}

std::string value_of_pair(const Json& pair) {
  const auto bytes = base64_decode(text_in(pair, "Value"));
  return bytes ? *bytes : std::string();
}

Json pairs_of(const Json& answer) {
  Json out = Json::array();
  for (const Json& pair : answer) {
    out.push_back({{"Path", text_in(pair, "Key")},
                   {"Key", text_in(pair, "Key")},
                   {"Value", value_of_pair(pair)},
                   {"CreateIndex", number_in(pair, "CreateIndex")},
                   {"ModifyIndex", number_in(pair, "ModifyIndex")},
                   {"LockIndex", number_in(pair, "LockIndex")},
                   {"Flags", number_in(pair, "Flags")},
                   {"Session", text_in(pair, "Session")}});
  }
  return out;
}

Json names_of(const Json& answer) {
  Json out = Json::array();
  for (const auto& [name, tags] : answer.items()) out.push_back({{"Name", name}, {"Tags", sorted_tags(tags)}});
  return out;
}

Json nodes_of(const Json& answer) {
  Json out = Json::array();
  for (const Json& each : answer) out.push_back(node_of(each));
  sort_by(out, "Node", "Address");
  return out;
}

Json node_with_services(const Json& answer) {
  Json services = Json::array();
  const Json known = object_in(answer, "Services");
  for (const auto& [id, service] : known.items()) {
    services.push_back({{"ID", text_in(service, "ID")},
                        {"Service", text_in(service, "Service")},
                        {"Tags", sorted_tags(list_in(service, "Tags"))},
                        {"Meta", object_in(service, "Meta")},
                        {"Port", integer_in(service, "Port")},
                        {"Address", text_in(service, "Address")}});
  }
  sort_by(services, "Service", "ID");
  return {{"Node", node_of(object_in(answer, "Node"))}, {"Services", std::move(services)}};
}

Json instance_of(const Json& entry) {
  const Json node = object_in(entry, "Node"), service = object_in(entry, "Service");
  const Json checks = list_in(entry, "Checks");
  const std::string address = text_in(service, "Address");
  return {{"Node", text_in(node, "Node")},
          {"NodeID", text_in(node, "ID")},
          {"NodeAddress", text_in(node, "Address")},
          {"NodeDatacenter", text_in(node, "Datacenter")},
          {"NodeTaggedAddresses", object_in(node, "TaggedAddresses")},
          {"NodeMeta", object_in(node, "Meta")},
          {"ServiceMeta", object_in(service, "Meta")},
          {"Address", address.empty() ? text_in(node, "Address") : address},
          {"ID", text_in(service, "ID")},
          {"Name", text_in(service, "Service")},
          {"Tags", sorted_tags(list_in(service, "Tags"))},
          {"Checks", checks},
          {"Status", worst_of(checks)},
          {"Port", integer_in(service, "Port")},
          {"Weights",
           {{"Passing", integer_in(object_in(service, "Weights"), "Passing", 1)},
            {"Warning", integer_in(object_in(service, "Weights"), "Warning", 1)}}},
          {"Namespace", text_in(service, "Namespace")}};
}

}  // namespace

std::string worst_of(const Json& checks) {
  bool has_warning = false, has_critical = false;
  for (const Json& check : checks) {
    const std::string id = text_in(check, "CheckID"), status = text_in(check, "Status");
    if (id == "_node_maintenance" || id.starts_with("_service_maintenance:")) return "maintenance";
    has_warning = has_warning || status == "warning";
    has_critical = has_critical || status == "critical";
  }
  return has_critical ? "critical" : has_warning ? "warning" : "passing";
}

Json below_prefix(const Json& pairs, const std::string& prefix) {
  Json out = Json::array();
  for (const Json& pair : pairs) {
    std::string key = text_in(pair, "Key");
    if (key.starts_with(prefix)) key.erase(0, prefix.size());
    key.erase(0, key.find_first_not_of('/'));
    Json below = pair;
    below["Key"] = std::move(key);
    out.push_back(std::move(below));
  }
  return out;
}

Json instances_of(const Json& answer, const std::set<std::string>& statuses, bool is_sorted) {
  Json out = Json::array();
  for (const Json& entry : answer) {
    Json instance = instance_of(entry);
    if (statuses.empty() || statuses.contains(text_in(instance, "Status"))) out.push_back(std::move(instance));
  }
  if (is_sorted) sort_by(out, "Node", "ID");
  return out;
}

Result<Json> value_in(Form form, const std::string& body, bool is_there) {
  if (!is_there) return form == Form::keys ? Json::array() : Json(nullptr);
  const Json answer = Json::parse(body, nullptr, false);
  const bool is_object = form == Form::service_names || form == Form::node;
  if (form == Form::node && answer.is_null()) return Json(nullptr);
  if (is_object ? !answer.is_object() : !answer.is_array()) return unavailable("Consul's answer is of another form");
  switch (form) {
    case Form::key:
      return answer.empty() ? Json(nullptr) : Json(value_of_pair(answer[0]));
    case Form::keys:
      return pairs_of(answer);
    case Form::service_names:
      return names_of(answer);
    case Form::nodes:
      return nodes_of(answer);
    case Form::node:
      return node_with_services(answer);
    case Form::instances:
    case Form::texts:
      break;
  }
  return answer;
}

}  // namespace drover::consul
