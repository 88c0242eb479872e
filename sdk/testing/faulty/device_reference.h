// A device plugin without fault: three files of every machine, in two groups.
#pragma once

#include "drover/device_plugin.h"

namespace drover::faulty {

class ReferenceDevice final : public DevicePlugin {
 public:
  Result<device::FingerprintResponse> fingerprint() override;
  Result<device::ContainerReservation> reserve(std::span<const std::string> ids) override;
  Result<device::StatsResponse> stats() override;
};

}  // namespace drover::faulty
