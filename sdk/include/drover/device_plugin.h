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
// in parallel; each may take ten seconds and must then have ended. There is no call that gives an instance back: who
// holds what is the scheduler's knowledge, and a plugin keeps none of it. So a plugin may die and be started anew at
// any time, and nothing of a task depends on it after reserve() has answered.
//
// Errors: invalid_argument for what the operator or the caller wrote wrong, naming it; not_found for an instance that
// is not there; any other code for what failed, with a sentence that says what.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace hashicorp::nomad::plugins::base::proto {
class SetConfigRequest;
}
namespace hashicorp::nomad::plugins::shared::hclspec {
class Spec;
}
namespace hashicorp::nomad::plugins::device {
class ContainerReservation;
class FingerprintResponse;
class StatsResponse;
}  // namespace hashicorp::nomad::plugins::device

namespace drover {

namespace device = hashicorp::nomad::plugins::device;

class DevicePlugin {
 public:
  static constexpr std::string_view kExtensionPoint = "device";
  virtual ~DevicePlugin() = default;

  // What the operator's `config` block may hold; an empty one, the default: nothing. Constant.
  virtual hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const;

  // Comes before every call below, and perhaps again with the same bytes: msgpack by that schema with every name in it,
  // null where nothing was written, or no bytes at all. Must not touch devices: hosts start a plugin more than once
  // before they use it. Errors: invalid_argument naming the option.
  virtual Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request);

  // Ends whatever the plugin itself runs. Nothing is called after it. Idempotent. The default does nothing.
  virtual void stop() {}

  // How long a fingerprint stays true, at least 100 ms. Asked after each fingerprint.
  virtual std::chrono::nanoseconds fingerprint_every() const { return std::chrono::seconds(30); }

  // All groups of instances there are now; what was said before and is missing here is gone. A group is instances that
  // a job may take one for the other; vendor, type and name are not empty, and vendor and type hold no '/'. An
  // instance's ID is not empty, unique among all instances of the plugin and the same after a restart of the machine.
  // One that cannot be used is there and not `healthy`, with a reason; nothing new is placed on it. Attributes are
  // constant facts for constraints ("memory" = 16 GiB), numbers of something with one of the units of drover/units.h.
  // An error withdraws all groups until a later fingerprint succeeds. Idempotent, without side effects.
  virtual Result<device::FingerprintResponse> fingerprint() = 0;

  // What a task needs to use these instances, all that it gets of this plugin: variables of its environment, host paths
  // that are mounted into it and device files that are made in it, with cgroup permissions out of "rwm". A path in the
  // task is absolute. Comes before the task starts, and again for the same instances whenever it starts again; the
  // answer depends on the instances alone. Errors: not_found naming an instance that is not there; one that is there
  // and unhealthy is the plugin's to give or to refuse.
  virtual Result<device::ContainerReservation> reserve(std::span<const std::string> ids) = 0;

  // One sample of all instances, with its time; an instance without statistics is left out. Idempotent.
  virtual Result<device::StatsResponse> stats() = 0;
};

// Device plugins that are programs of their own and come and go while the agent runs.
class DeviceSource {
 public:
  static constexpr std::string_view kExtensionPoint = "device_source";
  virtual ~DeviceSource() = default;

  // Those that have said their name so far; it is the plugin's own, not its file's. A plugin once given lives as long
  // as the source, and answers fingerprint() with what its program said last, or unavailable while there is none. [any]
  struct Named {
    std::string name;
    DevicePlugin* plugin;
  };
  virtual std::vector<Named> device_plugins() const = 0;
  // Calls back, from any thread, when a plugin has come or its fingerprint has changed. `changed` must not block; an
  // empty one ends it.
  virtual void watch_devices(std::function<void()> changed) = 0;
};

}  // namespace drover
