#include "node/signing.h"

#include "drover/node_calls.h"
#include "identity.pb.h"

namespace drover::identity {
namespace {

constexpr std::chrono::seconds kCallTime{10};

}  // namespace

Result<v1::SignIdentitiesResponse> Signing::ask(const Uuid& allocation, const std::string& task,
                                                std::span<const std::string> names, std::stop_token stop) const {
  const NodeCalls* calls = host_ ? host_->extension<NodeCalls>("agent") : nullptr;
  const auto proof = calls ? calls->proof() : std::nullopt;
  if (!proof) return unavailable("the servers do not know this node yet");
  v1::SignIdentitiesRequest request;
  request.set_node_id(proof->id.bytes());
  request.set_secret_id(proof->secret);
  request.set_alloc_id(allocation.bytes());
  request.set_task(task);
  for (const std::string& name : names) request.add_identities(name);
  return call<v1::SignIdentitiesResponse>(
      host_->caller(), calls->context("/drover.v1.NodeIdentities/Sign", kCallTime, std::move(stop)), request);
}

Result<TaskTokens::Token> Signing::sign(const Uuid& allocation, const std::string& task, const std::string& identity,
                                        std::stop_token stop) const {
  auto answer = ask(allocation, task, std::span(&identity, 1), std::move(stop));
  // Servers that have just begun have no keys yet: that passes.
  if (answer.status().code() == Code::failed_precondition) return unavailable(answer.status().message());
  DROVER_TRY(v1::SignIdentitiesResponse tokens, std::move(answer));
  if (tokens.identities_size() != 1 || tokens.identities(0).name() != identity || tokens.identities(0).token().empty())
    return internal_error("the servers signed something else than the identity that was asked for");
  v1::SignedIdentity& one = *tokens.mutable_identities(0);
  return Token{.jwt = std::move(*one.mutable_token()), .expires_at = one.expires_at()};
}

}  // namespace drover::identity
