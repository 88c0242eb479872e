#include "tables.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "drain.pb.h"
#include "drain_step.h"
#include "drover/model/allocation.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"

namespace drover::drain {
namespace {

// The moves of one entry, as the rows allow them by now.
class Moves {
 public:
  Moves(const Tables& tables, const ReadView& rows) : tables_(tables), rows_(rows) {}

  void add(const std::string& id) {
    const auto alloc = movable(id);
    if (alloc && moved_.insert(id).second) note(*alloc);
  }
  void add_if_spared(const std::string& id) {
    const auto alloc = movable(id);
    if (!alloc || moved_.contains(id)) return;
    std::optional<int64_t>& left = left_of(*alloc);
    if (left && *left <= 0) return;
    if (left) --*left;
    moved_.insert(id);
    note(*alloc);
  }
  // The command of the allocations' owner.
  v1::AllocationsTransitioned command(const v1::DrainMoved& of) const {
    v1::AllocationsTransitioned command;
    command.mutable_alloc_ids()->Assign(moved_.begin(), moved_.end());
    command.mutable_transition()->set_migrate(true);
    command.set_time(of.time());
    for (const v1::Evaluation& eval : of.evaluations()) {
      if (jobs_.contains({eval.namespace_(), eval.job_id()})) *command.add_evaluations() = eval;
    }
    return command;
  }

 private:
  std::optional<v1::Allocation> movable(const std::string& id) const {
    auto alloc = Table<v1::Allocation>(tables_.allocs).get(rows_, id);
    if (!alloc || terminal(*alloc) || alloc->desired_transition().migrate()) return std::nullopt;
    return alloc;
  }
  void note(const v1::Allocation& alloc) { jobs_.emplace(alloc.namespace_(), alloc.job_id()); }
  // How many more of the allocation's group may move; nothing: any number.
  std::optional<int64_t>& left_of(const v1::Allocation& alloc) {
    const auto [at, is_new] = left_.try_emplace({alloc.namespace_(), alloc.job_id(), alloc.task_group()});
    if (!is_new) return at->second;
    const auto job = Table<v1::Job>(tables_.jobs).get(rows_, job_key(alloc.namespace_(), alloc.job_id()));
    if (!job) return at->second;
    const auto allocs =
        Table<v1::Allocation>(tables_.allocs).list(rows_, kAllocsByJob, of_job(alloc.namespace_(), alloc.job_id()));
    return at->second = may_move(*job, alloc.task_group(), allocs, moved_);
  }

  const Tables& tables_;
  const ReadView& rows_;
  std::set<std::string> moved_;
  std::set<std::pair<std::string, std::string>> jobs_;                                        // by namespace and job
  std::map<std::tuple<std::string, std::string, std::string>, std::optional<int64_t>> left_;  // the same and the group
};

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> moved(const v1::DrainMoved& command, ApplyContext& context) const {
    Moves moves(tables_, context.rows());
    for (const std::string& id : command.alloc_ids()) moves.add(id);
    for (const std::string& id : command.spared_ids()) moves.add_if_spared(id);
    const v1::AllocationsTransitioned transitioned = moves.command(command);
    if (!transitioned.alloc_ids().empty()) DROVER_RETURN_IF_ERROR(also(context, transitioned));
    return std::string();
  }

 private:
  const Tables tables_;
};

}  // namespace

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.nodes, declare.other_table("nodes"));
  DROVER_TRY(tables.allocs, declare.other_table("allocs"));
  DROVER_TRY(tables.jobs, declare.other_table("jobs"));
  return declare.command<&Commands::moved>(std::make_shared<const Commands>(tables));
}

}  // namespace drover::drain
