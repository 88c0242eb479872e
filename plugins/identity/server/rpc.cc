#include "server/rpc.h"

#include <algorithm>

#include "drover/api/identities.pb.h"
#include "drover/api/keyring.pb.h"
#include "drover/model/allocation.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "identity.pb.h"
#include "server/claims.h"

namespace drover::identity {
namespace {

constexpr int kMostAtOnce = 64;

std::optional<v1::Job> job_of(const ReadView& view, TableId versions, const v1::Allocation& allocation) {
  return Table<v1::Job>(versions).get(
      view, job_version_key(allocation.namespace_(), allocation.job_id(), allocation.job_version()));
}

bool is_shown(const v1::Identity& identity) { return identity.env() || identity.file(); }

bool shows_lasting_token(const v1::Task& task) {
  return (is_shown(task.identity()) && task.identity().ttl() == 0) ||
         std::ranges::any_of(task.identities(), [](const auto& each) { return is_shown(each) && each.ttl() == 0; });
}

}  // namespace

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_RETURN_IF_ERROR(declare.later_table("nodes", tables.nodes));
  DROVER_RETURN_IF_ERROR(declare.later_table("allocs", tables.allocs));
  DROVER_RETURN_IF_ERROR(declare.later_table("job_versions", tables.jobs));
  return declare.later_table("root_keys", tables.root_keys);
}

Status Rpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.service("drover.v1.NodeIdentities", {method<&Rpc::sign>("Sign", this)}));
  return declare.service("drover.v1.Identities",
                         {method<&Rpc::keys>("Keys", this), method<&Rpc::discovery>("Discovery", this)});
}

void Rpc::start(Host& host, Keyring& keys, std::string issuer) {
  host_ = &host;
  keys_ = &keys;
  issuer_ = std::move(issuer);
}

Result<v1::SignIdentitiesResponse> Rpc::sign(const v1::SignIdentitiesRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  if (request.identities_size() > kMostAtOnce) return invalid_argument("too many identities at once");
  if (!tables_.nodes || !tables_.allocs || !tables_.jobs) return unavailable("this server has no allocations");
  const auto view = host_->snapshot();
  DROVER_TRY(const v1::Allocation allocation,
             allocation_of_caller(*view, *tables_.nodes, *tables_.allocs, request.node_id(), request.secret_id(),
                                  request.alloc_id(), host_->clock().wall_ns()));
  if (terminal(allocation)) return access_denied();
  const auto job = job_of(*view, *tables_.jobs, allocation);
  const v1::TaskGroup* group = job ? find_group(*job, allocation.task_group()) : nullptr;
  const v1::Task* task = group ? find_task(*group, request.task()) : nullptr;
  if (!task) return not_found("task not found");
  const Workload workload = workload_of(allocation, *job, request.task());
  v1::SignIdentitiesResponse response;
  for (const std::string& name : request.identities()) {
    DROVER_TRY(const v1::Identity identity, identity_of(*task, name));
    const int64_t now = host_->clock().wall_ns();
    const std::string claims = claims_of({.workload = workload,
                                          .identity = identity,
                                          .allocation = Uuid::from_bytes(allocation.id()).to_string(),
                                          .region = host_->agent().region,
                                          .issuer = issuer_,
                                          .token_id = Uuid::random().to_string(),
                                          .now_ns = now});
    v1::SignedIdentity& one = *response.add_identities();
    one.set_name(name);
    one.set_expires_at(end_of(identity, now));
    DROVER_TRY(*one.mutable_token(), keys_->sign(*view, claims, algorithm_of(identity)));
  }
  return response;
}

Result<v1::IdentityDocument> Rpc::keys(const v1::IdentityKeysRequest&, Call& call) {
  v1::IdentityDocument response;
  response.set_document(keys_->public_keys(call.view()));
  return response;
}

Result<v1::IdentityDocument> Rpc::discovery(const v1::IdentityKeysRequest&, Call&) {
  if (issuer_.empty()) return not_found("OIDC Discovery endpoint disabled");
  v1::IdentityDocument response;
  response.set_document(discovery_of(issuer_));
  return response;
}

bool SignedTokens::may_have_token(const ReadView& view, const v1::Allocation& allocation) const {
  const auto job = job_of(view, *tables_.jobs, allocation);
  if (!job) return true;
  const v1::TaskGroup* group = find_group(*job, allocation.task_group());
  return !group || std::ranges::any_of(group->tasks(), shows_lasting_token);
}

// The index at which another key took its place; the greatest number while none has.
uint64_t SignedTokens::retired_at(const ReadView& view, const v1::RootKey& key) const {
  uint64_t at = UINT64_MAX;
  Table<v1::RootKey>(*tables_.root_keys).scan(view, kPrimary, KeyRange::all(), [&](const v1::RootKey& each, std::string_view) {
    if (each.create_index() > key.create_index()) at = std::min<uint64_t>(at, each.create_index());
    return true;
  });
  return at;
}

uint64_t SignedTokens::uses(const ReadView& view, std::string_view key_id, uint64_t most) const {
  if (!tables_.root_keys || !tables_.allocs || !tables_.jobs) return 0;
  const auto key = Table<v1::RootKey>(*tables_.root_keys).get(view, key_id);
  if (!key) return 0;
  const uint64_t until = retired_at(view, *key);
  uint64_t uses = 0;
  const auto count = [&](const v1::Allocation& allocation, std::string_view) {
    if (allocation.create_index() >= until) return false;
    if (!terminal(allocation) && may_have_token(view, allocation)) ++uses;
    return uses < most;
  };
  Table<v1::Allocation>(*tables_.allocs).scan(view, kAllocsByCreation, KeyRange::all(), count);
  return uses;
}

}  // namespace drover::identity
