// Decides if an allocation may have a volume, and makes the claim that it gets. Functions of a snapshot.
#pragma once

#include "tables.h"

namespace drover::v1 {
class CsiClaimName;
class CsiClaimRequest;
}  // namespace drover::v1

namespace drover::volumes {

// The node's claim of that name. Errors: permission_denied, unless the node proves itself and the claim is its own;
// not_found.
Result<v1::CsiClaim> claim_of_caller(const ReadView& view, const Tables& tables, const v1::CsiClaimName& name,
                                     int64_t now);

// The claim that the node asks for on behalf of its allocation; without an index when it is new. Errors: as
// CsiClaims.Claim (drover/v1/node_csi.proto) has them.
Result<v1::CsiClaim> decide_claim(const ReadView& view, const Tables& tables, const v1::CsiClaimRequest& request,
                                  int64_t now);

}  // namespace drover::volumes
