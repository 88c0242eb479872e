#include "tokens/implied_identity.h"

#include "drover/v1/job.pb.h"

namespace drover::consul {

// Every group has a block `consul` of defaults, so only that of the task says that it is meant.
std::optional<v1::Identity> ConsulIdentity::identity_for(const v1::TaskGroup&, const v1::Task& task) const {
  if (!identity_ || (!task.has_consul() && task.templates().empty())) return std::nullopt;
  return *identity_;
}

}  // namespace drover::consul
