#include "rows.h"

#include <algorithm>

#include "drover/model/job.h"
#include "drover/schema.h"

namespace drover::lives {
namespace {

template <typename Row>
void put(std::map<std::string, Row>& rows, const std::string& key, const Change& change) {
  if (change.after) {
    rows[key] = change.after->as<Row>();
  } else {
    rows.erase(key);
  }
}

}  // namespace

Rows::Rows(const Host& host)
    : allocs_(*host.find_table("allocs")),
      evals_(*host.find_table("evals")),
      deployments_(*host.find_table("deployments")),
      nodes_(*host.find_table("nodes")),
      jobs_(*host.find_table("jobs")),
      versions_(*host.find_table("job_versions")) {}

Commit Rows::take(const ChangeBatch& batch) {
  Commit commit{.index = batch.index(), .allocs = {}};
  for (const Change& change : batch.changes()) {
    const auto key = [&] { return std::string(change.key); };
    if (change.table == allocs_) {
      const std::string id = (change.after ? change.after : change.before)->as<v1::Allocation>().id();
      const auto known = std::ranges::find(commit.allocs, id, &Commit::Changed::id);
      if (known == commit.allocs.end()) {
        const auto at = allocs.find(id);
        commit.allocs.push_back({at == allocs.end() ? std::nullopt : std::optional(at->second), id});
      }
      put(allocs, id, change);
    } else if (change.table == evals_) {
      put(evals, (change.after ? change.after : change.before)->as<v1::Evaluation>().id(), change);
    } else if (change.table == deployments_) {
      put(deployments, (change.after ? change.after : change.before)->as<v1::Deployment>().id(), change);
    } else if (change.table == nodes_) {
      put(nodes, (change.after ? change.after : change.before)->as<v1::Node>().id(), change);
    } else if (change.table == jobs_) {
      put(jobs, (change.after ? change.after : change.before)->as<v1::Job>().id(), change);
    } else if (change.table == versions_) {
      put(versions, key(), change);
    }
  }
  return commit;
}

const v1::Job* Rows::job_of(const v1::Allocation& alloc) const {
  const auto at = jobs.find(alloc.job_id());
  return at == jobs.end() || at->second.create_index() != alloc.job_create_index() ? nullptr : &at->second;
}

const v1::TaskGroup* Rows::group_of(const v1::Allocation& alloc) const {
  const auto at = versions.find(job_version_key(alloc.namespace_(), alloc.job_id(), alloc.job_version()));
  if (at == versions.end() || at->second.create_index() != alloc.job_create_index()) return nullptr;
  return find_group(at->second, alloc.task_group());
}

const v1::Deployment* Rows::deployment_of(const v1::Job& job) const {
  const v1::Deployment* newest = nullptr;
  for (const auto& [id, deployment] : deployments) {
    if (deployment.job_id() != job.id() || deployment.job_create_index() != job.create_index()) continue;
    if (!newest || deployment.create_index() > newest->create_index()) newest = &deployment;
  }
  return newest;
}

bool Rows::is_pending(const std::string& job_id) const {
  return std::ranges::any_of(evals, [&](const auto& at) {
    return at.second.job_id() == job_id && at.second.status() == v1::EVAL_STATUS_PENDING;
  });
}

bool Rows::is_blocked(const std::string& job_id) const {
  return std::ranges::any_of(evals, [&](const auto& at) {
    return at.second.job_id() == job_id && at.second.status() == v1::EVAL_STATUS_BLOCKED;
  });
}

}  // namespace drover::lives
