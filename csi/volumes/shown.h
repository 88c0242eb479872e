// Volumes, claims and plugins as the API shows them: never a secret. Functions of a snapshot.
#pragma once

#include <map>
#include <string>

#include "storage_plugins.h"
#include "tables.h"

namespace drover {
class Call;
}
namespace drover::v1 {
class AllocationListStub;
class CsiPlugin;
class CsiPluginStub;
class ExplainVolumeResponse;
class Volume;
class VolumeClaim;
class VolumeStub;
}  // namespace drover::v1

namespace drover::volumes {

// Looks each plugin up once.
class PluginStates {
 public:
  PluginStates(const ReadView& view, const Tables& tables) : view_(view), tables_(tables) {}
  const StoragePlugin& of(const std::string& plugin_id);

 private:
  const ReadView& view_;
  const Tables& tables_;
  std::map<std::string, StoragePlugin> known_;
};

v1::VolumeStub stub_of(const v1::CsiVolume& volume, const std::vector<v1::CsiClaim>& claims,
                       const StoragePlugin& plugin);
v1::VolumeClaim shown_claim(const v1::CsiClaim& claim);
// With its claims, and those allocations that the caller may read.
v1::Volume shown_volume(const v1::CsiVolume& row, const Tables& tables, const Call& call);
v1::ExplainVolumeResponse explained(const std::vector<v1::CsiClaim>& claims, const ReadView& view,
                                    const Tables& tables);

v1::CsiPluginStub stub_of(const std::string& id, const StoragePlugin& plugin);
v1::CsiPlugin shown_plugin(const std::string& id, const StoragePlugin& plugin, const Tables& tables, const Call& call);

}  // namespace drover::volumes
