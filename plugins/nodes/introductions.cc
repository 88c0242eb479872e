#include "introductions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/api/nodes.pb.h"
#include "drover/duration.h"
#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/model/node.h"
#include "drover/uuid.h"
#include "drover/v1/node.pb.h"
#include "drover/workload.h"

namespace drover::nodes {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kOneSecond = 1'000'000'000;
constexpr int64_t kClockSkew = 5 * kOneSecond;  // between the servers
constexpr std::string_view kSubject = "node-introduction:";
constexpr size_t kLongestName = 256;
constexpr size_t kLongestToken = 16 << 10;

std::string text_in(const Json& claims, const char* name) {
  const auto at = claims.find(name);
  return at != claims.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// Seconds since 1970; 0 where there is no such time.
int64_t time_in(const Json& claims, const char* name) {
  const auto at = claims.find(name);
  if (at == claims.end() || !at->is_number_integer()) return 0;
  return std::clamp<int64_t>(at->get<int64_t>(), 0, INT64_MAX / kOneSecond);
}

Status refused(const std::string& why) { return permission_denied("introduction token refused: " + why); }

}  // namespace

std::string claims_of(const IntroductionClaims& input) {
  const int64_t now = input.now_ns / kOneSecond;
  Json claims = {{"nomad_node_pool", input.pool},
                 {"sub", std::string(kSubject) + input.region + ":" + input.pool + ":" + input.name + ":default"},
                 {"aud", kOwnAudience},
                 {"jti", input.token_id},
                 {"iat", now},
                 {"nbf", now},
                 {"exp", now + std::max<int64_t>(input.ttl_ns / kOneSecond, 1)}};
  if (!input.name.empty()) claims["nomad_node_name"] = input.name;
  return claims.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status check_introduction(std::string_view claims, const v1::Node& node, int64_t now_ns) {
  const Json said = Json::parse(claims, nullptr, /*allow_exceptions=*/false);
  const std::string pool = said.is_object() ? text_in(said, "nomad_node_pool") : "";
  if (pool.empty() || !text_in(said, "sub").starts_with(kSubject) || text_in(said, "aud") != kOwnAudience)
    return refused("it is a token of another kind");
  if (time_in(said, "nbf") * kOneSecond > now_ns + kClockSkew) return refused("it is not valid yet");
  if (now_ns >= time_in(said, "exp") * kOneSecond) return refused("it has ended");
  if (pool != pool_of(node))
    return refused("it is for the node pool \"" + pool + "\", and the node is in \"" + std::string(pool_of(node)) +
                   "\"");
  const std::string name = text_in(said, "nomad_node_name");
  if (!name.empty() && name != node.name())
    return refused("it is for the node \"" + name + "\", and this one is \"" + node.name() + "\"");
  return ok_status();
}

Status Introductions::start(Host& host, const IntroductionOptions& options) {
  if (options.default_ttl > options.max_ttl)
    return invalid_argument("server.client_introduction.default_identity_ttl is longer than max_identity_ttl");
  host_ = &host;
  options_ = options;
  keys_ = host.extension<Keyring>("keyring");
  return ok_status();
}

Result<v1::IntroduceNodeResponse> Introductions::introduce(const v1::IntroduceNodeRequest& request, Call&) {
  const std::string pool = request.node_pool().empty() ? "default" : request.node_pool();
  if (!is_pool_name(pool) || pool == "all") return invalid_argument("NodePool: no node can be in \"" + pool + "\"");
  if (request.node_name().size() > kLongestName) return invalid_argument("NodeName: it is too long");
  if (request.ttl() < 0 || request.ttl() > options_.max_ttl.count()) {
    return invalid_argument("TTL: at most " + format_duration(options_.max_ttl) +
                            ", as client_introduction.max_identity_ttl of the servers says");
  }
  if (!keys_) return failed_precondition("this server has no keyring");
  const std::string claims = claims_of(
      IntroductionClaims{.name = request.node_name(),
                         .pool = pool,
                         .region = host_->agent().region,
                         .token_id = Uuid::random().to_string(),
                         .now_ns = host_->clock().wall_ns(),
                         .ttl_ns = request.ttl() > 0 ? request.ttl() : options_.default_ttl.count()});
  v1::IntroduceNodeResponse response;
  DROVER_TRY(*response.mutable_jwt(), keys_->sign(*host_->snapshot(), claims, Keyring::Algorithm::eddsa));
  return response;
}

Status Introductions::admit(const v1::Node& node, const std::string& token) {
  Status status;
  if (token.empty()) {
    if (options_.enforcement == Enforcement::none) return ok_status();
    status = permission_denied("node \"" + node.name() +
                               "\" is new and shows no introduction token; make one by \"drover node intro create\" "
                               "and give it to the agent, as client.intro_token");
  } else if (!keys_) {
    status = refused("the servers have no keyring");
  } else if (token.size() > kLongestToken) {
    status = refused("it is too long");
  } else {
    const auto claims = keys_->verify(token);
    // A server that has just joined may lack the key for some seconds.
    if (!claims && claims.status().code() == Code::unavailable) return claims.status();
    status = claims ? check_introduction(*claims, node, host_->clock().wall_ns()) : refused(claims.status().message());
    if (status.ok()) return status;
  }
  const bool may_register = token.empty() && options_.enforcement == Enforcement::warn;
  host_->metrics().add("nomad.nomad.client.introduction_violation_num");
  log::warn("nodes", may_register ? "a new node is not introduced" : "a new node is refused",
            {{"node", Uuid::from_bytes(node.id()).to_string()},
             {"name", node.name()},
             {"pool", std::string(pool_of(node))},
             {"reason", status.message()}});
  return may_register ? ok_status() : status;
}

}  // namespace drover::nodes
