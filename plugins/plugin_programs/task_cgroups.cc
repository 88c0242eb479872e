#include "task_cgroups.h"

#include <unistd.h>

namespace drover::plugin_programs {
namespace {

constexpr const char* kShare = "/share.slice";

}  // namespace

TaskCgroups::TaskCgroups(CgroupLayout layout, std::string parent)
    : layout_(std::move(layout)),
      is_v2_(layout_.mode == CgroupLayout::Mode::v2),
      parent_(!parent.empty() ? std::move(parent)
              : is_v2_        ? "nomad.slice"
                              : "nomad") {}

std::string TaskCgroups::of(std::string_view controller) const {
  const auto found = layout_.v1.find(std::string(controller));
  return found == layout_.v1.end() ? std::string() : found->second + "/" + parent_;
}

Status TaskCgroups::prepare() const {
  if (layout_.mode == CgroupLayout::Mode::none) return ok_status();
  if (is_v2_) {
    const std::string root = layout_.v2 + "/" + parent_;
    DROVER_RETURN_IF_ERROR(make_cgroup(root));
    for (const std::string& folder : {root, root + kShare}) {
      DROVER_RETURN_IF_ERROR(make_cgroup(folder));
      DROVER_RETURN_IF_ERROR(write_cgroup(folder + "/cgroup.subtree_control", "+cpuset +cpu +io +memory +pids"));
    }
    return ok_status();
  }
  for (const char* controller : {"freezer", "memory", "cpu"}) {
    if (const std::string folder = of(controller); !folder.empty()) DROVER_RETURN_IF_ERROR(make_cgroup(folder));
  }
  return ok_status();
}

std::vector<std::string> TaskCgroups::folders(std::string_view alloc_id, std::string_view task) const {
  std::vector<std::string> out;
  if (layout_.mode == CgroupLayout::Mode::none) return out;
  if (is_v2_) return {told_path(alloc_id, task)};
  for (const char* controller : {"freezer", "memory", "cpu"}) {
    const std::string parent = of(controller);
    if (!parent.empty()) out.push_back(parent + "/" + cgroup_name(std::string(alloc_id) + "." + std::string(task)));
  }
  return out;
}

std::string TaskCgroups::told_parent() const {
  if (layout_.mode == CgroupLayout::Mode::none) return {};
  return is_v2_ ? parent_ : "/" + parent_;
}

std::string TaskCgroups::told_path(std::string_view alloc_id, std::string_view task) const {
  if (!is_v2_) return {};
  return layout_.v2 + "/" + parent_ + kShare + "/" + cgroup_name(std::string(alloc_id) + "." + std::string(task)) +
         ".scope";
}

Status TaskCgroups::create(std::string_view alloc_id, std::string_view task) const {
  for (const std::string& folder : folders(alloc_id, task)) DROVER_RETURN_IF_ERROR(make_cgroup(folder));
  return ok_status();
}

void TaskCgroups::remove(std::string_view alloc_id, std::string_view task) const {
  for (const std::string& folder : folders(alloc_id, task)) (void)::rmdir(folder.c_str());
}

}  // namespace drover::plugin_programs
