// Introductions: tokens with which nodes that the servers do not know may register. A node that is known needs none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "drover/keyring.h"
#include "drover/plugin.h"

namespace drover::v1 {
class IntroduceNodeRequest;
class IntroduceNodeResponse;
class Node;
}  // namespace drover::v1

namespace drover::nodes {

// The fate of a new node that shows no token. One that is shown must be right in any case.
enum class Enforcement : uint8_t { none, warn, strict };

struct IntroductionOptions {
  Enforcement enforcement = Enforcement::warn;
  std::chrono::nanoseconds default_ttl = std::chrono::minutes(5);
  std::chrono::nanoseconds max_ttl = std::chrono::minutes(30);
};

// The claims of a token, a JSON object. Pure.
struct IntroductionClaims {
  std::string name;  // empty: any node of the pool
  std::string pool;
  std::string region;
  std::string token_id;
  int64_t now_ns = 0;
  int64_t ttl_ns = 0;
};
std::string claims_of(const IntroductionClaims& input);
// Pure. Errors: permission_denied, when these claims, which were signed here, do not introduce that node now.
Status check_introduction(std::string_view claims, const v1::Node& node, int64_t now_ns);

class Introductions {
 public:
  // The host outlives this. Errors: invalid_argument, a default that is longer than the longest.
  Status start(Host& host, const IntroductionOptions& options);
  // The handler of Nodes.Introduce.
  Result<v1::IntroduceNodeResponse> introduce(const v1::IntroduceNodeRequest& request, Call& call);
  // Says whether a new node may register; counts and logs what is missing. Errors: permission_denied; unavailable,
  // while this server cannot read tokens. [any]
  Status admit(const v1::Node& node, const std::string& token);

 private:
  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;  // null: there is none here
  IntroductionOptions options_;
};

}  // namespace drover::nodes
