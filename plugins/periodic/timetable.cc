#include "timetable.h"

#include <algorithm>

#include "drover/model/job.h"
#include "drover/model/periodic.h"
#include "drover/v1/job.pb.h"

namespace drover::periodic {

struct Timetable::Entry {
  v1::PeriodicConfig config;
  int64_t last = 0;
  std::optional<int64_t> due;
};

Timetable::Timetable() = default;
Timetable::~Timetable() = default;

bool is_launched_by_time(const v1::Job& job) {
  return is_periodic(job) && job.periodic().enabled() && !job.stop() && !is_parameterized(job);
}

void Timetable::plan(const JobName& name, Entry& entry, std::optional<int64_t> due) {
  if (entry.due) queue_.erase({*entry.due, name});
  entry.due = due;
  if (due) queue_.emplace(*due, name);
}

Status Timetable::set(const v1::Job& job, int64_t last) {
  const JobName name(job.namespace_(), job.id());
  if (!is_launched_by_time(job)) return forget(name), ok_status();
  // A launch that was skipped is in no table: the later time counts.
  if (const auto known = entries_.find(name); known != entries_.end()) last = std::max(last, known->second->last);
  auto due = next_launch(job.periodic(), last);
  if (!due) return forget(name), due.status();
  auto& entry = entries_[name];
  if (!entry) entry = std::make_unique<Entry>();
  entry->config = job.periodic();
  entry->last = last;
  plan(name, *entry, *due);
  return ok_status();
}

void Timetable::forget(const JobName& name) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) return;
  plan(name, *at->second, std::nullopt);
  entries_.erase(at);
}

void Timetable::clear() {
  entries_.clear();
  queue_.clear();
}

std::optional<int64_t> Timetable::next() const {
  return queue_.empty() ? std::nullopt : std::optional(queue_.begin()->first);
}

std::vector<Timetable::Due> Timetable::take_due(int64_t now) {
  std::vector<Due> all;
  while (!queue_.empty() && queue_.begin()->first <= now) {
    const auto [due, name] = *queue_.begin();
    Entry& entry = *entries_.at(name);
    // It could be read when it was set.
    auto after = next_launch(entry.config, due).value_or(std::nullopt);
    const bool missed_more = after && *after <= now;
    entry.last = missed_more ? now : due;
    if (missed_more) after = next_launch(entry.config, now).value_or(std::nullopt);
    plan(name, entry, after);
    all.push_back({name, entry.last});
  }
  return all;
}

}  // namespace drover::periodic
