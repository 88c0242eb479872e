#include "drover/model/node.h"

#include <algorithm>

#include "drover/model/constraint.h"
#include "drover/secret.h"
#include "drover/sha256.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover {

bool is_ready(const v1::Node& node) { return node.status() == v1::NODE_STATUS_READY && !node.drain(); }

bool accepts_work(const v1::Node& node) { return is_ready(node) && node.scheduling_eligibility() != "ineligible"; }

std::string_view pool_of(const v1::Node& node) {
  if (node.node_pool().empty()) return "default";
  return node.node_pool();
}

bool is_pool_name(std::string_view name) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return !name.empty() && name.size() <= 128 && name.find_first_not_of(kPlain) == std::string_view::npos;
}

bool in_pool(const v1::Job& job, const v1::Node& node) {
  if (job.node_pool() == "all") return true;
  return pool_of(node) == (job.node_pool().empty() ? "default" : job.node_pool());
}

bool in_reach(const v1::Job& job, const v1::Node& node) {
  return in_pool(job, node) && std::ranges::any_of(job.datacenters(), [&](const std::string& pattern) {
           return glob_matches(pattern, node.datacenter());
         });
}

bool is_proof_of(const v1::Node& node, std::string_view shown, int64_t now_ns) {
  if (!node.has_identity()) return is_same_secret(node.secret_id(), shown);
  const v1::NodeIdentity& identity = node.identity();
  const std::string digest = sha256(shown);
  return (is_same_secret(identity.digest(), digest) && now_ns < identity.expires_at()) ||
         (is_same_secret(identity.former_digest(), digest) && now_ns < identity.former_ends_at());
}

}  // namespace drover
