#include "decide.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "alloc_state.h"
#include "drover/schema.h"
#include "drover/uuid.h"

namespace drover::scheduler {

Cluster cluster_of(const ReadView& view, const Tables& tables) {
  Cluster cluster;
  Table<v1::Node>(tables.nodes).scan(view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    cluster.add_node(std::make_shared<const v1::Node>(std::move(node)));
    return true;
  });
  tables.allocs.scan(view, kPrimary, KeyRange::all(), [&](v1::Allocation& alloc, std::string_view) {
    if (!terminal(alloc)) cluster.add(alloc.node_id(), alloc.allocated_resources());
    return true;
  });
  return cluster;
}

Decision decide(const v1::Evaluation& eval, const ReadView& view, const Tables& tables, int64_t now, Cluster cluster,
                const v1::Job* job) {
  std::optional<v1::Job> stored;
  if (!job) {
    stored = Table<v1::Job>(tables.jobs).get(view, job_key(eval.namespace_(), eval.job_id()));
    if (stored) job = &*stored;
  }
  std::map<uint64_t, std::optional<v1::Job>> versions;
  EvaluateInput input;
  input.eval = eval;
  input.state.job = job;
  input.state.allocs = tables.allocs.list(view, kAllocsByJob, of_job(eval.namespace_(), eval.job_id()));
  input.state.version = [&](uint64_t version) -> const v1::Job* {
    auto [at, unknown] = versions.try_emplace(version);
    if (unknown) {
      const std::string key = job_version_key(eval.namespace_(), eval.job_id(), version);
      at->second = Table<v1::Job>(tables.job_versions).get(view, key);
    }
    return at->second ? &*at->second : nullptr;
  };
  input.state.now = now;
  input.cluster = std::move(cluster);
  input.new_id = [] { return Uuid::random().bytes(); };
  return evaluate(std::move(input));
}

}  // namespace drover::scheduler
