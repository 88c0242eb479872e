// Faults of the node: what it says, what it mounts, and what it leaves.
#include <sys/mount.h>

#include <filesystem>
#include <fstream>

#include "../trial.h"
#include "drover/uuid.h"
#include "faults.h"

namespace drover::csi_kit {
namespace {

using Stage = v1::NodeStageVolumeRequest;
using Unstage = v1::NodeUnstageVolumeRequest;
using Publish = v1::NodePublishVolumeRequest;
using Unpublish = v1::NodeUnpublishVolumeRequest;
using Stats = v1::NodeGetVolumeStatsRequest;

// Something else over what is there.
void mount_over(const std::string& path) { (void)::mount("tmpfs", path.c_str(), "tmpfs", 0, nullptr); }

void add_information(Faults& out) {
  using Info = v1::NodeGetInfoRequest;
  using Capabilities = v1::NodeGetCapabilitiesRequest;
  out["node.info"] = edits<Info>([](const auto&, auto& answer) { answer.set_node_id(std::string(257, 'n')); });
  out["node.same-info"] =
      edits<Info>([](const auto&, auto& answer) { answer.set_node_id(Uuid::random().to_string()); });
  out["restart.same-node"] = out["node.same-info"];
  out["node.most-volumes"] = edits<Info>([](const auto&, auto& answer) { answer.set_max_volumes_per_node(-1); });
  out["node.place"] = edits<Info>([](const auto&, auto& answer) { answer.clear_accessible_topology(); });
  out["node.capabilities"] =
      edits<Capabilities>([](const auto&, auto& answer) { answer.add_capabilities()->mutable_rpc(); });
  out["node.same-capabilities"] =
      edits_later<Capabilities>([](const auto&, auto& answer) { answer.clear_capabilities(); });
  out["hostile.garbage-node"] = pretends<Publish>();
}

void add_stage(Faults& out) {
  out["stage.stages"] = fails<Stage>(Code::internal);
  out["stage.unstages"] = pretends<Unstage>();
  out["stage.again-elsewhere"] = fails_later<Stage>(Code::internal);
  out["stage.publish-needs-it"] = says<Publish>(Code::failed_precondition, Code::internal);
  out["idempotency.stage"] = fails_again<Stage>(Code::internal);
  out["idempotency.stage-otherwise"] = says<Stage>(Code::already_exists, Code::ok);
  out["idempotency.unstage"] = fails_later<Unstage>(Code::internal);
  out["idempotency.unstage-never"] = fails<Unstage>(Code::failed_precondition);
  out["stats.usage"] = edits<Stats>([](const auto&, auto& answer) { answer.clear_usage(); });
  out["stats.unknown-volume"] = says<Stats>(Code::not_found, Code::internal);
  out["stats.elsewhere"] = says<Stats>(Code::not_found, Code::ok);
  out["stats.condition"] =
      edits<Stats>([](const auto&, auto& answer) { answer.mutable_volume_condition()->clear_message(); });
}

void add_publish(Faults& out) {
  const Fault does_nothing = pretends<Publish>();
  out["publish-table.target"] = out["publish-table.mounted"] = does_nothing;
  out["publish-table.write"] = hears<Publish>([](Publish& request) { request.set_readonly(true); });
  // A workload's end takes its data with it.
  out["publish-table.stays"] = on<Unpublish>(everywhere<Unpublish>, [](Passing& passing) {
    std::filesystem::remove(request_of<Unpublish>(passing).target_path() + "/drover-csi-test");
    return passing.forward(passing.request);
  });
  out["publish-table.read-only"] = hears<Publish>([](Publish& request) { request.set_readonly(false); });
  out["publish-table.same"] = out["restart.publish-again"] = fails_again<Publish>(Code::already_exists);
  // Mounts once more, and unmounts once.
  out["publish-table.same-once"] = both(also<Publish>([](const Passing& passing, const Publish& request) {
                                          if (passing.is_again) mount_over(request.target_path());
                                        }),
                                        on<Unpublish>(everywhere<Unpublish>, [](Passing& passing) {
                                          (void)::umount(request_of<Unpublish>(passing).target_path().c_str());
                                          return Result<std::string>(std::string());
                                        }));
  out["publish-table.otherwise"] = says<Publish>(Code::already_exists, Code::ok);
  out["publish-table.other-target"] = says<Publish>(Code::failed_precondition, Code::ok);
  out["publish-table.shared"] = fails_later<Publish>(Code::failed_precondition);
  out["publish-table.shared-content"] = also<Publish>([](const Passing& passing, const Publish& request) {
    if (passing.times == 2) mount_over(request.target_path());
  });
  out["publish-table.unpublish"] =
      also<Unpublish>([](const Passing&, const Unpublish& request) { std::ofstream(request.target_path()) << "left"; });
  out["idempotency.unpublish"] = fails_later<Unpublish>(Code::internal);
  out["idempotency.unpublish-never"] = fails<Unpublish>(Code::failed_precondition);
  out["concurrency.publish"] = fails_later<Publish>(Code::internal, 3);
}

// Faults that show in the kit's folder.
void add_leftovers(Faults& out, const std::string& folder) {
  out["publish-table.one-of-two"] = also<Unpublish>([folder](const Passing&, const Unpublish&) {
    for (const std::string& each : mounts_below(folder + "/targets")) (void)::umount(each.c_str());
  });
  out["restart.in-use"] = {.when_killed = [folder] {
    for (const std::string& each : mounts_below(folder)) (void)::umount2(each.c_str(), MNT_DETACH);
  }};
  out["restart.unpublish"] = pretends<Unpublish>();
  out["restart.answers"] = fails<v1::GetPluginInfoRequest>(Code::unavailable);
  out["restart.orderly"] = {.is_deaf = true};
  out["clean.mounts"] =
      also<Unstage>([](const Passing&, const Unstage& request) { mount_over(request.staging_target_path()); });
  out["clean.targets"] = also<Unpublish>(
      [](const Passing&, const Unpublish& request) { std::filesystem::create_directory(request.target_path()); });
  out["clean.staging"] = also<Unstage>([](const Passing&, const Unstage& request) {
    std::ofstream(request.staging_target_path() + "/metadata.json") << "{}";
  });
  out["clean.socket"] = also<v1::ProbeRequest>(
      [](const Passing& passing, const auto&) { std::ofstream(passing.socket_folder + "/plugin.lock") << "1"; });
}

}  // namespace

Faults node_faults(const std::string& folder) {
  Faults out;
  add_information(out);
  add_stage(out);
  add_publish(out);
  add_leftovers(out, folder);
  return out;
}

}  // namespace drover::csi_kit
