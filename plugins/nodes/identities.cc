#include "identities.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "drover/model/node.h"
#include "drover/sha256.h"
#include "drover/uuid.h"
#include "drover/v1/node.pb.h"
#include "drover/workload.h"

namespace drover::nodes {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFormerTime = 60 * kSecond;

int64_t whole_seconds(int64_t time_ns) { return time_ns / kSecond * kSecond; }

}  // namespace

std::string claims_of(const NodeClaims& input) {
  const v1::Node& node = input.node;
  const std::string id = Uuid::from_bytes(node.id()).to_string(), pool(pool_of(node));
  const int64_t now = input.now_ns / kSecond;
  return nlohmann::ordered_json{{"nomad_node_id", id},
                                {"nomad_node_pool", pool},
                                {"nomad_node_class", node.node_class()},
                                {"nomad_node_datacenter", node.datacenter()},
                                {"sub", "node:" + input.region + ":" + pool + ":" + id + ":default"},
                                {"aud", kOwnAudience},
                                {"jti", input.token_id},
                                {"iat", now},
                                {"nbf", now},
                                {"exp", (whole_seconds(input.now_ns) + input.ttl_ns) / kSecond}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool is_latest(const v1::Node& node, std::string_view shown) {
  return node.has_identity() && node.identity().digest() == sha256(shown);
}

bool needs_identity(const v1::Node& known, const v1::Node& next, std::string_view shown, bool asks, int64_t now_ns) {
  if (asks || !is_latest(known, shown)) return true;
  const v1::NodeIdentity& identity = known.identity();
  const int64_t third = (identity.expires_at() - identity.issued_at()) / 3;
  return now_ns >= identity.expires_at() - third || pool_of(known) != pool_of(next) ||
         known.node_class() != next.node_class() || known.datacenter() != next.datacenter();
}

v1::NodeIdentity with_token(const v1::Node& known, std::string_view shown, std::string_view token, int64_t now_ns,
                            int64_t ttl_ns) {
  v1::NodeIdentity identity;
  identity.set_digest(sha256(token));
  identity.set_issued_at(now_ns);
  identity.set_expires_at(whole_seconds(now_ns) + ttl_ns);
  if (!known.has_identity() || !is_proof_of(known, shown, now_ns)) return identity;
  const bool is_current = is_latest(known, shown);
  identity.set_former_digest(sha256(shown));
  identity.set_former_ends_at(
      std::min<int64_t>(now_ns + kFormerTime,
                        is_current ? known.identity().expires_at() : known.identity().former_ends_at()));
  return identity;
}

}  // namespace drover::nodes
