#include <algorithm>

#include "drover/isolation.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

constexpr int kMegabyteBits = 20;

// Where the client has made a group of processors for the task: version 2 has the whole task in there, below the mount;
// with version 1 its processes join that group besides.
struct GivenCores {
  std::string path;
  std::string join_file;
};

GivenCores given_cores(const CgroupLayout& layout, const driver::TaskConfig& task) {
  const std::string& told = task.resources().linux_resources().cpuset_cgroup();
  if (told.empty() || layout.mode == CgroupLayout::Mode::none) return {};
  if (layout.mode != CgroupLayout::Mode::v2) return {.path = {}, .join_file = told + "/cgroup.procs"};
  const std::string mount = layout.v2 + "/";
  return {.path = told.starts_with(mount) ? told.substr(mount.size()) : std::string(), .join_file = {}};
}

class InControlGroup final : public TaskIsolation {
 public:
  InControlGroup(Cgroup group, std::string cores_file) : group_(std::move(group)), cores_file_(std::move(cores_file)) {}
  std::string state() const override { return group_.path(); }
  void apply(Launcher::Start& start) const override {
    const std::string variable = "NOMAD_PARENT_CGROUP=";
    std::erase_if(start.environment, [&](const std::string& each) { return each.starts_with(variable); });
    start.environment.push_back(variable + group_.path().substr(0, group_.path().rfind('/')));
    const std::vector<std::string> files = group_.join_files();
    start.cgroup_files.insert(start.cgroup_files.end(), files.begin(), files.end());
    if (!cores_file_.empty()) start.cgroup_files.push_back(cores_file_);
  }
  const Cgroup* cgroup() const override { return group_.is_empty() ? nullptr : &group_; }
  Status tear_down() const override { return group_.remove(); }

 private:
  const Cgroup group_;
  const std::string cores_file_;  // of another group that the task is in, or empty
};

class ControlGroups final : public IsolationPart {
 public:
  ControlGroups(CgroupLayout layout, std::string parent) : layout_(std::move(layout)), parent_(std::move(parent)) {}
  std::string_view name() const override { return "cgroup"; }
  Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task, const IsolationNeeds& needs) override {
    if (layout_.mode == CgroupLayout::Mode::none) {
      if (needs.limits == CgroupLimits()) return std::unique_ptr<TaskIsolation>();
      return failed_precondition("this machine has no control groups by which the task could be limited");
    }
    GivenCores cores = given_cores(layout_, task);
    CgroupLimits limits = needs.limits;
    if (!cores.join_file.empty()) limits.cpus.clear();
    Cgroup group(layout_, cores.path.empty() ? parent_ + "/" + cgroup_name(task.id()) : cores.path);
    DROVER_RETURN_IF_ERROR(group.create(limits));
    return std::unique_ptr<TaskIsolation>(
        std::make_unique<InControlGroup>(std::move(group), std::move(cores.join_file)));
  }
  Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig& task, std::string_view state) override {
    if (state.empty()) return std::unique_ptr<TaskIsolation>();
    // Whatever ".." reaches is not ours to kill.
    if (state.find("..") != std::string_view::npos) return invalid_argument("its control group cannot be its own");
    // The setting may have changed since; the task has not.
    const CgroupLayout layout = layout_.mode == CgroupLayout::Mode::none ? detect_cgroups() : layout_;
    return std::unique_ptr<TaskIsolation>(
        std::make_unique<InControlGroup>(Cgroup(layout, std::string(state)), given_cores(layout, task).join_file));
  }

 private:
  const CgroupLayout layout_;
  const std::string parent_;
};

}  // namespace

std::unique_ptr<IsolationPart> control_groups(CgroupLayout layout, std::string parent) {
  return std::make_unique<ControlGroups>(std::move(layout), std::move(parent));
}

Result<CgroupLimits> limits_of(const driver::TaskConfig& task) {
  const driver::LinuxResources& given = task.resources().linux_resources();
  const driver::AllocatedMemoryResources& memory = task.resources().allocated_resources().memory();
  const auto unsigned_of = [](int64_t value) { return static_cast<uint64_t>(std::max<int64_t>(value, 0)); };
  CgroupLimits limits;
  if (given.memory_limit_bytes() > 0) limits.memory_bytes = unsigned_of(given.memory_limit_bytes());
  if (memory.memory_max_mb() > memory.memory_mb() && memory.memory_mb() > 0)
    limits.memory_reserved_bytes = unsigned_of(memory.memory_mb()) << kMegabyteBits;
  if (given.cpu_shares() != 0) limits.cpu_shares = unsigned_of(given.cpu_shares());
  if (given.cpu_quota() > 0) {
    limits.cpu_quota = CgroupLimits::Quota{.time_us = unsigned_of(given.cpu_quota())};
    if (given.cpu_period() > 0) limits.cpu_quota->period_us = unsigned_of(given.cpu_period());
  }
  const std::string& cpus = given.cpuset_cpus();
  if (cpus.find_first_not_of("0123456789,-") != std::string::npos)
    return invalid_argument("\"" + cpus + "\" is no list of processors");
  limits.cpus = cpus;
  return limits;
}

}  // namespace drover
