#include "node_proof/node_proof.h"

#include "drover/api/client.pb.h"
#include "drover/base64url.h"
#include "drover/log.h"
#include "drover/uuid.h"

namespace drover::agent {
namespace {

std::string bytes_of(const std::string& secret) { return Uuid::parse(secret).value_or(Uuid()).bytes(); }

// The claims of a signed token, as JSON.
Result<std::string> claims_in(const std::string& token) {
  const size_t from = token.find('.'), to = token.rfind('.');
  if (from == std::string::npos || to <= from) return data_loss("this node's identity is no signed token");
  return base64url_decode(std::string_view(token).substr(from + 1, to - from - 1));
}

}  // namespace

Status NodeProof::open(AgentStore& store, const std::string& secret,
                       std::function<void(const std::string& proof)> changed, std::function<void()> wanted) {
  DROVER_TRY(std::string identity, store.node_token());
  const MutexLock lock(mutex_);
  store_ = &store;
  secret_ = secret;
  identity_ = std::move(identity);
  changed_ = std::move(changed);
  wanted_ = std::move(wanted);
  return ok_status();
}

std::string NodeProof::in_context() const {
  const MutexLock lock(mutex_);
  return identity_.empty() ? secret_ : identity_;
}

std::string NodeProof::in_request() const {
  const MutexLock lock(mutex_);
  return identity_.empty() ? bytes_of(secret_) : identity_;
}

std::string NodeProof::identity() const {
  const MutexLock lock(mutex_);
  return identity_;
}

void NodeProof::replace(const std::string& identity) {
  const MutexLock lock(mutex_);
  wants_identity_ = false;
  keep(identity);
}

void NodeProof::drop(const std::string& identity) {
  const MutexLock lock(mutex_);
  if (!identity_.empty() && identity_ == identity) keep("");
}

void NodeProof::keep(const std::string& identity) {
  identity_ = identity;
  // Without it on the disk the next life of the agent registers by the secret.
  if (const Status status = store_->put_node_token(identity); !status.ok())
    log::warn("agent", "the node's identity is not on the disk", {{"error", status.message()}});
  changed_(identity_.empty() ? bytes_of(secret_) : identity_);
}

bool NodeProof::wants_identity() const {
  const MutexLock lock(mutex_);
  return wants_identity_;
}

Result<v1::NodeIdentityResponse> NodeProof::get(const v1::NodeIdentityRequest&, Call&) {
  const MutexLock lock(mutex_);
  if (!store_) return unavailable("the agent is starting");
  if (identity_.empty()) return not_found("this node has no identity; its secret proves it");
  v1::NodeIdentityResponse response;
  DROVER_TRY(*response.mutable_claims(), claims_in(identity_));
  return response;
}

Result<v1::ClientResponse> NodeProof::renew(const v1::NodeIdentityRequest&, Call&) {
  const MutexLock lock(mutex_);
  if (!store_) return unavailable("the agent is starting");
  wants_identity_ = true;
  wanted_();
  return v1::ClientResponse();
}

}  // namespace drover::agent
