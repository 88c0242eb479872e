#include "jobs/restart_rules.h"

#include <algorithm>
#include <charconv>

#include "drover/api/allocations.pb.h"
#include "drover/model/allocation.h"
#include "drover/model/job.h"
#include "drover/v1/job.pb.h"

namespace drover::cli {
namespace {

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::ranges::find(names, name) != names.end();
}

bool has_task(const v1::TaskGroup& group, const std::string& task) {
  return std::ranges::any_of(group.tasks(), [&](const v1::Task& each) { return each.name() == task; });
}

bool is_wanted(const v1::Job& job, const std::string& name, const RestartParts& parts) {
  if (!parts.groups.empty() && !is_one_of(name, parts.groups)) return false;
  if (parts.tasks.empty()) return true;
  const v1::TaskGroup* group = find_group(job, name);
  return group && std::ranges::any_of(parts.tasks, [&](const std::string& task) { return has_task(*group, task); });
}

}  // namespace

Status check_parts(const v1::Job& job, const RestartParts& parts) {
  for (const std::string& name : parts.groups) {
    if (!find_group(job, name)) return invalid_argument("job \"" + job.id() + "\" has no group \"" + name + "\"");
  }
  for (const std::string& task : parts.tasks) {
    const bool is_there = std::ranges::any_of(job.task_groups(), [&](const v1::TaskGroup& group) {
      return (parts.groups.empty() || is_one_of(group.name(), parts.groups)) && has_task(group, task);
    });
    if (!is_there) return invalid_argument("job \"" + job.id() + "\" has no task \"" + task + "\" in these groups");
  }
  return ok_status();
}

std::vector<v1::AllocationListStub> allocs_to_restart(const v1::Job& job, const v1::AllocationStubsResponse& allocs,
                                                      const RestartParts& parts) {
  std::vector<v1::AllocationListStub> wanted;
  for (const v1::AllocationListStub& each : allocs.allocations()) {
    const bool runs =
        each.client_status() == v1::CLIENT_STATUS_RUNNING && each.desired_status() == v1::DESIRED_STATUS_RUN;
    if (runs && is_wanted(job, each.task_group(), parts)) wanted.push_back(each);
  }
  return wanted;
}

std::vector<std::string> tasks_to_restart(const v1::Allocation& alloc, const RestartParts& parts) {
  std::vector<std::string> tasks;
  for (const auto& [name, state] : alloc.task_states()) {
    const bool is_named = parts.tasks.empty() || is_one_of(name, parts.tasks);
    // One that has not begun waits for others to end.
    if (is_named && state.started_at() > 0 && (parts.all_tasks || state.state() == "running")) tasks.push_back(name);
  }
  std::ranges::sort(tasks);
  return tasks;
}

Result<size_t> batch_size(const std::string& text, size_t count) {
  const bool is_share = text.ends_with('%');
  const std::string digits = text.substr(0, text.size() - (is_share ? 1 : 0));
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && number > 0;
  if (!is_number || (is_share && number > 100))
    return invalid_argument("-batch-size: \"" + text + "\" is neither a number above 0 nor a share from 1% to 100%");
  return is_share ? std::max<size_t>(1, (count * number + 99) / 100) : number;
}

RestartProgress progress_of(const v1::Allocation& before, const v1::Allocation& now,
                            const std::vector<std::string>& tasks) {
  bool all_run = true;
  for (const std::string& task : tasks) {
    const auto then = before.task_states().find(task), at = now.task_states().find(task);
    if (at == now.task_states().end()) return RestartProgress::ended;
    const v1::TaskState& state = at->second;
    const v1::TaskState& old = then == before.task_states().end() ? v1::TaskState::default_instance() : then->second;
    if (state.failed() && state.finished_at() > old.finished_at()) return RestartProgress::ended;
    all_run = all_run && state.started_at() > old.started_at() && state.state() != "pending";
  }
  if (all_run) return RestartProgress::running;
  return terminal(now) ? RestartProgress::ended : RestartProgress::waiting;
}

}  // namespace drover::cli
