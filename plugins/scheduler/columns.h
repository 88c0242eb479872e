// The cluster as placement sees it, kept up to date by changes instead of read and decoded anew for each evaluation.
//
//   state ──follow──▶ Columns::load        the nodes, and what allocations take of them
//   state ──change feed──▶ Columns::apply  one row at a time
//   accepted plans ──▶ place, end, resize  what is in flight, on top of it
//
// Columns is pure and has one owner. SharedColumns stands around one and hands a view of the state and the cluster of
// that very view, with the plans in flight, to whoever decides: the workers of a leader, and trials.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "placing/board.h"
#include "placing/cluster.h"
#include "plans/in_flight.h"
#include "tables.h"

namespace drover::scheduler {

class Columns {
 public:
  explicit Columns(const Tables& tables) : tables_(tables) {}

  // What is in flight stays.
  void load(const ReadView& view);
  void clear();
  // Changes of other tables are ignored.
  void apply(const Change& change);
  // One row each, as apply() takes them.
  void put_node(v1::Node node);
  void erase_node(const std::string& id) { cluster_.erase_node(id); }
  void put_alloc(const v1::Allocation& alloc);
  void erase_alloc(const std::string& id);

  // All nodes with every allocation whose node has not reported its end: one that the servers stopped keeps its room
  // and its ports until then. What plans in flight place is there, and what they stop still is. With nothing in flight
  // the same as after load() of the state after all that was applied, up to the order.
  const Cluster& cluster() const { return cluster_; }

  // Claims that allocations have yet to make: those that their nodes have not begun, and those of plans in flight.
  std::shared_ptr<const ComingClaims::ByVolume> coming_claims() const { return coming_claims_.all(); }

  // The following is for plans. An allocation that is terminal on either side takes nothing then.

  // The most that can be taken of the node when the next plan comes, whichever of the plans in flight are committed.
  // Nothing when the node is unknown.
  std::optional<NodeRoom> room(const std::string& node_id) const;
  // More is taken of the node than it has, in the state alone. O(allocations there).
  bool is_overcommitted(const std::string& node_id) const;
  struct Share {
    enum class State {
      none,      // takes nothing: it is unknown or terminal
      leaving,   // a plan in flight stops it
      firm,      // takes `usage`
      changing,  // takes `usage` at the most: a plan in flight brings it, or gives it another share
    };
    State state = State::none;
    const Usage* usage = nullptr;  // valid until the next change
  };
  Share share(const std::string& alloc_id) const;

  InFlight::Entry open() { return in_flight_.open(); }
  // `alloc`: the same as the holding.
  void place(InFlight::Entry entry, const v1::Allocation& alloc, std::shared_ptr<const Holding> holding);
  void end(InFlight::Entry entry, const std::string& alloc_id);
  void resize(InFlight::Entry entry, const std::string& alloc_id, Usage usage);
  void exchange(const std::string& node_id, InFlight::Exchange exchange) {
    in_flight_.exchange(node_id, std::move(exchange));
  }
  void settle(InFlight::Entry entry, uint64_t index, bool failed) { in_flight_.settle(entry, index, failed); }
  size_t in_flight() const { return in_flight_.size(); }

  // An entry that is in flight no longer.
  struct Settled {
    struct Gain {
      std::string node_id, computed_class;
    };
    InFlight::Entry entry;
    bool failed;
    std::vector<Gain> gained;  // nodes on which something was taken that did not come
  };
  // All changes up to that index were applied. Returns the settled entries that end by it.
  std::vector<Settled> shows(uint64_t index);

 private:
  struct Held {
    std::string node_id;
    std::shared_ptr<const Holding> row;    // as the state has it; null: it is in flight only
    bool stopped = false;                  // in the state
    std::shared_ptr<const Holding> shown;  // in the cluster; null: not there
    bool leaves = false;                   // a plan in flight stops it, which the state does not show yet
  };
  void load_jobs(const ReadView& view);
  void show(const std::string& id);
  void hide(const std::string& id, Held& held);

  const Tables& tables_;
  Cluster cluster_;
  InFlight in_flight_;
  std::unordered_map<std::string, Held> held_;  // by allocation: those that take room
  using Ids = std::unordered_map<std::string, std::set<std::string>>;
  Ids on_node_;   // their identifiers, by node
  Ids stopping_;  // of them those that no plan counts
  ComingClaims coming_claims_;
};

// The part of a view that preemption reads, at most once a job. Requires: both outlive it.
OtherJobs others_of(const ReadView& view, const Tables& tables);
// The part of a view that groups with volumes read. Requires: the same.
StorageRows storage_of(const ReadView& view, const Tables& tables);

class SharedColumns {
 public:
  SharedColumns(Host& host, const Tables& tables) : host_(host), tables_(tables), columns_(tables) {}

  struct Look {
    std::shared_ptr<const ReadView> view;
    Cluster cluster;
  };
  // A view that reflects at least `index`, and its cluster with the plans in flight. [any] Errors: as
  // Host::snapshot_at.
  Result<Look> look(uint64_t index, SteadyTime deadline, std::stop_token stop);
  // Lets a plan be checked and taken in. `use` gets the columns of the newest state and its index; it is short, nobody
  // else looks meanwhile. [any] Errors: cancelled.
  Status use_newest(std::stop_token stop, const std::function<void(Columns& columns, uint64_t index)>& use);
  // Until the next look nothing is kept and nothing followed; what is in flight is forgotten. [any]
  void forget();

  const Tables& tables() const { return tables_; }

  InFlight::Entry open();  // [any]
  // The answer to an entry: once the state shows `index`, what it brought is there or, `failed`, is undone. [any]
  void settle(InFlight::Entry entry, uint64_t index, bool failed);
  // Entries that were undone since the last call, and room that is free by it, as of which index. [any] Errors:
  // cancelled.
  struct Undone {
    std::vector<Columns::Settled> entries;
    uint64_t index = 0;
  };
  Result<Undone> take_undone(std::stop_token stop);

 private:
  Result<std::shared_ptr<const ReadView>> refresh(const std::stop_token& stop) DROVER_REQUIRES(mutex_);
  bool catch_up(const ReadView& view, const std::stop_token& stop) DROVER_REQUIRES(mutex_);

  Host& host_;
  const Tables& tables_;
  Mutex mutex_;
  Columns columns_ DROVER_GUARDED_BY(mutex_);
  std::unique_ptr<ChangeSubscription> feed_ DROVER_GUARDED_BY(mutex_);  // null before the first look
  uint64_t seen_ DROVER_GUARDED_BY(mutex_) = 0;  // index of the last commit that columns_ reflect
  std::vector<Columns::Settled> undone_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::scheduler
