#include "nvidia_devices.h"

#include <algorithm>
#include <map>

#include "drover/clock.h"
#include "drover/hclspec.h"
#include "drover/log.h"
#include "drover/task_options.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::nvidia {
namespace {

namespace structs = hashicorp::nomad::plugins::shared::structs;
using namespace std::chrono_literals;
using Number = std::optional<uint64_t>;

constexpr const char* kVendor = "nvidia";
constexpr const char* kType = "gpu";
constexpr const char* kVisible = "NVIDIA_VISIBLE_DEVICES";

void set(structs::Attribute& attribute, uint64_t value, const char* unit) {
  attribute.set_int_val(static_cast<int64_t>(value));
  attribute.set_unit(unit);
}

google::protobuf::Map<std::string, structs::Attribute> attributes_of(const Gpu& gpu, const std::string& driver) {
  google::protobuf::Map<std::string, structs::Attribute> out;
  out["driver_version"].set_string_val(driver);
  const std::pair<const char*, std::pair<Number, const char*>> numbers[] = {
      {"memory", {gpu.memory_mib, "MiB"}},
      {"bar1", {gpu.bar1_mib, "MiB"}},
      {"power", {gpu.power_w, "W"}},
      {"cores_clock", {gpu.core_mhz, "MHz"}},
      {"memory_clock", {gpu.memory_mhz, "MHz"}},
      {"pci_bandwidth", {gpu.pci_mb_per_s, "MB/s"}}};
  for (const auto& [name, number] : numbers) {
    if (number.first) set(out[name], *number.first, number.second);
  }
  const auto state = [](bool is_on) { return is_on ? "Enabled" : "Disabled"; };
  if (gpu.has_display) out["display_state"].set_string_val(state(*gpu.has_display));
  if (gpu.is_persistent) out["persistence_mode"].set_string_val(state(*gpu.is_persistent));
  return out;
}

// "N/A" where the hardware does not tell.
structs::StatValue stat(Number number, Number of_number, bool is_fraction, const char* unit, const char* meaning) {
  structs::StatValue value;
  value.set_unit(unit);
  value.set_desc(meaning);
  if (!number || (is_fraction && !of_number)) {
    value.mutable_string_val()->set_value("N/A");
    return value;
  }
  value.mutable_int_numerator_val()->set_value(static_cast<int64_t>(*number));
  if (is_fraction) value.mutable_int_denominator_val()->set_value(static_cast<int64_t>(*of_number));
  return value;
}

device::DeviceStats stats_of(const Gpu& gpu, const GpuUse& use) {
  device::DeviceStats out;
  auto& all = *out.mutable_stats()->mutable_attributes();
  const auto share = [&](const char* name, Number number, Number of_number, const char* unit, const char* meaning) {
    all[name] = stat(number, of_number, true, unit, meaning);
  };
  const auto count = [&](const char* name, Number number, const char* unit, const char* meaning) {
    all[name] = stat(number, {}, false, unit, meaning);
  };
  share("Power usage", use.power_w, gpu.power_w, "W", "Power drawn now, of the most that it may draw");
  share("Memory state", use.memory_mib, gpu.memory_mib, "MiB", "Memory in use, of all memory");
  share("BAR1 buffer state", use.bar1_mib, gpu.bar1_mib, "MiB", "Mapped memory in use, of all that can be mapped");
  count("GPU utilization", use.gpu_percent, "%", "Time of the last sample in which a kernel ran");
  count("Memory utilization", use.memory_percent, "%", "Time of the last sample in which memory was read or written");
  count("Encoder utilization", use.encoder_percent, "%", "Time of the last sample in which the encoder worked");
  count("Decoder utilization", use.decoder_percent, "%", "Time of the last sample in which the decoder worked");
  count("Temperature", use.celsius, "C", "Temperature of the chip");
  count("ECC L1 errors", use.l1_errors, "#", "Errors corrected in the first cache since the driver was loaded");
  count("ECC L2 errors", use.l2_errors, "#", "Errors corrected in the second cache since the driver was loaded");
  count("ECC memory errors", use.memory_errors, "#", "Errors corrected in memory since the driver was loaded");
  *out.mutable_summary() = all["Memory state"];
  return out;
}

}  // namespace

hclspec::Spec NvidiaDevices::config_schema() const {
  return hclspec::object_of({{"enabled", "bool", false, "true"},
                             {"fingerprint_period", "string", false, "\"1m\""},
                             {"ignored_gpu_ids", "list(string)", false, "[]"}});
}

Status NvidiaDevices::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(request.msgpack_config()));
  Options options;
  options.is_enabled = raw.boolean("enabled", options.is_enabled);
  options.fingerprint_period = raw.duration("fingerprint_period", options.fingerprint_period);
  for (std::string& id : raw.text_list("ignored_gpu_ids")) options.ignored.insert(std::move(id));
  DROVER_RETURN_IF_ERROR(raw.finish());
  if (options.fingerprint_period < 100ms) return invalid_argument("fingerprint_period must be at least 100ms");
  const MutexLock lock(mutex_);
  options_ = std::move(options);
  return ok_status();
}

NvidiaDevices::Options NvidiaDevices::options() const {
  const MutexLock lock(mutex_);
  return options_;
}

Result<std::shared_ptr<Nvml>> NvidiaDevices::nvml() {
  const MutexLock lock(mutex_);
  if (nvml_) return nvml_;
  auto opened = Nvml::open(library_);
  if (opened) {
    nvml_ = *std::move(opened);
    return nvml_;
  }
  if (opened.status().code() != Code::not_found) return opened.status();
  if (!std::exchange(is_absence_told_, true))
    log::info("nvidia", "no GPUs: the driver's management library is not on this machine",
              {{"library", library_}, {"reason", opened.status().message()}});
  return std::shared_ptr<Nvml>();
}

Result<std::vector<Gpu>> NvidiaDevices::gpus() {
  const Options options = this->options();
  if (!options.is_enabled) return std::vector<Gpu>();
  DROVER_TRY(const std::shared_ptr<Nvml> nvml, this->nvml());
  if (!nvml) return std::vector<Gpu>();
  DROVER_TRY(std::vector<Gpu> all, nvml->gpus());
  std::erase_if(all, [&](const Gpu& gpu) { return options.ignored.contains(gpu.uuid); });
  return all;
}

Result<device::FingerprintResponse> NvidiaDevices::fingerprint() {
  DROVER_TRY(const std::vector<Gpu> all, gpus());
  device::FingerprintResponse print;
  if (all.empty()) return print;
  DROVER_TRY(const std::shared_ptr<Nvml> nvml, this->nvml());
  DROVER_TRY(const std::string driver, nvml->driver_version());
  std::map<std::string, device::DeviceGroup> groups;
  for (const Gpu& gpu : all) {
    device::DeviceGroup& group = groups[gpu.name];
    if (group.vendor().empty()) {
      group.set_vendor(kVendor);
      group.set_device_type(kType);
      group.set_device_name(gpu.name);
      *group.mutable_attributes() = attributes_of(gpu, driver);
    }
    device::DetectedDevice& instance = *group.add_devices();
    instance.set_id(gpu.uuid);
    instance.set_healthy(gpu.problem.empty());
    instance.set_health_description(gpu.problem);
    instance.mutable_hw_locality()->set_pci_bus_id(gpu.pci_bus_id);
  }
  for (auto& [name, group] : groups) *print.add_device_group() = std::move(group);
  return print;
}

Result<device::ContainerReservation> NvidiaDevices::reserve(std::span<const std::string> ids) {
  device::ContainerReservation reservation;
  if (ids.empty()) return reservation;
  DROVER_TRY(const std::vector<Gpu> all, gpus());
  std::string visible, unknown;
  for (const std::string& id : ids) {
    std::string& list = std::ranges::find(all, id, &Gpu::uuid) == all.end() ? unknown : visible;
    list += (list.empty() ? "" : ",") + id;
  }
  if (!unknown.empty()) return not_found("unknown device IDs: " + unknown);
  (*reservation.mutable_envs())[kVisible] = visible;
  return reservation;
}

Result<device::StatsResponse> NvidiaDevices::stats() {
  DROVER_TRY(const std::vector<Gpu> all, gpus());
  device::StatsResponse response;
  if (all.empty()) return response;
  DROVER_TRY(const std::shared_ptr<Nvml> nvml, this->nvml());
  const int64_t now = SystemClock().wall_ns();
  std::map<std::string, device::DeviceGroupStats> groups;
  for (const Gpu& gpu : all) {
    if (!gpu.problem.empty()) continue;
    device::DeviceGroupStats& group = groups[gpu.name];
    group.set_vendor(kVendor);
    group.set_type(kType);
    group.set_name(gpu.name);
    device::DeviceStats stats = stats_of(gpu, nvml->use_of(gpu));
    stats.mutable_timestamp()->set_seconds(now / 1'000'000'000);
    stats.mutable_timestamp()->set_nanos(static_cast<int32_t>(now % 1'000'000'000));
    (*group.mutable_instance_stats())[gpu.uuid] = std::move(stats);
  }
  for (auto& [name, group] : groups) *response.add_groups() = std::move(group);
  return response;
}

}  // namespace drover::nvidia
