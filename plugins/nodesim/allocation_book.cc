#include "allocation_book.h"

#include <algorithm>

#include "drover/model/allocation.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node_service.pb.h"
#include "drover/v1/service_sync.pb.h"
#include "simulated_services.h"

namespace drover::nodesim {
namespace {

const v1::Job* job_of(const v1::Allocation& alloc, const v1::FetchAllocationsResponse& answer) {
  const auto is_its = [&](const v1::Job& job) {
    return job.namespace_() == alloc.namespace_() && job.id() == alloc.job_id() && job.version() == alloc.job_version();
  };
  const auto at = std::ranges::find_if(answer.jobs(), is_its);
  return at == answer.jobs().end() ? nullptr : &*at;
}

}  // namespace

std::vector<std::string> AllocationBook::listed(const v1::WatchAllocationsResponse& list) {
  std::vector<std::string> fetch;
  wanted_.clear();
  std::map<std::string, uint64_t> there;
  for (const auto& entry : list.entries()) there[entry.alloc_id()] = entry.alloc_modify_index();
  for (const auto& [id, index] : there) {
    const auto known = entries_.find(id);
    if (known == entries_.end() || known->second.index != index) {
      fetch.push_back(id);
      wanted_[id] = index;
    }
  }
  std::erase_if(entries_, [&](const auto& entry) {
    if (there.contains(entry.first)) return false;
    if (entry.second.phase == Phase::running) --running_;
    if (entry.second.services) services_changed_ = true;
    return true;
  });
  return fetch;
}

bool AllocationBook::fetched(const v1::FetchAllocationsResponse& answer, SteadyTime now) {
  for (const v1::Allocation& alloc : answer.allocations()) {
    if (const auto wanted = wanted_.find(alloc.id()); wanted != wanted_.end()) {
      if (alloc.alloc_modify_index() < wanted->second) continue;
      wanted_.erase(wanted);
    }
    const auto [at, is_new] = entries_.try_emplace(alloc.id());
    Entry& entry = at->second;
    entry.index = alloc.alloc_modify_index();
    if (is_new) {
      entry.is_deployed = !alloc.deployment_id().empty();
      for (const auto& [task, resources] : alloc.allocated_resources().tasks()) entry.tasks.push_back(task);
      if (client_terminal(alloc)) {
        entry.phase = Phase::ended;
      } else {
        entry.step = now + course_.start_after;
      }
    }
    if (entry.phase == Phase::ended) continue;
    if (const v1::Job* job = job_of(alloc, answer)) {
      auto services = services_of(alloc, *job);
      if (services || entry.services) services_changed_ = true;
      entry.services = std::move(services);
    }
    if (alloc.desired_status() != v1::DESIRED_STATUS_RUN) {
      // One that has not begun ends as well: the step after this one does not exist.
      if (entry.phase == Phase::running) --running_;
      entry.phase = Phase::running;
      ++running_;
      entry.step = now;
    } else if (alloc.client_status() == v1::CLIENT_STATUS_UNKNOWN) {
      entry.report = now;  // the servers lost sight of it
    }
  }
  return wanted_.empty();
}

std::optional<SteadyTime> AllocationBook::due() const {
  std::optional<SteadyTime> first;
  for (const auto& [id, entry] : entries_) {
    for (const auto& time : {entry.step, entry.report}) {
      if (time && (!first || *time < *first)) first = time;
    }
  }
  return first;
}

std::vector<v1::Allocation> AllocationBook::take(SteadyTime now, int64_t wall_ns) {
  std::vector<v1::Allocation> reports;
  for (auto& [id, entry] : entries_) {
    const bool steps = entry.step && *entry.step <= now;
    if (!steps && !(entry.report && *entry.report <= now)) continue;
    if (steps) go_on(entry, now, wall_ns);
    entry.report.reset();
    if (entry.phase == Phase::starting) continue;
    if (entry.phase == Phase::running && course_.report_every) entry.report = now + *course_.report_every;
    reports.push_back(report_of(id, entry));
  }
  return reports;
}

void AllocationBook::go_on(Entry& entry, SteadyTime now, int64_t wall_ns) {
  entry.step.reset();
  if (entry.services) services_changed_ = true;
  if (entry.phase == Phase::starting) {
    entry.phase = Phase::running;
    entry.started = wall_ns;
    ++running_;
    if (course_.run_for) entry.step = now + *course_.run_for;
  } else {
    entry.phase = Phase::ended;
    entry.finished = wall_ns;
    --running_;
  }
}

void AllocationBook::say_services(v1::SyncNodeServicesRequest& out) const {
  for (const auto& [id, entry] : entries_) {
    if (entry.phase == Phase::running && entry.services) out.MergeFrom(*entry.services);
  }
}

void AllocationBook::failed(const std::vector<v1::Allocation>& reports, SteadyTime again) {
  for (const v1::Allocation& report : reports) {
    const auto at = entries_.find(report.id());
    if (at != entries_.end()) at->second.report = again;
  }
}

void AllocationBook::report_all(SteadyTime now) {
  for (auto& [id, entry] : entries_) {
    if (entry.phase == Phase::running) entry.report = now;
  }
}

v1::Allocation AllocationBook::report_of(const std::string& id, const Entry& entry) {
  const bool runs = entry.phase == Phase::running;
  v1::Allocation report;
  report.set_id(id);
  report.set_client_status(runs ? v1::CLIENT_STATUS_RUNNING : v1::CLIENT_STATUS_COMPLETE);
  report.set_client_description(runs ? "Tasks are running" : "All tasks have completed");
  for (const std::string& task : entry.tasks) {
    v1::TaskState& state = (*report.mutable_task_states())[task];
    state.set_state(runs ? "running" : "dead");
    state.set_started_at(entry.started);
    state.set_finished_at(entry.finished);
  }
  if (entry.is_deployed && runs) {
    report.mutable_deployment_status()->set_healthy(true);
    report.mutable_deployment_status()->set_timestamp(entry.started);
  }
  return report;
}

}  // namespace drover::nodesim
