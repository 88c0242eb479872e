#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "create/parts.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

std::string in_quotes(const std::string& text) { return "\"" + text + "\""; }

// "source:target[:mode]".
struct Volume {
  std::string source, target, mode;
};

Result<Volume> parse_volume(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return invalid_argument("invalid docker volume " + in_quotes(text) + ": " + why);
  };
  const size_t first = text.find(':');
  if (first == std::string::npos) return refuse("it must be source:target, or source:target:mode");
  const size_t second = text.find(':', first + 1);
  Volume out{.source = text.substr(0, first),
             .target = text.substr(first + 1, second == std::string::npos ? second : second - first - 1),
             .mode = second == std::string::npos ? "" : text.substr(second + 1)};
  if (out.source.empty()) return refuse("the source is empty");
  if (!out.target.starts_with('/')) return refuse("the target must be an absolute path");
  if (out.mode.find(':') != std::string::npos) return refuse("there are more than three parts");
  return out;
}

std::string bind_of(const Volume& volume, const std::string& label) {
  std::string mode = volume.mode;
  if (!label.empty()) mode += (mode.empty() ? "" : ",") + label;
  return volume.source + ":" + volume.target + (mode.empty() ? "" : ":" + mode);
}

Result<Json> binds_of(const BodyInput& input, ContainerBody& out) {
  const PluginOptions& plugin = input.plugin;
  const std::string& root = input.task.alloc_dir();
  const std::string& driver = input.options.volume_driver;
  if (root.find(':') != std::string::npos)
    return invalid_argument("the allocation's folder " + root +
                            " has a colon in its path, which an engine cannot mount");
  Json binds = Json::array();
  const std::string folder = task_folder(input.task);
  for (const Volume& own : {Volume{root + "/alloc", "/alloc", ""}, Volume{folder + "/local", "/local", ""},
                            Volume{folder + "/secrets", "/secrets", ""}})
    binds.push_back(bind_of(own, plugin.selinux_label));
  if (!driver.empty() && !plugin.has_volumes)
    return invalid_argument("volumes are not enabled; cannot use volume driver " + in_quotes(driver));
  for (const std::string& text : input.options.volumes) {
    DROVER_TRY(Volume volume, parse_volume(text));
    if (driver.empty()) volume.source = path_from(folder, volume.source);
    if (!plugin.has_volumes) {
      if (!is_below(volume.source, root))
        return invalid_argument("volumes are not enabled; cannot mount host paths: " + in_quotes(text));
      out.own_paths.push_back(volume.source);
    }
    binds.push_back(bind_of(volume, plugin.selinux_label));
  }
  for (const ContainerBody::File& file : out.files)
    binds.push_back(bind_of({file.path, file.target, "ro"}, plugin.selinux_label));
  return binds;
}

Status add_source(const BodyInput& input, const MountOption& option, Json& mount, ContainerBody& out) {
  const bool may = input.plugin.has_volumes;
  if (option.type == "tmpfs") {
    if (!option.source.empty()) return invalid_argument("invalid source, must be \"\" for tmpfs");
    return ok_status();
  }
  if (option.type == "volume") {
    if (!may) return invalid_argument("volumes are not enabled; cannot mount volume: " + in_quotes(option.source));
    mount["Source"] = option.source;
    return ok_status();
  }
  if (option.type != "bind")
    return invalid_argument("invalid mount type, must be \"bind\", \"volume\", \"tmpfs\": " + in_quotes(option.type));
  const std::string source = path_from(task_folder(input.task), option.source);
  if (!may) {
    if (!is_below(source, input.task.alloc_dir()))
      return invalid_argument("volumes are not enabled; cannot mount host path: " + in_quotes(option.source) + " " +
                              in_quotes(input.task.alloc_dir()));
    out.own_paths.push_back(source);
  }
  mount["Source"] = source;
  return ok_status();
}

Status check_options(const MountOption& option) {
  const auto refuse = [&](const char* what, const char* type) {
    return invalid_argument("mount of " + in_quotes(option.target) + ": " + what + " is for mounts of type \"" + type +
                            "\", and it has type " + in_quotes(option.type));
  };
  if (!option.target.starts_with('/'))
    return invalid_argument("mount target must be an absolute path, and is " + in_quotes(option.target));
  if (option.type != "bind" && !option.propagation.empty()) return refuse("bind_options", "bind");
  const bool has_tmpfs = option.tmpfs_size != 0 || option.tmpfs_mode != 0;
  if (option.type != "tmpfs" && has_tmpfs) return refuse("tmpfs_options", "tmpfs");
  const bool has_volume =
      option.no_copy || !option.labels.empty() || !option.driver.empty() || !option.driver_options.empty();
  if (option.type != "volume" && has_volume) return refuse("volume_options", "volume");
  return ok_status();
}

Result<Json> mount_of(const BodyInput& input, const MountOption& option, ContainerBody& out) {
  Json mount{{"Type", option.type}, {"Target", option.target}, {"ReadOnly", option.readonly}};
  DROVER_RETURN_IF_ERROR(add_source(input, option, mount, out));
  DROVER_RETURN_IF_ERROR(check_options(option));
  if (!option.propagation.empty()) mount["BindOptions"] = {{"Propagation", option.propagation}};
  if (option.type == "tmpfs") {
    Json tmpfs = Json::object();
    if (option.tmpfs_size > 0) tmpfs["SizeBytes"] = option.tmpfs_size;
    if (option.tmpfs_mode > 0) tmpfs["Mode"] = option.tmpfs_mode;
    mount["TmpfsOptions"] = std::move(tmpfs);
  }
  if (option.type == "volume") {
    Json volume{{"NoCopy", option.no_copy}};
    if (!option.labels.empty()) volume["Labels"] = option.labels;
    if (!option.driver.empty() || !option.driver_options.empty())
      volume["DriverConfig"] = {{"Name", option.driver}, {"Options", option.driver_options}};
    mount["VolumeOptions"] = std::move(volume);
  }
  return mount;
}

// The names that the engine has for the propagation of a job's volume.
Result<std::string> propagation_of(const std::string& mode) {
  if (mode.empty() || mode == "private") return std::string("rprivate");
  if (mode == "host-to-task") return std::string("rslave");
  if (mode == "bidirectional") return std::string("rshared");
  return invalid_argument("unknown propagation mode " + in_quotes(mode));
}

Result<Json> given_mount(const driver::Mount& given) {
  DROVER_TRY(const std::string propagation, propagation_of(given.propagation_mode()));
  return Json{{"Type", "bind"},
              {"Target", given.task_path()},
              {"Source", given.host_path()},
              {"ReadOnly", given.readonly()},
              {"BindOptions", {{"Propagation", propagation}}}};
}

bool is_permission(const std::string& text) {
  const std::set<char> letters(text.begin(), text.end());
  return !text.empty() && text.find_first_not_of("rwm") == std::string::npos && letters.size() == text.size();
}

Result<Json> device_of(DeviceOption option) {
  if (option.host_path.empty()) return invalid_argument("host path must be set in configuration for devices");
  if (option.container_path.empty()) option.container_path = option.host_path;
  if (option.permissions.empty()) option.permissions = "rwm";
  if (!is_permission(option.permissions))
    return invalid_argument("invalid cgroup permission string: " + in_quotes(option.permissions));
  return Json{{"PathOnHost", option.host_path},
              {"PathInContainer", option.container_path},
              {"CgroupPermissions", option.permissions}};
}

}  // namespace

std::string path_from(const std::string& folder, const std::string& path) {
  std::string out = (std::filesystem::path(folder) / path).lexically_normal();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

bool is_below(const std::string& path, const std::string& folder) {
  const std::string normal = path_from("/", folder);
  return path == normal || (path.starts_with(normal) && path[normal.size()] == '/');
}

Status add_mounts(const BodyInput& input, Json& host, ContainerBody& out) {
  DROVER_TRY(host["Binds"], binds_of(input, out));
  if (!input.options.volume_driver.empty()) host["VolumeDriver"] = input.options.volume_driver;
  Json mounts = Json::array();
  for (const MountOption& option : input.options.mounts) {
    DROVER_TRY(Json mount, mount_of(input, option, out));
    mounts.push_back(std::move(mount));
  }
  for (const driver::Mount& given : input.task.mounts()) {
    DROVER_TRY(Json mount, given_mount(given));
    mounts.push_back(std::move(mount));
  }
  if (!mounts.empty()) host["Mounts"] = std::move(mounts);
  return ok_status();
}

Status add_devices(const BodyInput& input, Json& host) {
  Json devices = Json::array();
  for (const DeviceOption& option : input.options.devices) {
    DROVER_TRY(Json device, device_of(option));
    devices.push_back(std::move(device));
  }
  for (const driver::Device& given : input.task.devices()) {
    DROVER_TRY(Json device, device_of({.host_path = given.host_path(),
                                       .container_path = given.task_path(),
                                       .permissions = given.cgroup_permissions()}));
    devices.push_back(std::move(device));
  }
  if (!devices.empty()) host["Devices"] = std::move(devices);
  return ok_status();
}

}  // namespace drover::docker
