// The servers' side: signs tokens for tasks, and says how they are verified.
#pragma once

#include <optional>

#include "drover/keyring.h"
#include "drover/plugin.h"
#include "drover/workload.h"

namespace drover::v1 {
class IdentityDocument;
class IdentityKeysRequest;
class RootKey;
class SignIdentitiesRequest;
class SignIdentitiesResponse;
}  // namespace drover::v1

namespace drover::identity {

// Tables of other plugins.
struct Tables {
  std::optional<TableId> nodes, allocs, jobs, root_keys;
};
Status declare_tables(Declarations& declare, Tables& tables);

class Rpc {
 public:
  explicit Rpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  // `issuer`: of the tokens, a URL; empty: none. The keyring outlives this.
  void start(Host& host, Keyring& keys, std::string issuer);

 private:
  Result<v1::SignIdentitiesResponse> sign(const v1::SignIdentitiesRequest& request, Call& call);
  Result<v1::IdentityDocument> keys(const v1::IdentityKeysRequest& request, Call& call);
  Result<v1::IdentityDocument> discovery(const v1::IdentityKeysRequest& request, Call& call);

  const Tables& tables_;
  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
  std::string issuer_;
};

// A token that does not end by itself is worth something as long as its key is held: a key that is not active any more
// is in use while an allocation runs that is older than its retirement and whose tasks may have such a token.
class SignedTokens final : public KeyUser {
 public:
  explicit SignedTokens(const Tables& tables) : tables_(tables) {}
  uint64_t uses(const ReadView& view, std::string_view key_id, uint64_t most) const override;

 private:
  uint64_t retired_at(const ReadView& view, const v1::RootKey& key) const;
  bool may_have_token(const ReadView& view, const v1::Allocation& allocation) const;
  const Tables& tables_;
};

}  // namespace drover::identity
