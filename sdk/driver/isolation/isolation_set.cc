#include "isolation_set.h"

#include "nomad/plugins/driver.pb.h"

namespace drover {

void IsolationPart::describe(driver::DriverCapabilities&) const {}

Status IsolationSet::add(std::string_view name, Result<std::unique_ptr<TaskIsolation>> made) {
  DROVER_RETURN_IF_ERROR(made.status());
  made_.emplace_back(name, *std::move(made));
  return ok_status();
}

Result<IsolationSet> IsolationSet::set_up(const IsolationParts& parts, const driver::TaskConfig& task,
                                          const IsolationNeeds& needs) {
  IsolationSet set;
  for (const auto& part : parts) {
    const Status added = set.add(part->name(), part->set_up(task, needs));
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
