// Finds out on a server who calls, from the state.
//
//   no proof        anonymous, with the policy of that name
//   token           by its secret; refused when it has ended
//   node secret     that node, where its row says that it takes no identities
//   JSON Web Token  that node, while it is the node's identity; else that task, while its allocation runs
//
// The resolver remembers what a token stands for, until one of the tables changes. [any]
#pragma once

#include <memory>
#include <string>

#include "drover/access_control.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "resolved.h"
#include "tables.h"
#include "workload_tokens.h"

namespace drover::acl {

inline constexpr std::string_view kAnonymous = "anonymous";  // the policy, and the accessor

class ServerResolver final : public WorkloadRights {
 public:
  explicit ServerResolver(const Tables& tables) : tables_(tables), workload_tokens_(tables) {}
  void start(Host& host, bool is_enabled) {
    workload_tokens_.start(host);
    host_ = &host;
    is_enabled_ = is_enabled;
  }

  // Errors: permission_denied.
  Result<Identity> resolve(const CallContext& context);
  // The task that a token stands for. Errors: permission_denied.
  Result<WorkloadTokens::Shown> workload_of(const std::string& token, const ReadView& view);
  Result<std::shared_ptr<const Permissions>> rights_of(const ReadView& view, const Workload& workload) override;

 private:
  Result<Resolved> look_up(const CallContext& context, const ReadView& view);
  Result<Resolved> of_token(const v1::AclToken& token, const ReadView& view);
  Result<Resolved> of_node(const std::string& proof, const ReadView& view);
  Result<Resolved> of_workload(const std::string& token, const ReadView& view);
  Result<std::shared_ptr<const Permissions>> compiled(const std::vector<v1::AclPolicy>& policies,
                                                      const Workload* workload = nullptr);
  uint64_t index_of_tables(const ReadView& view) const;

  struct Known {
    Resolved resolved;
    uint64_t index = 0;  // of the tables that it rests on
  };

  const Tables& tables_;
  WorkloadTokens workload_tokens_;
  Host* host_ = nullptr;
  bool is_enabled_ = false;
  Mutex mutex_;
  Recent<Known> known_ DROVER_GUARDED_BY(mutex_){4096};
  Recent<std::shared_ptr<const Permissions>> compiled_ DROVER_GUARDED_BY(mutex_){512};
};

}  // namespace drover::acl
