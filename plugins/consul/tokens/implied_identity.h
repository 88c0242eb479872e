// Tasks that use Consul have an identity for it, where the servers' configuration says which.
#pragma once

#include <memory>

#include "drover/implied_identity.h"

namespace drover::consul {

class ConsulIdentity final : public ImpliedIdentity {
 public:
  // Once. Null: tasks get none by themselves.
  void start(std::shared_ptr<const v1::Identity> identity) { identity_ = std::move(identity); }
  std::optional<v1::Identity> identity_for(const v1::TaskGroup& group, const v1::Task& task) const override;

 private:
  std::shared_ptr<const v1::Identity> identity_;  // constant after start
};

}  // namespace drover::consul
