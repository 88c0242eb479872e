#include "drover/isolation.h"

#include "isolation_set.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

class InControlGroup final : public TaskIsolation {
 public:
  explicit InControlGroup(Cgroup group) : group_(std::move(group)) {}
  std::string state() const override { return group_.path(); }
  void apply(Launcher::Start& start) const override {
    const std::string variable = "NOMAD_PARENT_CGROUP=";
    std::erase_if(start.environment, [&](const std::string& each) { return each.starts_with(variable); });
    start.environment.push_back(variable + group_.path().substr(0, group_.path().rfind('/')));
    const std::vector<std::string> files = group_.join_files();
    start.cgroup_files.insert(start.cgroup_files.end(), files.begin(), files.end());
  }
  const Cgroup* cgroup() const override { return group_.is_empty() ? nullptr : &group_; }
  Status tear_down() const override { return group_.remove(); }

 private:
  const Cgroup group_;
};

class ControlGroups final : public IsolationPart {
 public:
  ControlGroups(CgroupLayout layout, std::string parent) : layout_(std::move(layout)), parent_(std::move(parent)) {}
  std::string_view name() const override { return "cgroup"; }
  Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task) override {
    if (layout_.mode == CgroupLayout::Mode::none) return std::unique_ptr<TaskIsolation>();
    Cgroup group(layout_, parent_ + "/" + cgroup_name(task.id()));
    DROVER_RETURN_IF_ERROR(group.create());
    return std::unique_ptr<TaskIsolation>(std::make_unique<InControlGroup>(std::move(group)));
  }
  Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig&, std::string_view state) override {
    if (state.empty()) return std::unique_ptr<TaskIsolation>();
    // Whatever ".." reaches is not ours to kill.
    if (state.find("..") != std::string_view::npos) return invalid_argument("its control group cannot be its own");
    // The setting may have changed since; the task has not.
    Cgroup group(layout_.mode == CgroupLayout::Mode::none ? detect_cgroups() : layout_, std::string(state));
    return std::unique_ptr<TaskIsolation>(std::make_unique<InControlGroup>(std::move(group)));
  }

 private:
  const CgroupLayout layout_;
  const std::string parent_;
};

class InNetworkNamespace final : public TaskIsolation {
 public:
  explicit InNetworkNamespace(std::string path) : path_(std::move(path)) {}
  void apply(Launcher::Start& start) const override { start.network_namespace = path_; }

 private:
  const std::string path_;
};

class NetworkNamespace final : public IsolationPart {
 public:
  std::string_view name() const override { return "network"; }
  void describe(driver::DriverCapabilities& capabilities) const override {
    capabilities.add_network_isolation_modes(driver::NetworkIsolationSpec::GROUP);
  }
  Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task) override {
    const std::string& path = task.network_isolation_spec().path();
    if (path.empty()) return std::unique_ptr<TaskIsolation>();
    return std::unique_ptr<TaskIsolation>(std::make_unique<InNetworkNamespace>(path));
  }
  Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig& task, std::string_view) override {
    return set_up(task);
  }
};

}  // namespace

void IsolationPart::describe(driver::DriverCapabilities&) const {}

std::unique_ptr<IsolationPart> control_groups(CgroupLayout layout, std::string parent) {
  return std::make_unique<ControlGroups>(std::move(layout), std::move(parent));
}
std::unique_ptr<IsolationPart> network_namespace() { return std::make_unique<NetworkNamespace>(); }

Status IsolationSet::add(std::string_view name, Result<std::unique_ptr<TaskIsolation>> made) {
  DROVER_RETURN_IF_ERROR(made.status());
  made_.emplace_back(name, *std::move(made));
  return ok_status();
}

Result<IsolationSet> IsolationSet::set_up(const IsolationParts& parts, const driver::TaskConfig& task) {
  IsolationSet set;
  for (const auto& part : parts) {
    const Status added = set.add(part->name(), part->set_up(task));
    if (added.ok()) continue;
    (void)set.tear_down();
    return added;
  }
  return set;
}

Result<IsolationSet> IsolationSet::recover(const IsolationParts& parts, const driver::TaskConfig& task,
                                           const States& states) {
  IsolationSet set;
  for (const auto& part : parts) {
    const auto state = states.find(std::string(part->name()));
    DROVER_RETURN_IF_ERROR(
        set.add(part->name(), part->recover(task, state == states.end() ? std::string_view() : state->second)));
  }
  return set;
}

void IsolationSet::apply(Launcher::Start& start) const {
  for (const auto& [name, isolation] : made_) {
    if (isolation) isolation->apply(start);
  }
}

const Cgroup* IsolationSet::cgroup() const {
  for (const auto& [name, isolation] : made_) {
    if (const Cgroup* group = isolation ? isolation->cgroup() : nullptr) return group;
  }
  return nullptr;
}

Status IsolationSet::tear_down() const {
  Status first;
  for (auto each = made_.rbegin(); each != made_.rend(); ++each) {
    const Status gone = each->second ? each->second->tear_down() : ok_status();
    if (first.ok()) first = gone;
  }
  return first;
}

IsolationSet::States IsolationSet::states() const {
  States states;
  for (const auto& [name, isolation] : made_) states[name] = isolation ? isolation->state() : std::string();
  return states;
}

}  // namespace drover
