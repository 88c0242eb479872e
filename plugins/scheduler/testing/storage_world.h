// Volumes, claims and plugins for tests.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "testing/fixtures.h"
#include "volumes/storage.h"

namespace drover::scheduler::testing {

// The plugin on the node, healthy. `limit`: of volumes there; 0: none.
inline v1::CsiInfo& add_plugin(v1::Node& node, const std::string& plugin = "p", int64_t limit = 0) {
  v1::CsiInfo& info = (*node.mutable_csi_node_plugins())[plugin];
  info.set_plugin_id(plugin);
  info.set_healthy(true);
  info.mutable_node_info()->set_max_volumes(limit);
  return info;
}

inline v1::VolumeRequest& ask_volume(v1::TaskGroup& group, const std::string& source,
                                     const std::string& mode = "single-node-writer", const std::string& name = "v") {
  v1::VolumeRequest& request = (*group.mutable_volumes())[name];
  request.set_name(name);
  request.set_type("csi");
  request.set_source(source);
  request.set_access_mode(mode);
  request.set_attachment_mode("file-system");
  return request;
}

// The part of the state that is about storage.
struct StorageWorld {
  std::vector<v1::CsiVolume> volumes;
  std::vector<v1::CsiClaim> claims;
  std::set<std::string> allocs;  // that are known

  v1::CsiVolume& add_volume(const std::string& id, const std::string& plugin = "p") {
    v1::CsiVolume& volume = volumes.emplace_back();
    volume.set_namespace_("default");
    volume.set_id(id);
    volume.set_plugin_id(plugin);
    for (const char* mode : {"single-node-writer", "multi-node-multi-writer", "multi-node-reader-only"}) {
      v1::CsiVolumeCapability& capability = *volume.add_requested_capabilities();
      capability.set_access_mode(mode);
      capability.set_attachment_mode("file-system");
    }
    return volume;
  }
  v1::CsiVolume& volume(const std::string& id) {
    for (v1::CsiVolume& volume : volumes) {
      if (volume.id() == id) return volume;
    }
    return add_volume(id);
  }
  // The claim of an allocation that is known, on the node of that name; the volume is used so from now on.
  v1::CsiClaim& claim(const std::string& id, const std::string& job, const std::string& alloc, const std::string& node,
                      const std::string& mode = "single-node-writer") {
    v1::CsiVolume& claimed = volume(id);
    claimed.set_access_mode(mode);
    claimed.set_attachment_mode("file-system");
    v1::CsiClaim& claim = claims.emplace_back();
    claim.set_namespace_("default");
    claim.set_volume_id(id);
    claim.set_alloc_id(id_of(alloc));
    claim.set_job_id(job);
    claim.set_node_id(id_of(node));
    claim.set_plugin_id(claimed.plugin_id());
    claim.set_external_volume_id(csi_remote_id(claimed));
    claim.set_access_mode(mode);
    claim.set_attachment_mode("file-system");
    allocs.insert(claim.alloc_id());
    return claim;
  }

  // Requires: this outlives them.
  StorageRows rows() const {
    const auto claims_where = [this](auto is_it) {
      std::vector<v1::CsiClaim> found;
      for (const v1::CsiClaim& claim : claims) {
        if (is_it(claim)) found.push_back(claim);
      }
      return found;
    };
    return {.volume = [this](const std::string& name_space, const std::string& id) -> std::optional<v1::CsiVolume> {
              for (const v1::CsiVolume& volume : volumes) {
                if (volume.namespace_() == name_space && volume.id() == id) return volume;
              }
              return std::nullopt;
            },
            .claims =
                [claims_where](const std::string& name_space, const std::string& id) {
                  return claims_where([&](const v1::CsiClaim& claim) {
                    return claim.namespace_() == name_space && claim.volume_id() == id;
                  });
                },
            .claims_on =
                [claims_where](const std::string& node) {
                  return claims_where([&](const v1::CsiClaim& claim) { return claim.node_id() == node; });
                },
            .has_alloc = [this](const std::string& id) { return allocs.contains(id); }};
  }
};

}  // namespace drover::scheduler::testing
