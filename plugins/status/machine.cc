#include "machine.h"

#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "drover/api/system.pb.h"
#include "drover/machine_addresses.h"
#include "drover/mounts.h"
#include "profiles.h"

namespace drover::status {
namespace {

constexpr int kMegabyteBits = 20;
constexpr const char* kBlank = "<redacted>";

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void add_disks(v1::HostData& data) {
  for (const MountPoint& mount : parse_mountinfo(text_of("/proc/self/mountinfo"))) {
    struct statvfs disk {};
    if (::statvfs(mount.path.c_str(), &disk) != 0 || disk.f_blocks == 0) continue;
    v1::HostDisk& shown = (*data.mutable_disk())[mount.path];
    shown.set_disk_mb(static_cast<int64_t>(disk.f_blocks * disk.f_frsize >> kMegabyteBits));
    shown.set_used_mb(static_cast<int64_t>((disk.f_blocks - disk.f_bavail) * disk.f_frsize >> kMegabyteBits));
  }
}

}  // namespace

std::string shown_variable(std::string_view name, std::string_view value) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const char* word : {"TOKEN", "SECRET", "PASS", "KEY", "AUTH", "CREDENTIAL", "PRIVATE"}) {
    if (upper.find(word) != std::string::npos) return kBlank;
  }
  const size_t scheme = value.find("://");
  const bool has_user = scheme != std::string_view::npos && value.find('@', scheme) != std::string_view::npos;
  return has_user ? kBlank : std::string(value);
}

bool may_show_machine(const std::string& configuration) {
  const nlohmann::json config = nlohmann::json::parse(configuration, nullptr, false);
  return may_debug(configuration) ||
         (config.is_object() && config.value(nlohmann::json::json_pointer("/ACL/Enabled"), false));
}

v1::HostData describe_machine(const char* const* environment) {
  v1::HostData data;
  utsname system{};
  if (::uname(&system) == 0) {
    for (const char* part : {system.machine, system.nodename, system.release, system.sysname, system.version})
      data.mutable_os()->append(data.os().empty() ? "" : " ").append(part);
  }
  for (const InterfaceAddress& each : machine_addresses()) {
    v1::HostInterface& shown = *data.add_network();
    shown.set_name(each.interface);
    shown.set_address(each.address);
  }
  data.set_resolv_conf(text_of("/etc/resolv.conf"));
  data.set_hosts(text_of("/etc/hosts"));
  for (; *environment; ++environment) {
    const std::string_view line = *environment;
    const size_t equals = std::min(line.find('='), line.size());
    const std::string_view name = line.substr(0, equals);
    (*data.mutable_environment())[std::string(name)] =
        shown_variable(name, line.substr(std::min(equals + 1, line.size())));
  }
  add_disks(data);
  return data;
}

}  // namespace drover::status
