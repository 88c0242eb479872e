// Tokens of tasks: signed by the cluster's keyring, and worth nothing once their allocation has ended. [any]
#pragma once

#include <string>

#include "drover/keyring.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/workload.h"
#include "resolved.h"
#include "tables.h"

namespace drover::acl {

class WorkloadTokens {
 public:
  explicit WorkloadTokens(const Tables& tables) : tables_(tables) {}
  void start(const Host& host) { keys_ = host.extension<Keyring>("keyring"); }

  struct Shown {
    std::string allocation;  // as text
    Workload workload;
    int64_t ends_at = 0;  // nanoseconds since 1970; 0: with the allocation
  };
  // Errors: permission_denied, saying why; for the log, not for the caller.
  Result<Shown> read(const std::string& token, const ReadView& view, int64_t now_ns);

 private:
  struct Claims {
    std::string allocation;  // sixteen bytes
    std::string task;
    std::string key_id;      // sixteen bytes
    int64_t begins_at = 0, ends_at = 0;
  };
  Result<Claims> verified(const std::string& token);

  const Tables& tables_;
  Keyring* keys_ = nullptr;
  Mutex mutex_;
  Recent<Claims> known_ DROVER_GUARDED_BY(mutex_){4096};  // by the token's digest; their signatures were right
};

}  // namespace drover::acl
