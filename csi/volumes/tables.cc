#include "tables.h"

#include <algorithm>

#include "drover/message_fields.h"
#include "drover/model/allocation.h"
#include "drover/model/csi_volume.h"
#include "drover/root_keys.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/job.pb.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

std::string key_of(const v1::CsiClaimKey& name) {
  return csi_claim_key(name.namespace_(), name.volume_id(), name.alloc_id());
}

v1::VolumeRequest request_of(const v1::CsiClaim& claim) {
  v1::VolumeRequest request;
  request.set_read_only(claim.read_only());
  request.set_access_mode(claim.access_mode());
  request.set_attachment_mode(claim.attachment_mode());
  return request;
}

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> registered(const v1::CsiVolumesRegistered& command, ApplyContext& context) const {
    for (const auto& one : command.volumes()) DROVER_RETURN_IF_ERROR(put_volume(one, context));
    return std::string();
  }

  Result<std::string> deregistered(const v1::CsiVolumeDeregistered& command, ApplyContext& context) const {
    const std::string key = csi_volume_key(command.namespace_(), command.id());
    const auto volume = tables_.volumes.get(context.rows(), key);
    if (!volume) return not_found(std::string(kUnknownVolume));
    const auto claims = claims_on(context.rows(), tables_, command.namespace_(), command.id());
    for (const v1::CsiClaim& claim : claims) {
      if (!command.force() || !has_ended(context.rows(), tables_, claim.alloc_id()))
        return failed_precondition("volume in use: " + command.id());
    }
    for (v1::CsiClaim claim : claims) {
      if (volume->has_secrets()) *claim.mutable_secrets() = volume->secrets();
      DROVER_RETURN_IF_ERROR(tables_.claims.put(context.rows(), claim));
    }
    tables_.volumes.erase(context.rows(), key);
    return std::string();
  }

  // Another claim may have come before this one since the leader decided.
  Result<std::string> claimed(v1::CsiClaimed& command, ApplyContext& context) const {
    v1::CsiClaim& claim = *command.mutable_claim();
    const std::string key = csi_claim_key(claim.namespace_(), claim.volume_id(), claim.alloc_id());
    if (context.rows().get(tables_.claims.id(), key)) return std::string();
    auto volume = tables_.volumes.get(context.rows(), csi_volume_key(claim.namespace_(), claim.volume_id()));
    if (!volume) return not_found(std::string(kUnknownVolume));
    const auto claims = claims_on(context.rows(), tables_, claim.namespace_(), claim.volume_id());
    if (csi_fit(*volume, true, claims, request_of(claim)) != CsiFit::fits)
      return failed_precondition(std::string(kNoClaimLeft));
    claim.set_create_index(context.index());
    claim.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.claims.put(context.rows(), claim));
    DROVER_RETURN_IF_ERROR(set_modes(*std::move(volume), claim.access_mode(), claim.attachment_mode(), context));
    return std::string();
  }

  Result<std::string> moved(const v1::CsiClaimsMoved& command, ApplyContext& context) const {
    for (const v1::CsiClaimMove& move : command.moves())
      DROVER_RETURN_IF_ERROR(move_claim(move, command.time(), context));
    return std::string();
  }

  Result<std::string> resealed(const v1::CsiSecretsResealed& command, ApplyContext& context) const {
    for (const v1::CsiVolume& anew : command.volumes()) {
      auto row = tables_.volumes.get(context.rows(), csi_volume_key(anew.namespace_(), anew.id()));
      if (!row || row->modify_index() != anew.modify_index() || !may_use(anew.secrets(), context)) continue;
      *row->mutable_secrets() = anew.secrets();
      DROVER_RETURN_IF_ERROR(tables_.volumes.put(context.rows(), *row));
    }
    for (const v1::CsiClaim& anew : command.claims()) {
      const std::string key = csi_claim_key(anew.namespace_(), anew.volume_id(), anew.alloc_id());
      auto row = tables_.claims.get(context.rows(), key);
      if (!row || !row->has_secrets() || !may_use(anew.secrets(), context)) continue;
      *row->mutable_secrets() = anew.secrets();
      DROVER_RETURN_IF_ERROR(tables_.claims.put(context.rows(), *row));
    }
    return std::string();
  }

 private:
  bool may_use(const v1::SealedSecrets& secrets, ApplyContext& context) const {
    return may_seal_by(context.rows(), tables_.root_keys, Uses(tables_), secrets.key_id());
  }

  Status put_volume(const v1::CsiVolumesRegistered::One& one, ApplyContext& context) const {
    v1::CsiVolume volume = one.volume();
    const auto before = tables_.volumes.get(context.rows(), csi_volume_key(volume.namespace_(), volume.id()));
    if (one.modify_index() != (before ? before->modify_index() : 0))
      return aborted("volume " + volume.id() + " was changed meanwhile");
    if (volume.has_secrets() && !may_use(volume.secrets(), context))
      return aborted("the root key was replaced meanwhile");
    volume.set_access_mode(before ? before->access_mode() : "");
    volume.set_attachment_mode(before ? before->attachment_mode() : "");
    volume.set_create_index(before ? before->create_index() : context.index());
    volume.set_create_time(before ? before->create_time() : volume.modify_time());
    volume.set_modify_index(context.index());
    return tables_.volumes.put(context.rows(), volume);
  }

  Status set_modes(v1::CsiVolume volume, const std::string& access, const std::string& attachment,
                   ApplyContext& context) const {
    if (volume.access_mode() == access && volume.attachment_mode() == attachment) return ok_status();
    volume.set_access_mode(access);
    volume.set_attachment_mode(attachment);
    volume.set_modify_index(context.index());
    return tables_.volumes.put(context.rows(), volume);
  }

  Status move_claim(const v1::CsiClaimMove& move, int64_t time, ApplyContext& context) const {
    auto claim = tables_.claims.get(context.rows(), key_of(move.name()));
    if (!claim || claim->step() != move.from()) return ok_status();
    const bool has_failed = !move.error().empty();
    if (!has_failed && move.to() == v1::CSI_CLAIM_STEP_UNSPECIFIED) return free(*claim, context);
    claim->set_attempts(has_failed ? claim->attempts() + 1 : 0);
    claim->set_last_error(move.error());
    claim->set_next_try(move.next_try());
    claim->set_is_final_error(has_failed && move.is_final());
    if (!has_failed) {
      claim->set_step(move.to());
      claim->set_since(time);
      if (move.to() == v1::CSI_CLAIM_STEP_ATTACHED) *claim->mutable_publish_context() = move.publish_context();
    }
    claim->set_modify_index(context.index());
    return tables_.claims.put(context.rows(), *claim);
  }

  Status free(const v1::CsiClaim& claim, ApplyContext& context) const {
    tables_.claims.erase(context.rows(), csi_claim_key(claim.namespace_(), claim.volume_id(), claim.alloc_id()));
    if (!claims_on(context.rows(), tables_, claim.namespace_(), claim.volume_id()).empty()) return ok_status();
    auto volume = tables_.volumes.get(context.rows(), csi_volume_key(claim.namespace_(), claim.volume_id()));
    if (!volume) return ok_status();
    return set_modes(*std::move(volume), "", "", context);
  }

  const Tables& tables_;
};

}  // namespace

std::vector<v1::CsiClaim> claims_on(const ReadView& view, const Tables& tables, std::string_view name_space,
                                    std::string_view volume_id) {
  return tables.claims.list(view, kPrimary, of_csi_volume(name_space, volume_id));
}

bool has_ended(const ReadView& view, const Tables& tables, std::string_view alloc_id) {
  const auto alloc = view.get(tables.allocs, alloc_id);
  if (!alloc) return true;
  const uint64_t status = number_field(*alloc, v1::Allocation::kClientStatusFieldNumber);
  return client_terminal(static_cast<v1::ClientStatus>(status));
}

uint64_t Uses::uses(const ReadView& view, std::string_view key_id, uint64_t most) const {
  uint64_t count = 0;
  for (auto at = view.scan(tables_.volumes.id(), kVolumesByKey, of_id(key_id)); at->valid() && count < most; at->next())
    ++count;
  for (auto at = view.scan(tables_.claims.id(), kClaimsByKey, of_id(key_id)); at->valid() && count < most; at->next())
    ++count;
  return count;
}

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.volumes, declare_table(declare, csi_volumes_table()));
  DROVER_TRY(tables.claims, declare_table(declare, csi_claims_table()));
  DROVER_TRY(tables.nodes, declare.other_table("nodes"));
  DROVER_TRY(tables.jobs, declare.other_table("jobs"));
  DROVER_TRY(tables.job_versions, declare.other_table("job_versions"));
  DROVER_TRY(tables.allocs, declare.other_table("allocs"));
  DROVER_TRY(tables.root_keys, declare.other_table("root_keys"));
  DROVER_RETURN_IF_ERROR(declare.later_table("namespaces", tables.namespaces));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::registered>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::deregistered>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::claimed>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::moved>(commands));
  return declare.command<&Commands::resealed>(commands);
}

}  // namespace drover::volumes
