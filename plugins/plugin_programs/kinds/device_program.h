// The device plugin that a program brings, as the agent calls it. Its last report of its devices is kept while the
// process runs; with the process its devices are gone, until the next one has reported them. Any thread may call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "drover/device_plugin.h"
#include "drover/mutex.h"
#include "kinds/role_options.h"

#include "nomad/plugins/device.pb.h"

namespace drover::plugin_programs {

class DeviceProgram final : public DevicePlugin, public Role {
 public:
  // `program` ends before it.
  DeviceProgram(RoleOptions options, ProgramHost& program) : changed_(std::move(options.changed)), program_(program) {}

  // Errors: unavailable, saying why, while there is no process or it has not spoken yet.
  Result<device::FingerprintResponse> fingerprint() override;
  Result<device::ContainerReservation> reserve(std::span<const std::string> ids) override;
  // The newest sample; the first call opens the stream.
  Result<device::StatsResponse> stats() override;

 private:
  Status prove(Channel& channel) override;
  Status prepare(const ChannelPtr& channel) override;
  Result<size_t> take_over(const ChannelPtr& channel) override;
  void lost(bool is_handed_over) override;
  void read_fingerprints(Messages& prints);
  void changed() const {
    if (changed_) changed_();
  }

  const std::function<void()> changed_;
  ProgramHost& program_;
  mutable Mutex mutex_;
  std::optional<device::FingerprintResponse> fingerprint_ DROVER_GUARDED_BY(mutex_);  // of the running process
  std::string problem_ DROVER_GUARDED_BY(mutex_);                                     // why it will say no more
  std::shared_ptr<Messages> stats_ DROVER_GUARDED_BY(mutex_);
  std::shared_ptr<Messages> prints_;  // [plugin]
  std::thread prints_reader_;         // [plugin]
};

}  // namespace drover::plugin_programs
