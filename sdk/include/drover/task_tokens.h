// The signed identities of this node's tasks, for hooks that prove to others who a task is: a registry, a store of
// secrets.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "drover/result.h"
#include "drover/uuid.h"

namespace drover {

// Provided by the plugin identity, as "identity", on node agents. [any]
class TaskTokens {
 public:
  static constexpr std::string_view kExtensionPoint = "task_tokens";
  virtual ~TaskTokens() = default;

  struct Token {
    std::string jwt;         // secret
    int64_t expires_at = 0;  // nanoseconds since 1970; 0: with the allocation
  };
  // Asks the servers to sign that identity of that task, which its job describes; waits. Errors: not_found where the
  // task has no identity of that name; permission_denied where the servers refuse; unavailable, cancelled.
  virtual Result<Token> sign(const Uuid& allocation, const std::string& task, const std::string& identity,
                             std::stop_token stop) const = 0;
};

}  // namespace drover
