#include "mounted.h"

#include <algorithm>

#include "../settings.h"
#include "checks.h"
#include "csi/v1/csi.pb.h"
#include "drover/messages.h"
#include "hostpath.pb.h"
#include "volumes.h"

namespace drover::hostpath {
namespace {

// Errors: not_found when the volume is none; invalid_argument when it is of the other access type.
Status check_volume(const State& state, const std::string& id, const Capability& capability) {
  DROVER_TRY(const Volume volume, existing_volume(state, id));
  if (volume.is_block() == capability.is_block()) return {};
  return invalid_argument("volume_capability: the volume has the other access type");
}

// Where volumes are attached first, the node must bring what the controller gave.
Status check_attached(const State& state, const Settings& settings, const std::string& id, const Texts& context) {
  if (!settings.attaches) return {};
  const Volume* volume = find_volume(state, id);
  const auto at =
      std::ranges::find(volume->attached(), settings.node_id, [](const Attached& a) { return a.node_id(); });
  if (at == volume->attached().end()) return failed_precondition("the volume is not attached to this node");
  const auto token = context.find(std::string(kAttachment));
  if (token != context.end() && token->second == at->token()) return {};
  return invalid_argument("publish_context: is not the one that the controller gave");
}

bool is_own(const Staged& staged, const Settings& settings) { return staged.node_id() == settings.node_id; }
bool is_own(const Published& published, const Settings& settings) { return published.node_id() == settings.node_id; }

const Staged* find_staged(const State& state, const Settings& settings, const std::string& path) {
  const auto at = std::ranges::find_if(
      state.staged(), [&](const Staged& each) { return is_own(each, settings) && each.path() == path; });
  return at == state.staged().end() ? nullptr : &*at;
}

const Published* find_published(const State& state, const Settings& settings, const std::string& target) {
  const auto at = std::ranges::find_if(
      state.published(), [&](const Published& each) { return is_own(each, settings) && each.target() == target; });
  return at == state.published().end() ? nullptr : &*at;
}

Status check_stage(const csi::v1::NodeStageVolumeRequest& request, const Settings& settings) {
  DROVER_RETURN_IF_ERROR(check_id(request.volume_id(), "volume_id"));
  DROVER_RETURN_IF_ERROR(check_path(request.staging_target_path(), "staging_target_path", settings.data_dir));
  DROVER_RETURN_IF_ERROR(check_texts(request.volume_context(), "volume_context"));
  return check_texts(request.publish_context(), "publish_context");
}

Status check_publish(const csi::v1::NodePublishVolumeRequest& request, const Settings& settings) {
  DROVER_RETURN_IF_ERROR(check_id(request.volume_id(), "volume_id"));
  DROVER_RETURN_IF_ERROR(check_path(request.target_path(), "target_path", settings.data_dir));
  DROVER_RETURN_IF_ERROR(check_texts(request.volume_context(), "volume_context"));
  return check_texts(request.publish_context(), "publish_context");
}

bool may_share(const Capability& capability) {
  return is_multi_node(capability) || capability.mode() == "SINGLE_NODE_MULTI_WRITER";
}

// Errors: failed_precondition when other targets on this node leave no room for one more.
Status check_others(const State& state, const Settings& settings, const Published& wanted) {
  for (const Published& each : state.published()) {
    if (!is_own(each, settings) || each.volume_id() != wanted.volume_id()) continue;
    if (!may_share(each.capability()) || !may_share(wanted.capability()))
      return failed_precondition("the volume is published at another target on this node, and its mode allows one");
  }
  return {};
}

template <typename Rows, typename Matches>
void erase_if(Rows& rows, const Matches& matches) {
  rows.erase(std::remove_if(rows.begin(), rows.end(), matches), rows.end());
}

}  // namespace

Result<Staged> stage(State& state, const Settings& settings, const csi::v1::NodeStageVolumeRequest& request) {
  DROVER_RETURN_IF_ERROR(check_stage(request, settings));
  DROVER_TRY(const Capability capability, capability_of(request.volume_capability()));
  DROVER_RETURN_IF_ERROR(check_volume(state, request.volume_id(), capability));
  DROVER_RETURN_IF_ERROR(check_attached(state, settings, request.volume_id(), request.publish_context()));
  if (find_published(state, settings, request.staging_target_path()))
    return already_exists("staging_target_path: a volume is published there");
  if (const Staged* former = find_staged(state, settings, request.staging_target_path())) {
    if (former->volume_id() == request.volume_id() && is_same(former->capability(), capability)) return *former;
    return already_exists("staging_target_path: another volume is staged there, or this one with another capability");
  }
  Staged& staged = *state.add_staged();
  staged.set_node_id(settings.node_id);
  staged.set_volume_id(request.volume_id());
  staged.set_path(request.staging_target_path());
  *staged.mutable_capability() = capability;
  return staged;
}

Result<std::optional<Staged>> staged_at(const State& state, const Settings& settings, const std::string& volume_id,
                                        const std::string& path) {
  DROVER_RETURN_IF_ERROR(check_id(volume_id, "volume_id"));
  DROVER_RETURN_IF_ERROR(check_path(path, "staging_target_path", settings.data_dir));
  const Staged* staged = find_staged(state, settings, path);
  if (!staged || staged->volume_id() != volume_id) return std::optional<Staged>();
  const bool is_used = std::ranges::any_of(state.published(), [&](const Published& each) {
    return is_own(each, settings) && each.volume_id() == volume_id && each.staging_path() == path;
  });
  if (is_used) return failed_precondition("the volume is still published from there");
  return std::optional<Staged>(*staged);
}

void forget_staged(State& state, const Staged& staged) {
  erase_if(*state.mutable_staged(),
           [&](const Staged& each) { return each.node_id() == staged.node_id() && each.path() == staged.path(); });
}

Result<Published> publish(State& state, const Settings& settings, const csi::v1::NodePublishVolumeRequest& request) {
  DROVER_TRY(const Capability capability, capability_of(request.volume_capability()));
  DROVER_RETURN_IF_ERROR(check_publish(request, settings));
  DROVER_RETURN_IF_ERROR(check_volume(state, request.volume_id(), capability));
  if (request.staging_target_path().empty())
    return failed_precondition("staging_target_path is missing: volumes are staged first");
  DROVER_RETURN_IF_ERROR(check_path(request.staging_target_path(), "staging_target_path", settings.data_dir));
  DROVER_RETURN_IF_ERROR(check_attached(state, settings, request.volume_id(), request.publish_context()));
  if (find_staged(state, settings, request.target_path()))
    return already_exists("target_path: a volume is staged there");
  const Staged* staged = find_staged(state, settings, request.staging_target_path());
  if (!staged || staged->volume_id() != request.volume_id())
    return failed_precondition("the volume is not staged at staging_target_path");
  Published wanted;
  wanted.set_node_id(settings.node_id);
  wanted.set_volume_id(request.volume_id());
  wanted.set_target(request.target_path());
  wanted.set_staging_path(request.staging_target_path());
  *wanted.mutable_capability() = capability;
  wanted.set_read_only(request.readonly());
  *wanted.mutable_volume_context() = request.volume_context();
  *wanted.mutable_publish_context() = request.publish_context();
  if (const Published* former = find_published(state, settings, request.target_path())) {
    if (serialize(*former) == serialize(wanted)) return wanted;
    return already_exists("target_path: a volume is published there otherwise");
  }
  DROVER_RETURN_IF_ERROR(check_others(state, settings, wanted));
  *state.add_published() = wanted;
  return wanted;
}

Result<std::optional<Published>> published_at(const State& state, const Settings& settings,
                                              const std::string& volume_id, const std::string& target) {
  DROVER_RETURN_IF_ERROR(check_id(volume_id, "volume_id"));
  DROVER_RETURN_IF_ERROR(check_path(target, "target_path", settings.data_dir));
  const Published* published = find_published(state, settings, target);
  if (!published || published->volume_id() != volume_id) return std::optional<Published>();
  return std::optional<Published>(*published);
}

void forget_published(State& state, const Published& published) {
  erase_if(*state.mutable_published(), [&](const Published& each) {
    return each.node_id() == published.node_id() && each.target() == published.target();
  });
}

bool needs_device(const State& state, const Settings& settings, const std::string& volume_id, bool read_only) {
  return std::ranges::any_of(state.published(), [&](const Published& each) {
    return is_own(each, settings) && each.volume_id() == volume_id && is_read_only(each) == read_only;
  });
}

bool is_read_only(const Published& published) {
  const auto& flags = published.capability().mount_flags();
  return published.read_only() || is_reader_only(published.capability()) ||
         std::ranges::find(flags, "ro") != flags.end();
}

bool is_mounted_at(const State& state, const Settings& settings, const std::string& volume_id,
                   const std::string& path) {
  const Staged* staged = find_staged(state, settings, path);
  const Published* published = find_published(state, settings, path);
  return (staged && staged->volume_id() == volume_id) || (published && published->volume_id() == volume_id);
}

void register_node(State& state, const Settings& settings) {
  auto& nodes = *state.mutable_nodes();
  auto at = std::ranges::find(nodes, settings.node_id, [](const Node& each) { return each.id(); });
  Node& node = at == nodes.end() ? *nodes.Add() : *at;
  node.set_id(settings.node_id);
  node.set_max_volumes(settings.max_volumes);
}

}  // namespace drover::hostpath
