// The bounds of a token's life, as the block `acl` of an agent's configuration sets them.
#pragma once

#include <chrono>

namespace drover {

struct TokenLifetimes {
  std::chrono::nanoseconds shortest = std::chrono::minutes(1);  // token_min_expiration_ttl
  std::chrono::nanoseconds longest = std::chrono::hours(24);    // token_max_expiration_ttl
};

}  // namespace drover
