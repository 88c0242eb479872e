#include <algorithm>
#include <memory>
#include <vector>

#include "base_service.h"
#include "drover/clock.h"
#include "drover/device_plugin.h"
#include "drover/log.h"

#include "nomad/plugins/device.pb.h"

namespace drover::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kShortestFingerprint = 100ms;
constexpr int64_t kSecond = 1'000'000'000;

// A new message only when something has changed. An error withdraws what was said and does not end the stream: a host
// that sees it end may never ask again.
Status follow_fingerprint(DevicePlugin& plugin, Call& call) {
  std::string last, last_error;
  bool is_first = true;
  do {
    auto print = plugin.fingerprint();
    const std::string error = print.ok() ? std::string() : print.status().message();
    if (!error.empty() && error != last_error)
      log::warn("device", "the devices cannot be read and are withdrawn", {{"error", error}});
    last_error = error;
    std::string bytes = print.ok() ? serialize(*print) : std::string();
    if ((is_first || bytes != last) && !call.send(bytes)) break;
    is_first = false;
    last = std::move(bytes);
  } while (!wait(call, std::max(plugin.fingerprint_every(), kShortestFingerprint)));
  return cancelled("the call has ended");
}

// Readers written in Go fail on a sample without its time or its summary.
void complete(device::StatsResponse& stats, int64_t now_ns) {
  for (device::DeviceGroupStats& group : *stats.mutable_groups()) {
    for (auto& [id, instance] : *group.mutable_instance_stats()) {
      (void)instance.mutable_summary();
      (void)instance.mutable_stats();
      if (instance.has_timestamp()) continue;
      instance.mutable_timestamp()->set_seconds(now_ns / kSecond);
      instance.mutable_timestamp()->set_nanos(static_cast<int32_t>(now_ns % kSecond));
    }
  }
}

Status follow_stats(DevicePlugin& plugin, Call& call) {
  DROVER_TRY(const auto request, parse_message<device::StatsRequest>(call.request()));
  const std::chrono::nanoseconds interval = sampling_interval(request.collection_interval());
  do {
    auto stats = plugin.stats();
    if (!stats) return with_code(stats.status());
    complete(*stats, SystemClock().wall_ns());
    if (!call.send(serialize(*stats))) break;
  } while (!wait(call, interval));
  return cancelled("the call has ended");
}

Result<device::ReserveResponse> reserve(DevicePlugin& plugin, const device::ReserveRequest& request) {
  const std::vector<std::string> ids(request.device_ids().begin(), request.device_ids().end());
  DROVER_TRY(auto reservation, plugin.reserve(ids));
  device::ReserveResponse out;
  *out.mutable_container_res() = std::move(reservation);
  return out;
}

}  // namespace

Methods methods_of(DevicePlugin& plugin, const About& about) {
  Methods methods;
  add_base_methods(methods, DevicePlugin::kKind, plugin, about, with_code);
  const auto add = [&](const char* name, Handler handler) {
    methods["/hashicorp.nomad.plugins.device.DevicePlugin/" + std::string(name)] = std::move(handler);
  };
  add("Fingerprint", [&plugin](Call& call) { return follow_fingerprint(plugin, call); });
  add("Stats", [&plugin](Call& call) { return follow_stats(plugin, call); });
  add("Reserve", unary<device::ReserveRequest, device::ReserveResponse>(
                     with_code, [&plugin](const auto& request, Call&) { return reserve(plugin, request); }));
  return methods;
}

}  // namespace drover::serve
