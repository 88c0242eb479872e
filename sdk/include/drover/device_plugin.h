// A device plugin: finds devices of one kind on this machine, says how they are, and what a task needs to reach them.
//
//              configure          fingerprint: all groups, again and again
//   (made) ──────────────▶ ready ───────────────────────────────────────────▶ the node's resources
//                            │                                                        │ a job asks for them,
//                            │        reserve(instances)                              ▼ the scheduler chooses
//                            ├◀──────────────────────────── the node, before the task starts
//                            │ ───▶ environment, mounts, device files of the task
//                            │        stats: one sample of all instances
//                            └──stop──▶ (nothing is called any more)
//
// The messages are those of the published device protocol (nomad/plugins/device.proto). Calls come from any thread and
// in parallel; each may take ten seconds and must then have ended. No call gives an instance back: the scheduler knows
// who holds an instance, and a plugin keeps none of that. So a plugin may die and be started anew at
// any time, and nothing of a task depends on it after reserve() has answered.
//
// Errors: invalid_argument for what the operator or the caller wrote wrong, naming it; not_found for an instance that
// is not there; any other code for what failed, with a sentence that says what.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "drover/configurable.h"
#include "drover/plugin_kind.h"

namespace hashicorp::nomad::plugins::device {
class ContainerReservation;
class FingerprintResponse;
class StatsResponse;
}  // namespace hashicorp::nomad::plugins::device

namespace drover {

namespace device = hashicorp::nomad::plugins::device;

class DevicePlugin : public Configurable {
 public:
  static constexpr PluginKind kKind{.type = 3,
                                    .point = "device",
                                    .word = "device",
                                    .name = "device plugin",
                                    .protocol = "nomad/plugins/device.proto"};
  static constexpr std::string_view kExtensionPoint = kKind.point;

  // How long a fingerprint stays true, at least 100 ms. Asked after each fingerprint.
  virtual std::chrono::nanoseconds fingerprint_every() const { return std::chrono::seconds(30); }

  // All groups of instances there are now; what was said before and is missing here is gone. A group is instances that
  // a job may take one for the other; vendor, type and name are not empty, and vendor and type hold no '/'. An
  // instance's ID is not empty, unique among all instances of the plugin and the same after a restart of the machine.
  // One that cannot be used is there and not `healthy`, with a reason; nothing new is placed on it. Attributes are
  // constant facts for constraints ("memory" = 16 GiB), numbers of something with one of the units of drover/units.h.
  // An error withdraws all groups until a later fingerprint succeeds. Idempotent, without side effects.
  virtual Result<device::FingerprintResponse> fingerprint() = 0;

  // Returns all that a task needs to use these instances: variables of its environment, host paths
  // that are mounted into it and device files that are made in it, with cgroup permissions out of "rwm". A path in the
  // task is absolute. Comes before the task starts, and again for the same instances whenever it starts again; the
  // answer depends on the instances alone. Errors: not_found naming an instance that is not there; one that is there
  // and unhealthy is the plugin's to give or to refuse.
  virtual Result<device::ContainerReservation> reserve(std::span<const std::string> ids) = 0;

  // One sample of all instances, with its time; an instance without statistics is left out. Idempotent.
  virtual Result<device::StatsResponse> stats() = 0;
};

}  // namespace drover
