// The cluster as placement sees it, kept up to date by changes instead of read and decoded anew for each evaluation.
//
//   state ──follow──▶ Columns::load        the nodes, and what allocations take of them
//   state ──change feed──▶ Columns::apply  one row at a time
//
// Columns is pure and has one owner. SharedColumns stands around one and hands a view of the state and the cluster of
// that very view to whoever decides: the workers of a leader, and trials.
#pragma once

#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "placing/board.h"
#include "placing/cluster.h"
#include "tables.h"

namespace drover::scheduler {

class Columns {
 public:
  explicit Columns(const Tables& tables) : tables_(tables) {}

  void load(const ReadView& view);
  void clear();
  // Changes of other tables are ignored.
  void apply(const Change& change);
  // All nodes with every allocation whose node has not reported its end: one that the servers stopped keeps its room
  // and its ports until then. The same as after load() of the state after all that was applied, up to the order.
  const Cluster& cluster() const { return cluster_; }

 private:
  struct Held {
    std::string node_id;
    std::shared_ptr<const Holding> holding;
  };
  void put_node(v1::Node node);
  void put_alloc(const v1::Allocation& alloc);
  void erase_alloc(const std::string& id);

  const Tables& tables_;
  Cluster cluster_;
  std::unordered_map<std::string, Held> held_;                      // by allocation: those that take room
  std::unordered_map<std::string, std::set<std::string>> on_node_;  // their identifiers, by node
};

// The part of a view that preemption reads, at most once a job. Requires: both outlive it.
OtherJobs others_of(const ReadView& view, const Tables& tables);

class SharedColumns {
 public:
  SharedColumns(Host& host, const Tables& tables) : host_(host), tables_(tables), columns_(tables) {}

  struct Look {
    std::shared_ptr<const ReadView> view;
    Cluster cluster;
  };
  // A view that reflects at least `index`, and its cluster. [any] Errors: as Host::snapshot_at.
  Result<Look> look(uint64_t index, SteadyTime deadline, std::stop_token stop);
  // Until the next look nothing is kept and nothing followed. [any]
  void forget();

 private:
  bool catch_up(const ReadView& view, const std::stop_token& stop) DROVER_REQUIRES(mutex_);

  Host& host_;
  const Tables& tables_;
  Mutex mutex_;
  Columns columns_ DROVER_GUARDED_BY(mutex_);
  std::unique_ptr<ChangeSubscription> feed_ DROVER_GUARDED_BY(mutex_);  // null before the first look
  uint64_t seen_ DROVER_GUARDED_BY(mutex_) = 0;  // index of the last commit that columns_ reflect
};

}  // namespace drover::scheduler
