// The rows of the tables, decoded, as the last commit left them, and what each commit changed. Invariants look at
// nothing else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drover/plugin.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::lives {

struct Commit {
  uint64_t index = 0;
  struct Changed {
    std::optional<v1::Allocation> before;
    std::string id;
  };
  std::vector<Changed> allocs;  // also those that are gone
};

class Rows {
 public:
  // `find`: the table of that name.
  explicit Rows(const Host& host);

  Commit take(const ChangeBatch& batch);

  std::map<std::string, v1::Allocation> allocs;
  std::map<std::string, v1::Evaluation> evals;
  std::map<std::string, v1::Deployment> deployments;
  std::map<std::string, v1::Node> nodes;
  std::map<std::string, v1::Job> jobs;      // by name: all are in one namespace
  std::map<std::string, v1::Job> versions;  // by key

  // The newest version, while the job is the one that the allocation is of; null: it is another job, or gone.
  const v1::Job* job_of(const v1::Allocation& alloc) const;
  // The group of the allocation in its own version of the job; null when that is not kept.
  const v1::TaskGroup* group_of(const v1::Allocation& alloc) const;
  // The newest deployment of the job; null: it has none.
  const v1::Deployment* deployment_of(const v1::Job& job) const;
  // An evaluation of the job that somebody will look at without waiting for room.
  bool is_pending(const std::string& job_id) const;
  bool is_blocked(const std::string& job_id) const;

 private:
  TableId allocs_, evals_, deployments_, nodes_, jobs_, versions_;
};

}  // namespace drover::lives
