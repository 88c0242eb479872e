// Asks the servers to sign identities of this node's tasks: for the hook, and for other plugins as TaskTokens.
#pragma once

#include <span>
#include <string>

#include "drover/plugin.h"
#include "drover/task_tokens.h"

namespace drover::v1 {
class SignIdentitiesResponse;
}

namespace drover::identity {

class Signing final : public TaskTokens {
 public:
  // Before anything is asked; the host outlives this.
  void start(Host& host) { host_ = &host; }

  // The tokens in the order of the names. Waits, ten seconds at most. Errors: as those of TaskTokens.
  Result<v1::SignIdentitiesResponse> ask(const Uuid& allocation, const std::string& task,
                                         std::span<const std::string> names, std::stop_token stop) const;

  Result<Token> sign(const Uuid& allocation, const std::string& task, const std::string& identity,
                     std::stop_token stop) const override;

 private:
  Host* host_ = nullptr;
};

}  // namespace drover::identity
