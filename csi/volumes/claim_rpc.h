// Answers nodes about the claims of their allocations.
#pragma once

#include "drover/keyring.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class CsiClaimName;
class CsiClaimRequest;
class CsiClaimResponse;
class CsiClaimsOfNodeRequest;
class CsiClaimsResponse;
class CsiReleasedResponse;
}  // namespace drover::v1

namespace drover::volumes {

class ClaimRpc {
 public:
  explicit ClaimRpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  void start(Host& host, Keyring& keys);

  Result<Write<v1::CsiClaimResponse>> claim(const v1::CsiClaimRequest& request, Call& call);
  Result<v1::CsiClaimResponse> get(const v1::CsiClaimName& request, Call& call);
  Result<Write<v1::CsiReleasedResponse>> released(const v1::CsiClaimName& request, Call& call);
  Result<v1::CsiClaimsResponse> of_node(const v1::CsiClaimsOfNodeRequest& request, Call& call);

 private:
  const Tables& tables_;
  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
};

}  // namespace drover::volumes
