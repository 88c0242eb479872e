#include <algorithm>
#include <array>
#include <set>

#include "drover/isolation.h"

namespace drover {
namespace {

// By their numbers.
constexpr std::array<std::string_view, 41> kNames = {"chown",
                                                     "dac_override",
                                                     "dac_read_search",
                                                     "fowner",
                                                     "fsetid",
                                                     "kill",
                                                     "setgid",
                                                     "setuid",
                                                     "setpcap",
                                                     "linux_immutable",
                                                     "net_bind_service",
                                                     "net_broadcast",
                                                     "net_admin",
                                                     "net_raw",
                                                     "ipc_lock",
                                                     "ipc_owner",
                                                     "sys_module",
                                                     "sys_rawio",
                                                     "sys_chroot",
                                                     "sys_ptrace",
                                                     "sys_pacct",
                                                     "sys_admin",
                                                     "sys_boot",
                                                     "sys_nice",
                                                     "sys_resource",
                                                     "sys_time",
                                                     "sys_tty_config",
                                                     "mknod",
                                                     "lease",
                                                     "audit_write",
                                                     "audit_control",
                                                     "setfcap",
                                                     "mac_override",
                                                     "mac_admin",
                                                     "syslog",
                                                     "wake_alarm",
                                                     "block_suspend",
                                                     "audit_read",
                                                     "perfmon",
                                                     "bpf",
                                                     "checkpoint_restore"};
constexpr std::string_view kPrefix = "cap_";
constexpr std::array<std::string_view, 13> kDefaults = {
    "audit_write",      "chown",   "dac_override", "fowner",  "fsetid", "kill",      "mknod",
    "net_bind_service", "setfcap", "setgid",       "setpcap", "setuid", "sys_chroot"};
constexpr std::array<std::string_view, 4> kForRoot = {"dac_override", "fowner", "setgid", "setuid"};

std::string plain(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower.starts_with(kPrefix) ? lower.substr(kPrefix.size()) : lower;
}

uint64_t bit(std::string_view name) {
  const auto at = std::ranges::find(kNames, name);
  return at == kNames.end() ? 0 : uint64_t{1} << (at - kNames.begin());
}

std::string list_of(const std::set<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

Result<uint64_t> capabilities_of(const std::vector<std::string>& names, std::string_view where) {
  uint64_t mask = 0;
  std::set<std::string> unknown;
  for (const std::string& each : names) {
    const std::string name = plain(each);
    const uint64_t known = name == "all" ? (uint64_t{1} << kNames.size()) - 1 : bit(name);
    if (known == 0) unknown.insert(name);
    mask |= known;
  }
  if (unknown.empty()) return mask;
  return invalid_argument(std::string(where) +
                          " configured with capabilities not supported by system: " + list_of(unknown));
}

Result<uint64_t> decide_capabilities(uint64_t basis, uint64_t allowed, const CapabilityWishes& wishes) {
  DROVER_TRY(const uint64_t add, capabilities_of(wishes.add, "cap_add"));
  DROVER_TRY(const uint64_t drop, capabilities_of(wishes.drop, "cap_drop"));
  std::set<std::string> refused;
  for (size_t one = 0; one < kNames.size(); ++one) {
    if (((add & ~allowed) >> one & 1) != 0) refused.insert(std::string(kNames.at(one)));
  }
  if (refused.empty()) return (basis & allowed & ~drop) | add;
  return invalid_argument("driver does not allow the following capabilities: " + list_of(refused));
}

std::vector<std::string> default_allowed_capabilities() { return {kDefaults.begin(), kDefaults.end()}; }

uint64_t default_capabilities(bool is_root) {
  uint64_t mask = 0;
  for (const std::string_view name : kDefaults) mask |= bit(name);
  if (is_root) return mask;
  for (const std::string_view name : kForRoot) mask &= ~bit(name);
  return mask;
}

}  // namespace drover
