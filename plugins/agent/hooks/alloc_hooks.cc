#include "alloc_hooks.h"

#include "drover/log.h"

namespace drover::agent {

namespace {

void note(const Status& status, Uuid allocation, const std::string& hook, const char* phase) {
  if (status.ok()) return;
  log::warn("agent", "a hook of an allocation failed",
            {{"alloc", allocation.to_string()}, {"hook", hook}, {"phase", phase}, {"error", status.message()}});
}

}  // namespace

AllocHooks::AllocHooks(const HookTable& table, HookedAlloc& alloc, HookRows& rows) : alloc_(alloc) {
  for (AllocHook* hook : table.allocs) {
    Entry entry{.name = hook->info().name};
    entry.state = std::make_unique<RowState>(rows, entry.name);
    entry.part = hook->attach(alloc, *entry.state);
    if (entry.part) entries_.push_back(std::move(entry));
  }
}

Status AllocHooks::prerun(std::stop_token stop) {
  for (const Entry& entry : entries_) {
    if (Status status = entry.part->prerun(stop); !status.ok())
      return status.with_context("pre-run hook \"" + entry.name + "\" failed");
  }
  return ok_status();
}

void AllocHooks::update() {
  for (const Entry& entry : entries_) note(entry.part->update(), alloc_.id(), entry.name, "update");
}
void AllocHooks::prerestart(const std::stop_token& stop) {
  for (const Entry& entry : entries_) note(entry.part->prerestart(stop), alloc_.id(), entry.name, "prerestart");
}
void AllocHooks::prekill() {
  for (const Entry& entry : entries_) note(entry.part->prekill(), alloc_.id(), entry.name, "prekill");
}
void AllocHooks::postrun() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    note(entry->part->postrun(), alloc_.id(), entry->name, "postrun");
}
Status AllocHooks::destroy() {
  Status first;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const Status status = entry->part->destroy();
    note(status, alloc_.id(), entry->name, "destroy");
    if (first.ok()) first = status;
  }
  return first;
}
void AllocHooks::shutdown() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) entry->part->shutdown();
}

std::vector<PartHealth> AllocHooks::health() const {
  std::vector<PartHealth> all;
  for (const Entry& entry : entries_) {
    if (auto health = entry.part->health()) all.push_back(*std::move(health));
  }
  return all;
}

}  // namespace drover::agent
