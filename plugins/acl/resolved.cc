#include "resolved.h"

#include "drover/sha256.h"

namespace drover::acl {

std::string proof_key(const CallContext& context) {
  Sha256 sum;
  sum.add(context.query.token);
  sum.add(std::string_view("\0", 1));
  sum.add(context.node_secret);
  return sum.take();
}

}  // namespace drover::acl
