#include "task_hooks.h"

#include "drover/log.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"

#include "agent_state.pb.h"

namespace drover::agent {
namespace {

// The job's word.
std::string user_of(const HookedTask& task, const Variables& environment, const Variables& node) {
  return interpolate(task.spec()->task(task.name())->user(), environment, node);
}

}  // namespace

TaskHooks::TaskHooks(const HookTable& table, HookedTask& task, HookRows& rows) : task_(task), rows_(rows) {
  for (TaskHook* hook : table.tasks) {
    Entry entry{.name = hook->info().name};
    entry.state = std::make_unique<RowState>(rows, entry.name);
    entry.part = hook->attach(task, *entry.state);
    if (entry.part) entries_.push_back(std::move(entry));
  }
}

Result<driver::TaskConfig> TaskHooks::prestart(const Start& start) {
  driver::TaskConfig all;
  Variables environment;
  for (const Entry& entry : entries_) {
    auto adds = prestart_of(entry, start, environment, all.user());
    if (!adds) {
      start.failed(entry.name, adds.status());
      if (!start.recovered) return adds.status();
      continue;
    }
    for (const auto& [name, value] : adds->env()) environment[name] = value;
    all.MergeFrom(*adds);
  }
  return all;
}

Result<driver::TaskConfig> TaskHooks::prestart_of(const Entry& entry, const Start& start, const Variables& environment,
                                                  const std::string& user) {
  const StoredHook row = rows_.hook(entry.name);
  if (row.done()) return row.adds();
  driver::TaskConfig adds;
  TaskPrestart own{.capabilities = start.capabilities,
                   .environment = environment,
                   .node = start.node,
                   .user = user.empty() ? user_of(task_, environment, start.node) : user,
                   .recovered = start.recovered,
                   .stop = start.stop,
                   .adds = adds};
  DROVER_RETURN_IF_ERROR(entry.part->prestart(own));
  if (own.done) {
    DROVER_RETURN_IF_ERROR(rows_.change_hook(entry.name, [&](StoredHook& kept) {
      kept.set_done(true);
      *kept.mutable_adds() = adds;
    }));
  }
  return adds;
}

void TaskHooks::note(const Status& status, const Entry& entry, const char* phase) const {
  if (status.ok()) return;
  log::warn("agent", "a hook of a task failed",
            {{"alloc", task_.allocation().to_string()},
             {"task", task_.name()},
             {"hook", entry.name},
             {"phase", phase},
             {"error", status.message()}});
}

void TaskHooks::poststart() {
  for (const Entry& entry : entries_) note(entry.part->poststart(), entry, "poststart");
}
void TaskHooks::update() {
  for (const Entry& entry : entries_) note(entry.part->update(), entry, "update");
}
void TaskHooks::prekill() {
  for (const Entry& entry : entries_) note(entry.part->prekill(), entry, "prekill");
}
void TaskHooks::exited() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) note(entry->part->exited(), *entry, "exited");
}
void TaskHooks::stop() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) note(entry->part->stop(), *entry, "stop");
}
void TaskHooks::shutdown() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) entry->part->shutdown();
}

}  // namespace drover::agent
