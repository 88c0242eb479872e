// The rules of claims on volumes of the Container Storage Interface: for servers that decide about a claim, and for
// schedulers that foresee the decision. Pure. [any]
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/tables.h"

namespace drover::v1 {
class Allocation;
class CsiClaim;
class CsiTopology;
class CsiVolume;
class Job;
class Node;
class VolumeRequest;
}  // namespace drover::v1

namespace drover {

// The volume that the allocation of that name ("job.group[3]") means by the request: its source, with "[3]" behind it
// where each allocation has a volume of its own. The same of volumes of the type "host".
std::string csi_volume_id(const v1::VolumeRequest& request, std::string_view alloc_name);

// A plugin as a whole, from what the nodes say of its instances. Those on nodes that are not ready are not healthy.
struct CsiPluginState {
  int32_t controllers = 0, controllers_healthy = 0;
  int32_t nodes = 0, nodes_healthy = 0;
  bool controller_required = false;
  bool has_topologies = false;    // it says from where each volume is reached, and may be asked for places
  std::string provider, version;  // of any instance
  bool may_be_used() const { return nodes_healthy > 0 && (!controller_required || controllers_healthy > 0); }
};
// Adds what one node says of the plugin.
void count_csi_plugin(const v1::Node& node, const std::string& plugin_id, CsiPluginState& state);
// `nodes`: the table of that name.
CsiPluginState csi_plugin_state(const ReadView& view, TableId nodes, std::string_view plugin_id);

// The storage's own name of the volume.
const std::string& csi_remote_id(const v1::CsiVolume& volume);

// True when a task of the job is a storage plugin: volumes of other jobs need it until they are released.
bool runs_csi_plugin(const v1::Job& job);

// The answer to who wants one more claim.
enum class CsiFit : uint8_t {
  fits,
  wrong_capability,  // the volume was never meant to be used so
  unschedulable,     // no healthy plugin
  other_mode,        // it is in use in another mode meanwhile
  read_only,         // the mode lets nobody write
  no_reader,         // as many read it as may
  no_writer,         // the same of those who write
};
// `claims`: all on the volume beside the one that is asked for, those that are being given back included.
CsiFit csi_fit(const v1::CsiVolume& volume, bool plugin_may_be_used, std::span<const v1::CsiClaim> claims,
               const v1::VolumeRequest& request);

// True when a volume that is reached from `volume`'s topologies is reached from the node's; every volume without any
// is. The names of segments are the same in capitals and small letters, their values are not.
bool csi_reaches(const v1::CsiVolume& volume, const v1::CsiTopology& node);

// Bounds and words that are checked where volumes and jobs are.
bool is_csi_access_mode(std::string_view word);
bool is_csi_attachment_mode(std::string_view word);
bool csi_mode_writes(std::string_view access_mode);

}  // namespace drover
