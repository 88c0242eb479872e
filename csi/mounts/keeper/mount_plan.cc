#include "keeper/mount_plan.h"

#include <algorithm>

namespace drover::mounts {

bool share_stage(const Mount& a, const Mount& b) {
  return a.plugin_id == b.plugin_id && a.plugin_type == b.plugin_type && a.key.name_space == b.key.name_space &&
         a.key.volume_id == b.key.volume_id && a.usage == b.usage;
}

bool uses_stage(const Mount& mount) {
  return mount.stages && mount.step >= Step::staging && mount.step <= Step::unpublishing;
}

bool is_stage_shared(const Mount& mount, std::span<const Mount> all) {
  return std::ranges::any_of(all, [&](const Mount& other) {
    return other.key != mount.key && uses_stage(other) && share_stage(other, mount);
  });
}

Forward next_forward(const Mount& mount, bool is_mounted) {
  switch (mount.step) {
    case Step::staged:
    case Step::publishing:
      return Forward::publish;
    case Step::published:
      if (is_mounted) return Forward::nothing;
      [[fallthrough]];
    default:
      return mount.stages ? Forward::stage : Forward::publish;
  }
}

Back next_back(const Mount& mount, bool is_stage_shared) {
  switch (mount.step) {
    case Step::publishing:
    case Step::published:
    case Step::unpublishing:
      return Back::unpublish;
    case Step::staging:
    case Step::staged:
    case Step::unpublished:
    case Step::unstaging:
      return mount.stages && !is_stage_shared ? Back::unstage : Back::tell;
    case Step::claiming:
    case Step::undone:
      break;
  }
  return Back::tell;
}

// A method that is not there can never do more; what is still mounted then is seen in the system's list.
bool counts_as_undone(Code code, std::string_view text, bool is_target_there) {
  if (code == Code::ok || code == Code::not_found || code == Code::unimplemented) return true;
  return !is_target_there && !may_pass(code) && text.find("no mount point") != text.npos;
}

bool may_pass(Code code) {
  return code == Code::unavailable || code == Code::deadline_exceeded || code == Code::aborted ||
         code == Code::resource_exhausted;
}

Reconciled reconcile(const Knowledge& knowledge) {
  Reconciled out;
  std::set<MountKey> recorded, claimed;
  for (const NodeClaim& claim : knowledge.claims) claimed.insert(claim.key);
  for (const Mount& mount : knowledge.records) {
    recorded.insert(mount.key);
    if (!knowledge.running.contains(mount.key.alloc)) {
      out.undo.push_back(mount.key);
    } else if (mount.step == Step::published && !claimed.contains(mount.key)) {
      out.unclaimed.push_back(mount.key);
    }
  }
  for (const NodeClaim& claim : knowledge.claims) {
    if (!recorded.contains(claim.key) && !knowledge.running.contains(claim.key.alloc)) out.release.push_back(claim);
  }
  // Two mounts may lie on the same path.
  std::set<std::string> strays(knowledge.mounted.begin(), knowledge.mounted.end());
  for (const std::string& path : knowledge.known) strays.erase(path);
  out.strays.assign(strays.begin(), strays.end());
  return out;
}

}  // namespace drover::mounts
