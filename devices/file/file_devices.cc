#include "file_devices.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <optional>

#include "drover/clock.h"
#include "drover/units.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::file {
namespace {

namespace structs = hashicorp::nomad::plugins::shared::structs;

constexpr size_t kMaxInstances = 4096;  // of one pattern
constexpr int64_t kSector = 512;        // bytes, in what the kernel says of block devices

// One file that a pattern matches, or matched while its link led somewhere.
struct Found {
  const Pattern* pattern;
  std::string permissions;
};

// By path, sorted. Errors: resource_exhausted for a pattern that matches more than anybody means.
Result<std::map<std::string, Found>> find_files(const Config& config) {
  std::map<std::string, Found> files;
  for (const Pattern& pattern : config.patterns) {
    glob_t matched{};
    const int status = ::glob(pattern.pattern.c_str(), GLOB_NOSORT, nullptr, &matched);
    const std::vector<std::string> paths(matched.gl_pathv, matched.gl_pathv + (status == 0 ? matched.gl_pathc : 0));
    ::globfree(&matched);
    if (paths.size() > kMaxInstances)
      return resource_exhausted("the pattern " + pattern.pattern + " matches " + std::to_string(paths.size()) +
                                " files; at most " + std::to_string(kMaxInstances));
    for (const std::string& path : paths) {
      const auto own = pattern.instance_permissions.find(path);
      files.try_emplace(path,
                        Found{&pattern, own == pattern.instance_permissions.end() ? pattern.permissions : own->second});
    }
  }
  return files;
}

// The reason why the file cannot be used; empty when it can.
std::string problem_of(const std::string& path, const std::string& permissions) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno_status(errno, "look at " + path).message();
  const int wanted =
      (permissions.find('r') != std::string::npos ? R_OK : 0) | (permissions.find('w') != std::string::npos ? W_OK : 0);
  if (::access(path.c_str(), wanted) != 0) return errno_status(errno, "use " + path).message();
  return {};
}

// "115200", "4 KiB", "true", "fast".
structs::Attribute attribute_of(std::string_view text) {
  structs::Attribute attribute;
  if (const auto quantity = parse_quantity(text)) {
    if (const auto* whole = std::get_if<int64_t>(&quantity->number)) {
      attribute.set_int_val(*whole);
    } else {
      attribute.set_float_val(std::get<double>(quantity->number));
    }
    if (quantity->unit) attribute.set_unit(std::string(quantity->unit->name));
  } else if (text == "true" || text == "false") {
    attribute.set_bool_val(text == "true");
  } else {
    attribute.set_string_val(std::string(text));
  }
  return attribute;
}

std::string key_of(const Pattern& pattern) { return pattern.vendor + "/" + pattern.type + "/" + pattern.name; }

structs::StatValue stat_value(int64_t number, const char* unit, const char* meaning) {
  structs::StatValue value;
  value.mutable_int_numerator_val()->set_value(number);
  value.set_unit(unit);
  value.set_desc(meaning);
  return value;
}

// Nothing for files of which nobody counts anything.
std::optional<device::DeviceStats> stats_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  device::DeviceStats stats;
  auto& attributes = *stats.mutable_stats()->mutable_attributes();
  if (S_ISREG(found.st_mode)) {
    *stats.mutable_summary() = stat_value(found.st_size, "B", "Size of the file");
    attributes["Size"] = stats.summary();
    return stats;
  }
  if (!S_ISBLK(found.st_mode)) return {};
  std::ifstream counters("/sys/dev/block/" + std::to_string(major(found.st_rdev)) + ":" +
                         std::to_string(minor(found.st_rdev)) + "/stat");
  int64_t reads = 0, reads_merged = 0, read_sectors = 0, read_ms = 0, writes = 0, writes_merged = 0,
          written_sectors = 0;
  if (!(counters >> reads >> reads_merged >> read_sectors >> read_ms >> writes >> writes_merged >> written_sectors))
    return {};
  attributes["Read"] = stat_value(read_sectors * kSector, "B", "Bytes read since the machine started");
  attributes["Written"] = stat_value(written_sectors * kSector, "B", "Bytes written since the machine started");
  *stats.mutable_summary() = attributes["Written"];
  return stats;
}

}  // namespace

hclspec::Spec FileDevices::config_schema() const { return file::config_schema(); }

Status FileDevices::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(Config config, read_config(request.msgpack_config()));
  const MutexLock lock(mutex_);
  config_ = std::move(config);
  return ok_status();
}

Config FileDevices::config() const {
  const MutexLock lock(mutex_);
  return config_;
}

Result<device::FingerprintResponse> FileDevices::fingerprint() {
  const Config config = this->config();
  DROVER_TRY(const auto files, find_files(config));
  std::map<std::string, device::DeviceGroup> groups;
  for (const auto& [path, found] : files) {
    device::DeviceGroup& group = groups[key_of(*found.pattern)];
    if (group.vendor().empty()) {
      group.set_vendor(found.pattern->vendor);
      group.set_device_type(found.pattern->type);
      group.set_device_name(found.pattern->name);
      for (const auto& [key, value] : found.pattern->attributes)
        (*group.mutable_attributes())[key] = attribute_of(value);
    }
    device::DetectedDevice& instance = *group.add_devices();
    instance.set_id(path);
    instance.set_health_description(problem_of(path, found.permissions));
    instance.set_healthy(instance.health_description().empty());
  }
  device::FingerprintResponse print;
  for (auto& [key, group] : groups) *print.add_device_group() = std::move(group);
  return print;
}

Result<device::ContainerReservation> FileDevices::reserve(std::span<const std::string> ids) {
  const Config config = this->config();
  DROVER_TRY(const auto files, find_files(config));
  device::ContainerReservation reservation;
  for (const std::string& id : ids) {
    const auto found = files.find(id);
    if (found == files.end()) return not_found("no pattern names a file " + id);
    const auto& [pattern, permissions] = found->second;
    struct stat state {};
    if (::stat(id.c_str(), &state) != 0) return errno_status(errno, "look at " + id);
    if (S_ISCHR(state.st_mode) || S_ISBLK(state.st_mode)) {
      device::DeviceSpec& device = *reservation.add_devices();
      device.set_host_path(id);
      device.set_task_path(id);
      device.set_permissions(permissions);
    } else {
      device::Mount& mount = *reservation.add_mounts();
      mount.set_host_path(id);
      mount.set_task_path(id);
      mount.set_read_only(permissions.find('w') == std::string::npos);
    }
    std::string& paths = (*reservation.mutable_envs())[pattern->env];
    paths += (paths.empty() ? "" : ",") + id;
  }
  return reservation;
}

Result<device::StatsResponse> FileDevices::stats() {
  const Config config = this->config();
  DROVER_TRY(const auto files, find_files(config));
  const int64_t now = SystemClock().wall_ns();
  std::map<std::string, device::DeviceGroupStats> groups;
  for (const auto& [path, found] : files) {
    auto stats = stats_of(path);
    if (!stats) continue;
    stats->mutable_timestamp()->set_seconds(now / 1'000'000'000);
    stats->mutable_timestamp()->set_nanos(static_cast<int32_t>(now % 1'000'000'000));
    device::DeviceGroupStats& group = groups[key_of(*found.pattern)];
    group.set_vendor(found.pattern->vendor);
    group.set_type(found.pattern->type);
    group.set_name(found.pattern->name);
    (*group.mutable_instance_stats())[path] = *std::move(stats);
  }
  device::StatsResponse response;
  for (auto& [key, group] : groups) *response.add_groups() = std::move(group);
  return response;
}

}  // namespace drover::file
