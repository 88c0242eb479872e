// Files of this machine as devices: serial ports, cameras, sound cards, a socket of a hardware service, whatever a
// pattern names. An example of a device plugin, and a useful one.
//
// An instance is healthy while its file is there and this process may use it as its permissions say. A task gets a
// device node as a device file with them; anything else (a socket, a folder, a plain file) is mounted, read-only unless
// they hold a w. The same paths stand in a variable, for drivers that can do neither.
#pragma once

#include "config.h"
#include "drover/device_plugin.h"
#include "drover/mutex.h"

namespace drover::file {

class FileDevices final : public DevicePlugin {
 public:
  hclspec::Spec config_schema() const override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  std::chrono::nanoseconds fingerprint_every() const override { return config().fingerprint_period; }

  // A file that two patterns match belongs to the first; patterns of one vendor, type and name are one group.
  Result<device::FingerprintResponse> fingerprint() override;
  Result<device::ContainerReservation> reserve(std::span<const std::string> ids) override;
  // The size of plain files; what was read from and written to block devices.
  Result<device::StatsResponse> stats() override;

 private:
  Config config() const;

  mutable Mutex mutex_;
  Config config_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::file
