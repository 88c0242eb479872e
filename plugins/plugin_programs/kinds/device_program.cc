#include "kinds/device_program.h"

#include "drover/log.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;

#define DROVER_DEVICE_METHOD(NAME) "/hashicorp.nomad.plugins.device.DevicePlugin/" NAME

constexpr auto kStatsInterval = 1s;

}  // namespace

// ---- the life of a process [plugin] ----

Status DeviceProgram::prove(Channel& channel) {
  const auto prints = channel.open(DROVER_DEVICE_METHOD("Fingerprint"), serialize(device::FingerprintRequest()),
                                   Messages::Keep::newest);
  const auto first = prints->newest(program_.now() + kCallTime);
  if (!first) return unavailable("it does not say what devices there are: " + prints->status().message());
  return parse_message<device::FingerprintResponse>(*first).status();
}

Result<size_t> DeviceProgram::take_over(const ChannelPtr& channel) {
  DROVER_RETURN_IF_ERROR(prepare(channel));
  return size_t{0};
}

Status DeviceProgram::prepare(const ChannelPtr& channel) {
  prints_ = channel->open(DROVER_DEVICE_METHOD("Fingerprint"), serialize(device::FingerprintRequest()));
  prints_reader_ = std::thread([this, channel, prints = prints_] {
    ::pthread_setname_np(::pthread_self(), "plugin-print");
    read_fingerprints(*prints);
  });
  return ok_status();
}

void DeviceProgram::read_fingerprints(Messages& prints) {
  while (const auto bytes = prints.next()) {
    auto print = parse_message<device::FingerprintResponse>(*bytes);
    if (!print) log::warn("plugin", "a fingerprint cannot be read", {{"plugin", program_.file_name()}});
    {
      const MutexLock lock(mutex_);
      if (print) fingerprint_ = *std::move(print);
    }
    changed();
  }
  const Status status = prints.status();
  if (status.code() == Code::cancelled || program_.is_handing_over()) return;
  // A plugin that has nothing to offer may say so by ending the stream.
  const std::string why = status.ok() ? "it ended the stream of its devices" : status.message();
  log::warn("plugin", "the devices of a plugin are withdrawn", {{"plugin", program_.file_name()}, {"reason", why}});
  {
    const MutexLock lock(mutex_);
    fingerprint_.reset();
    problem_ = why;
  }
  changed();
}

void DeviceProgram::lost(bool is_handed_over) {
  if (prints_) prints_->cancel();
  if (prints_reader_.joinable()) prints_reader_.join();
  prints_.reset();
  std::shared_ptr<Messages> stats;  // ends outside the lock
  {
    const MutexLock lock(mutex_);
    stats = std::move(stats_);
    if (is_handed_over) return;
    fingerprint_.reset();
    problem_.clear();
  }
  changed();
}

// ---- calls [any] ----

Result<device::FingerprintResponse> DeviceProgram::fingerprint() {
  const std::string state = program_.describe();
  const MutexLock lock(mutex_);
  if (fingerprint_) return *fingerprint_;
  return unavailable(problem_.empty() ? state : state + ": " + problem_);
}

Result<device::ContainerReservation> DeviceProgram::reserve(std::span<const std::string> ids) {
  device::ReserveRequest request;
  for (const std::string& id : ids) request.add_device_ids(id);
  DROVER_TRY(auto answer, program_.ask<device::ReserveResponse>(DROVER_DEVICE_METHOD("Reserve"), request,
                                                                ProgramHost::Again::once, kCallTime));
  return std::move(*answer.mutable_container_res());
}

Result<device::StatsResponse> DeviceProgram::stats() {
  DROVER_TRY(const ChannelPtr channel, program_.channel(program_.now()));
  std::shared_ptr<Messages> messages;
  {
    const MutexLock lock(mutex_);
    if (!stats_) {
      device::StatsRequest request;
      *request.mutable_collection_interval() = duration_of(kStatsInterval);
      stats_ = channel->open(DROVER_DEVICE_METHOD("Stats"), serialize(request), Messages::Keep::newest);
    }
    messages = stats_;
  }
  const std::optional<std::string> bytes = messages->newest(program_.now() + kCallTime);
  if (!bytes) {
    const Status status = messages->status();
    const MutexLock lock(mutex_);
    if (stats_ == messages) stats_.reset();
    return status.ok() ? unavailable("the plugin has no statistics") : status;
  }
  return parse_message<device::StatsResponse>(*bytes);
}

}  // namespace drover::plugin_programs
