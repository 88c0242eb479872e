#include "keys/key_steps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/api/members.pb.h"
#include "gossip.pb.h"
#include "seal.h"

namespace drover::gossip {
namespace {

using Json = nlohmann::json;

bool holds(const std::vector<std::string>& keys, const std::string& key) {
  return std::ranges::find(keys, key) != keys.end();
}

bool is_primary(const std::vector<std::string>& keys, const std::string& key) {
  return !keys.empty() && keys.front() == key;
}

void add(std::string& list, const std::string& text) { list.append(list.empty() ? "" : "; ").append(text); }

std::string without_answers(const std::vector<ServerKeys>& servers) {
  std::string list;
  for (const ServerKeys& server : servers) {
    if (!server.status.ok()) add(list, server.name + ": " + server.status.message());
  }
  return list;
}

}  // namespace

Result<std::vector<std::string>> keys_after(Step step, const std::string& key,
                                            std::vector<std::string> keys) {
  switch (step) {
    case drover::v1::GOSSIP_KEY_STEP_LIST:
      return keys;
    case drover::v1::GOSSIP_KEY_STEP_INSTALL:
      if (!holds(keys, key)) keys.push_back(key);
      return keys;
    case drover::v1::GOSSIP_KEY_STEP_USE:
      if (!holds(keys, key)) return failed_precondition("the key is not installed");
      std::erase(keys, key);
      keys.insert(keys.begin(), key);
      return keys;
    case drover::v1::GOSSIP_KEY_STEP_REMOVE:
      if (is_primary(keys, key)) return failed_precondition("the key is the one to seal with");
      std::erase(keys, key);
      return keys;
    default:
      return invalid_argument("this server knows no step " + std::to_string(step) + " of the gossip's keys");
  }
}

Status may_begin(Step step, const std::string& key, const std::vector<ServerKeys>& servers) {
  // A list says what it can, and a key more parts nobody.
  const bool uses = step == drover::v1::GOSSIP_KEY_STEP_USE;
  if (!uses && step != drover::v1::GOSSIP_KEY_STEP_REMOVE) return ok_status();
  std::string in_the_way;
  bool is_known = false;
  for (const ServerKeys& server : servers) {
    if (!server.status.ok()) continue;
    is_known = is_known || holds(server.keys, key);
    const bool stops = uses ? !holds(server.keys, key) : is_primary(server.keys, key);
    if (stops) in_the_way.append(in_the_way.empty() ? "" : ", ").append(server.name);
  }
  if (!in_the_way.empty()) {
    return failed_precondition(
        "nothing was changed: " +
        (uses ? "the key is not installed on " + in_the_way + "; install it first"
              : in_the_way + " still seals with this key; use another one first"));
  }
  if (const std::string silent = without_answers(servers); !silent.empty())
    return unavailable("nothing was changed: a server that lives cannot be asked: " + silent);
  if (!is_known) return not_found("nothing was changed: no server has this key");
  return ok_status();
}

Result<drover::v1::GossipKeysResponse> summary_of(Step step, const std::vector<ServerKeys>& servers) {
  drover::v1::GossipKeysResponse response;
  for (const ServerKeys& server : servers) {
    if (!server.status.ok()) {
      (*response.mutable_messages())[server.name] = "cannot be asked: " + server.status.message();
      continue;
    }
    for (const std::string& key : server.keys) ++(*response.mutable_keys())[key];
    if (!server.keys.empty()) ++(*response.mutable_primary_keys())[server.keys.front()];
  }
  response.set_num_nodes(static_cast<int64_t>(servers.size()));
  const std::string failed = without_answers(servers);
  if (failed.empty() || step == drover::v1::GOSSIP_KEY_STEP_LIST) return response;
  return unavailable("not every server did it, the others did; do it again: " + failed);
}

Result<std::vector<std::string>> read_keys(const std::string& json) {
  const Json list = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array() || list.empty()) return invalid_argument("it is no JSON list of keys");
  std::vector<std::string> keys;
  for (const Json& each : list) {
    if (!each.is_string()) return invalid_argument("it is no JSON list of keys");
    auto key = canonical_key(each.get<std::string>());
    if (!key) return key.status().with_context("key " + std::to_string(keys.size() + 1));
    if (!holds(keys, *key)) keys.push_back(*std::move(key));
  }
  return keys;
}

std::string write_keys(const std::vector<std::string>& keys) { return Json(keys).dump() + "\n"; }

}  // namespace drover::gossip
