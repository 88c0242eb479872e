#include "partition.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "drover/log.h"
#include "drover/trim.h"

namespace drover::cores {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShare = "share";
constexpr const char* kReserve = "reserve";
constexpr const char* kCores = "/cpuset.cpus";
constexpr const char* kMemories = "/cpuset.mems";

std::string read(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return std::string(trim(line));
}

// A new group of version 1 has neither processors nor memory, and nothing can run in it.
Status inherit(const std::string& folder, const char* file) {
  if (!read(folder + file).empty()) return ok_status();
  return write_cgroup(folder + file, read(folder.substr(0, folder.rfind('/')) + file));
}

std::vector<std::string> groups_in(const std::string& folder) {
  std::vector<std::string> groups;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) groups.push_back(at->path().string());
  }
  return groups;
}

}  // namespace

Partition::Partition(CgroupLayout layout, std::string parent)
    : is_v2_(layout.mode == CgroupLayout::Mode::v2),
      tree_(is_v2_ ? layout.v2 : layout.cpuset),
      parent_(tree_ + "/" + (!parent.empty() ? parent : is_v2_ ? "nomad.slice" : "nomad")) {}

std::string Partition::part(const char* name) const { return parent_ + "/" + name + (is_v2_ ? ".slice" : ""); }

std::string Partition::reserved_group(std::string_view task) const {
  return part(kReserve) + "/" + cgroup_name(task) + (is_v2_ ? ".scope" : "");
}

Status Partition::make_parts() const {
  if (is_v2_) {
    // The parts are of use only with this controller; the others count and limit what is in the groups.
    DROVER_RETURN_IF_ERROR(write_cgroup(tree_ + "/cgroup.subtree_control", "+cpuset"));
    for (const std::string& folder : {parent_, part(kShare), part(kReserve)}) {
      DROVER_RETURN_IF_ERROR(make_cgroup(folder));
      DROVER_RETURN_IF_ERROR(write_cgroup(folder + "/cgroup.subtree_control", "+cpuset +cpu +io +memory +pids"));
    }
    return ok_status();
  }
  for (const std::string& folder : {parent_, part(kShare), part(kReserve)}) {
    DROVER_RETURN_IF_ERROR(make_cgroup(folder));
    for (const char* file : {kMemories, kCores}) DROVER_RETURN_IF_ERROR(inherit(folder, file));
  }
  return ok_status();
}

Status Partition::open() {
  const MutexLock lock(mutex_);
  if (tree_.empty()) return failed_precondition("no control groups for processors (cpuset) that may be written");
  DROVER_RETURN_IF_ERROR(make_parts());
  // Those with processes stay.
  for (const std::string& group : groups_in(part(kReserve))) (void)::rmdir(group.c_str());
  return ok_status();
}

Result<CoreList> Partition::machine() const {
  return parse_core_list(read(parent_ + (is_v2_ ? "/cpuset.cpus.effective" : kCores)));
}

Status Partition::limit_to(CoreList reservable) {
  const MutexLock lock(mutex_);
  reservable_ = std::move(reservable);
  return balance();
}

Status Partition::balance() {
  CoreList held;
  for (const std::string& group : groups_in(part(kReserve))) {
    std::ranges::copy(parse_core_list(read(group + kCores)).value_or(CoreList()), std::back_inserter(held));
  }
  std::ranges::sort(held);
  const CoreList left = without(reservable_, held);
  // With every core reserved no other task has been placed here, but for some that are on their way out: they end where
  // they are, since a group without cores cannot hold them.
  return left.empty() ? ok_status() : write_cgroup(part(kShare) + kCores, format_core_list(left));
}

Result<std::string> Partition::share(std::string_view task) {
  const MutexLock lock(mutex_);
  if (::access(part(kShare).c_str(), F_OK) != 0) {  // somebody has taken it away
    DROVER_RETURN_IF_ERROR(make_parts());
    DROVER_RETURN_IF_ERROR(balance());
  }
  return is_v2_ ? part(kShare) + "/" + cgroup_name(task) + ".scope" : part(kShare);
}

Result<std::string> Partition::reserve(std::string_view task, const CoreList& cores) {
  const MutexLock lock(mutex_);
  DROVER_RETURN_IF_ERROR(make_parts());
  const std::string group = reserved_group(task);
  DROVER_RETURN_IF_ERROR(make_cgroup(group));
  Status status = is_v2_ ? ok_status() : inherit(group, kMemories);
  if (status.ok()) status = write_cgroup(group + kCores, format_core_list(cores));
  if (status.ok()) status = balance();
  if (status.ok()) return group;
  (void)::rmdir(group.c_str());
  return status;
}

void Partition::release(std::string_view task) {
  const MutexLock lock(mutex_);
  const std::string group = reserved_group(task);
  if (::rmdir(group.c_str()) != 0 && errno != ENOENT) {
    log::warn("cores", "a control group is left", {{"group", group}, {"error", std::strerror(errno)}});
    return;
  }
  if (const Status status = balance(); !status.ok())
    log::warn("cores", "the shared cores are not what they should be", {{"error", status.message()}});
}

}  // namespace drover::cores
