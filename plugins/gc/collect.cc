#include "collect.h"

#include <map>
#include <set>

#include "drover/model/allocation.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::gc {
namespace {

bool lives(const v1::Job& job) { return !job.stop() && job.status() != v1::JOB_STATUS_DEAD; }

// The deployments that are over for so long and have no allocation that lives.
std::vector<std::string> over(const ReadView& view, const Tables& tables, std::chrono::nanoseconds age,
                              int64_t now_ns) {
  std::vector<std::string> ids;
  if (!tables.deployments) return ids;
  const auto visit = [&](v1::Deployment& deployment, std::string_view) {
    const auto status = deployment.status();
    const bool is_over = status == v1::DEPLOYMENT_STATUS_SUCCESSFUL || status == v1::DEPLOYMENT_STATUS_FAILED ||
                         status == v1::DEPLOYMENT_STATUS_CANCELLED;
    if (!is_over || std::chrono::nanoseconds(now_ns - deployment.modify_time()) < age) return true;
    bool has_live = false;
    Table<v1::Allocation>(tables.allocs)
        .scan(view, kAllocsByJob, of_job(deployment.namespace_(), deployment.job_id()),
              [&](v1::Allocation& alloc, std::string_view) {
                has_live = alloc.deployment_id() == deployment.id() && !terminal(alloc);
                return !has_live;
              });
    if (!has_live) ids.push_back(deployment.id());
    return true;
  };
  Table<v1::Deployment>(*tables.deployments).scan(view, kPrimary, KeyRange::all(), visit);
  return ids;
}

// The allocations whose evaluation was deleted by hand, once they are so old that it would have gone by itself.
template <typename Jobs>
void add_orphans(const ReadView& view, const Tables& tables, const Jobs& jobs, const Thresholds& thresholds,
                 int64_t now_ns, std::vector<std::string>& out) {
  std::string eval_id;
  bool is_there = false;
  for (auto row = view.scan(tables.allocs, kAllocsByEval, KeyRange::all()); row->valid(); row->next()) {
    if (!row->key().starts_with(eval_id) || eval_id.empty()) {
      eval_id = KeyReader(row->key()).id().value_or("");
      is_there = view.get(tables.evals, eval_id).has_value();
    }
    if (is_there) continue;
    const auto alloc = Table<v1::Allocation>::parse(row->row());
    const auto job = jobs.find({alloc.namespace_(), alloc.job_id()});
    const v1::Job* known = job == jobs.end() ? nullptr : &job->second;
    const bool batch = known && known->type() == "batch";
    const auto age = std::chrono::nanoseconds(now_ns - alloc.modify_time());
    if (age < (batch ? thresholds.batch_evaluation : thresholds.evaluation) || (batch && lives(*known))) continue;
    if (may_be_forgotten(alloc, known, now_ns)) out.push_back(alloc.id());
  }
}

}  // namespace

Garbage collect(const ReadView& view, const Tables& tables, const Thresholds& thresholds, int64_t now_ns) {
  Garbage garbage;
  const Table<v1::Allocation> allocs(tables.allocs);
  std::map<std::pair<std::string, std::string>, v1::Job> jobs;
  Table<v1::Job>(tables.jobs).scan(view, kPrimary, KeyRange::all(), [&](v1::Job& job, std::string_view) {
    std::pair key(job.namespace_(), job.id());
    jobs.emplace(std::move(key), std::move(job));
    return true;
  });
  std::set<std::pair<std::string, std::string>> still_used;
  Table<v1::Evaluation>(tables.evals)
      .scan(view, kPrimary, KeyRange::all(), [&](v1::Evaluation& eval, std::string_view) {
        const std::pair key(eval.namespace_(), eval.job_id());
        auto job = jobs.find(key);
        const auto age = std::chrono::nanoseconds(now_ns - eval.modify_time());
        const bool batch = eval.type() == "batch";
        bool goes = !is_open(eval) && age >= (batch ? thresholds.batch_evaluation : thresholds.evaluation) &&
                    !(batch && job != jobs.end() && lives(job->second));
        std::vector<std::string> own;
        allocs.scan(view, kAllocsByEval, of_id(eval.id()), [&](v1::Allocation& alloc, std::string_view) {
          goes = goes && may_be_forgotten(alloc, job == jobs.end() ? nullptr : &job->second, now_ns);
          own.push_back(alloc.id());
          return goes;
        });
        if (!goes) {
          still_used.insert(key);
          return true;
        }
        garbage.evals.push_back(eval.id());
        garbage.allocs.insert(garbage.allocs.end(), own.begin(), own.end());
        return true;
      });
  add_orphans(view, tables, jobs, thresholds, now_ns, garbage.allocs);
  for (const auto& [key, job] : jobs) {
    const bool ended = job.status() == v1::JOB_STATUS_DEAD && (job.stop() || job.type() == "batch");
    const auto age = std::chrono::nanoseconds(now_ns - job.submit_time());
    if (ended && age >= thresholds.job && !still_used.contains(key)) garbage.jobs.push_back(key);
  }
  Table<v1::Node>(tables.nodes).scan(view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    if (node.status() != v1::NODE_STATUS_DOWN) return true;
    if (std::chrono::nanoseconds(now_ns - node.status_updated_at() * 1'000'000'000) < thresholds.node) return true;
    bool has_live = false;
    allocs.scan(view, kAllocsByNode, of_id(node.id()), [&](v1::Allocation& alloc, std::string_view) {
      has_live = has_live || !terminal(alloc);
      return !has_live;
    });
    if (!has_live) garbage.nodes.push_back(node.id());
    return true;
  });
  garbage.deployments = over(view, tables, thresholds.deployment, now_ns);
  return garbage;
}

}  // namespace drover::gc
