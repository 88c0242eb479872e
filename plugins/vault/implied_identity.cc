#include "implied_identity.h"

#include "drover/v1/job.pb.h"

namespace drover::vault {

DefaultIdentity read_default_identity(const ConfigBlock* block) {
  DefaultIdentity identity;
  if (!block) return identity;
  if (block->has("aud")) identity.audience = block->string_list("aud");
  identity.ttl = block->duration("ttl", std::chrono::nanoseconds(identity.ttl)).count();
  identity.env = block->boolean("env");
  identity.file = block->boolean("file");
  return identity;
}

std::optional<v1::Identity> VaultIdentity::identity_for(const v1::TaskGroup&, const v1::Task& task) const {
  if (!identity_ || !task.has_vault()) return std::nullopt;
  v1::Identity identity;
  identity.set_name("vault_" + task.vault().cluster());
  for (const std::string& each : identity_->audience) identity.add_audience(each);
  identity.set_ttl(identity_->ttl);
  identity.set_env(identity_->env);
  identity.set_file(identity_->file);
  return identity;
}

}  // namespace drover::vault
