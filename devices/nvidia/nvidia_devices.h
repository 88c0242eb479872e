// NVIDIA GPUs as devices "nvidia/gpu/<model>". A task gets the identifiers of its GPUs in NVIDIA_VISIBLE_DEVICES, which
// the vendor's container runtime, CUDA programs under it and drivers that know it read.
//
//   enabled            = true
//   fingerprint_period = "1m"
//   ignored_gpu_ids    = ["GPU-fef8089b-…"]
//
// A GPU in MIG mode is published as its partitions, each with its own identifier and model, and not as a whole. An
// instance is healthy while the driver answers for it. Without the driver's library there are no GPUs, which is said
// once in the log; the library is looked for again at each fingerprint.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "drover/device_plugin.h"
#include "drover/mutex.h"
#include "nvml.h"

namespace drover::nvidia {

class NvidiaDevices final : public DevicePlugin {
 public:
  explicit NvidiaDevices(std::string library = "libnvidia-ml.so.1") : library_(std::move(library)) {}

  hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  std::chrono::nanoseconds fingerprint_every() const override { return options().fingerprint_period; }
  Result<device::FingerprintResponse> fingerprint() override;
  Result<device::ContainerReservation> reserve(std::span<const std::string> ids) override;
  Result<device::StatsResponse> stats() override;

 private:
  struct Options {
    bool is_enabled = true;
    std::chrono::nanoseconds fingerprint_period = std::chrono::minutes(1);
    std::set<std::string> ignored;
  };
  Options options() const;
  // Null when there is no library on this machine.
  Result<std::shared_ptr<Nvml>> nvml();
  // Without those that are ignored; none when the plugin is switched off or there is no library.
  Result<std::vector<Gpu>> gpus();

  const std::string library_;
  mutable Mutex mutex_;
  Options options_ DROVER_GUARDED_BY(mutex_);
  std::shared_ptr<Nvml> nvml_ DROVER_GUARDED_BY(mutex_);  // once it could be opened
  bool is_absence_told_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::nvidia
