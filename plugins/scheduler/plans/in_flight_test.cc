#include "in_flight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "deciding/decide.h"
#include "drover/model/allocation.h"
#include "drover/schema.h"
#include "plan.h"
#include "scheduler.pb.h"
#include "sdk/testing/memory_rows.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

Usage usage(int64_t cpu, std::vector<int32_t> ports = {}, std::vector<uint32_t> cores = {}) {
  Usage made{.amount = {.cpu = cpu}, .ports = {}, .cores = std::move(cores), .devices = {}};
  for (const int32_t port : ports) made.ports.push_back({"10.0.0.1", port});
  return made;
}

std::shared_ptr<const Holding> holding(const std::string& id, Usage share) {
  return std::make_shared<const Holding>(Holding{.id = id, .usage = std::move(share)});
}

TEST(InFlight, BeyondIsWhatOneShareTakesAndAnotherDoesNot) {
  struct Case {
    Usage wanted, there;
    int64_t cpu;
    std::vector<int32_t> ports;
    size_t cores;
  };
  const Case cases[] = {
      {usage(500), usage(300), 200, {}, 0},
      {usage(300), usage(500), 0, {}, 0},
      {usage(0, {80, 81}), usage(0, {81, 82}), 0, {80}, 0},
      {usage(0, {}, {1, 2}), usage(0, {}, {2}), 0, {}, 1},
  };
  for (const Case& c : cases) {
    Usage more = beyond(c.wanted, c.there);
    EXPECT_EQ(more.amount.cpu, c.cpu);
    std::vector<int32_t> ports;
    for (const HeldPort& port : more.ports) ports.push_back(port.port);
    EXPECT_EQ(ports, c.ports);
    EXPECT_EQ(more.cores.size(), c.cores);
    add(more, c.there);
    EXPECT_GE(more.amount.cpu, std::max(c.wanted.amount.cpu, c.there.amount.cpu)) << "together both are covered";
  }
}

TEST(InFlight, AnEntryIsGoneOnceTheStateShowsItsIndex) {
  InFlight flights;
  const auto first = flights.open(), second = flights.open(), third = flights.open();
  flights.place(first, "n1", holding("a", usage(1)));
  flights.end(second, "a");
  flights.resize(third, "b", usage(2));
  flights.settle(second, 7, /*failed=*/true);
  EXPECT_TRUE(flights.take_shown(6).empty());
  EXPECT_TRUE(flights.change_of("a").placed && flights.change_of("a").ends);
  auto gone = flights.take_shown(7);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].entry, second);
  EXPECT_TRUE(gone[0].failed);
  EXPECT_EQ(gone[0].allocs, std::vector<std::string>{"a"});
  EXPECT_TRUE(flights.change_of("a").placed);
  EXPECT_FALSE(flights.change_of("a").ends);

  flights.arrived("a");
  EXPECT_FALSE(flights.change_of("a").placed) << "the state has it";
  EXPECT_EQ(flights.change_of("b").sizes.size(), 1U);
  flights.settle(first, 8, false);
  flights.settle(third, 9, false);
  EXPECT_EQ(flights.take_shown(100).size(), 2U);
  EXPECT_EQ(flights.size(), 0U);
  EXPECT_TRUE(flights.allocs().empty());
  flights.settle(first, 9, false);  // it is known no longer
  EXPECT_EQ(flights.size(), 0U);
}

TEST(InFlight, AnExchangeEndsWithItsEntry) {
  InFlight flights;
  const auto first = flights.open(), second = flights.open();
  flights.exchange("n1", {.entry = first, .ended = {"a"}, .taken = usage(500)});
  flights.exchange("n1", {.entry = second, .ended = {"b"}, .taken = {}});
  EXPECT_TRUE(flights.exchanges("n2").empty());
  EXPECT_EQ(flights.exchanges("n1").size(), 2U);
  flights.settle(first, 1, false);
  (void)flights.take_shown(1);
  ASSERT_EQ(flights.exchanges("n1").size(), 1U);
  EXPECT_EQ(flights.exchanges("n1")[0].ended, std::vector<std::string>{"b"});
}

// A leader's columns, a log that loses entries and answers late or wrongly, and a feed that lags.
class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {
    rows_.add_table(jobs_table().spec());
    rows_.add_table(job_versions_table().spec());
    nodes_ = Table<v1::Node>(rows_.add_table(nodes_table().spec()));
    EXPECT_TRUE(declare_tables(rows_, tables_).ok());
    columns_ = std::make_unique<Columns>(tables_);
    commit([&] {
      for (const char* name : kNodes) EXPECT_TRUE(nodes_.put(rows_, make_node(name, kCpu)).ok());
    });
  }

  void step() {
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
        return propose();
      case 3:
      case 4:
        return commit_oldest();
      case 5:
        return lose_one();
      case 6:
        return report();
      case 7:
        return resync();
      default:
        return follow();
    }
  }
  // Everything that is in the log is committed, and everything is heard of.
  void settle() {
    while (!log_.empty()) commit_oldest();
    while (!feed_.empty()) follow();
    // Entries that were lost make the log shorter than it was when others failed.
    for (int i = 0; i < 100 && columns_->in_flight() > 0; ++i) {
      commit([] {});
      follow();
    }
  }
  void expect_rebuilt() {
    EXPECT_EQ(columns_->in_flight(), 0U);
    const Cluster read = cluster_of(rows_, tables_);
    for (const char* name : kNodes) {
      EXPECT_TRUE(*columns_->cluster().room(id_of(name)) == *read.room(id_of(name))) << name;
      NodeRoom counted(make_node(name, kCpu));
      for (const v1::Allocation& alloc : on_node(name)) {
        if (!terminal(alloc)) counted.add(usage_of(alloc.allocated_resources()));
      }
      EXPECT_TRUE(*columns_->room(id_of(name)) == counted) << name;
    }
  }

  int accepted = 0, refused = 0, committed = 0, lost = 0, late = 0;

 private:
  static constexpr const char* kNodes[] = {"n1", "n2", "n3"};
  static constexpr int64_t kCpu = 2000;
  struct Proposed {
    InFlight::Entry entry = 0;  // none: a node's report
    v1::PlanApplied command = {};
    bool was_answered = false;
    std::string reported = {};
  };
  struct Batch {
    uint64_t index;
    std::vector<drover::testing::MemoryRows::RowChange> changes;
  };

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  std::vector<v1::Allocation> on_node(const std::string& name) {
    return tables_.allocs.list(rows_, kAllocsByNode, of_id(id_of(name)));
  }

  v1::Allocation fresh(const std::string& node) {
    v1::Allocation alloc = make_alloc(job_, 0, node, v1::CLIENT_STATUS_PENDING);
    alloc.set_id(id_of("a" + std::to_string(++made_)));
    set_share(*alloc.mutable_allocated_resources());
    if (below(3) == 0) alloc.mutable_allocated_resources()->mutable_shared()->add_ports()->set_value(8000 + below(3));
    return alloc;
  }
  void set_share(v1::AllocatedResources& resources) {
    (*resources.mutable_tasks())["main"].mutable_cpu()->set_cpu_shares(100 * (1 + below(8)));
  }
  v1::AllocationDelta change_of(const v1::Allocation& alloc) {
    v1::AllocationDelta delta;
    delta.set_id(alloc.id());
    switch (below(4)) {
      case 0:
        *delta.mutable_allocated_resources() = alloc.allocated_resources();
        set_share(*delta.mutable_allocated_resources());
        break;
      case 1:
        delta.set_desired_status(v1::DESIRED_STATUS_STOP);
        break;
      default:
        delta.set_desired_status(v1::DESIRED_STATUS_EVICT);
    }
    return delta;
  }
  Plan plan() {
    Plan plan;
    for (int n = 1 + below(2); n > 0; --n) {
      const std::string name = kNodes[below(std::size(kNodes))];
      for (int i = below(3); i > 0; --i) plan.placed.push_back(fresh(name));
      std::vector<v1::Allocation> there = on_node(name);
      for (const v1::Allocation& alloc : placed_) {
        if (alloc.node_id() == id_of(name) && !tables_.allocs.get(rows_, alloc.id())) there.push_back(alloc);
      }
      // Few of those that are over, of which there are ever more.
      std::erase_if(there, [&](const v1::Allocation& alloc) { return terminal(alloc) && below(20) > 0; });
      std::ranges::shuffle(there, random_);
      there.resize(std::min<size_t>(there.size(), static_cast<size_t>(below(3))));
      std::vector<v1::AllocationDelta>& changed = plan.changed[id_of(name)];
      changed.clear();
      for (const v1::Allocation& alloc : there) changed.push_back(change_of(alloc));
      if (changed.empty()) plan.changed.erase(id_of(name));
    }
    return plan;
  }

  void propose() {
    Proposed proposed{.entry = columns_->open(), .command = {}};
    for (int plans = 1 + below(2); plans > 0; --plans) {
      const CheckedPlan checked = check_plan(WeighedPlan(plan()), *columns_, proposed.entry);
      refused += static_cast<int>(checked.refused.size());
      accepted += static_cast<int>(checked.plan.placed.size());
      for (const v1::Allocation& alloc : checked.plan.placed) *proposed.command.add_placed() = alloc;
      for (const auto& [node, deltas] : checked.plan.changed) {
        for (const v1::AllocationDelta& delta : deltas) *proposed.command.add_changed() = delta;
      }
    }
    // Others see them once the entry is proposed.
    placed_.insert(placed_.end(), proposed.command.placed().begin(), proposed.command.placed().end());
    while (placed_.size() > 20) placed_.pop_front();
    log_.push_back(std::move(proposed));
  }
  void commit(const std::function<void()>& write) {
    rows_.begin(++index_);
    write();
    published();
  }
  void published() {
    feed_.push_back({index_, rows_.changes()});
    for (const char* name : kNodes) {
      NodeRoom room(make_node(name, kCpu));
      for (const v1::Allocation& alloc : on_node(name)) {
        if (!terminal(alloc)) room.add(usage_of(alloc.allocated_resources()));
      }
      EXPECT_EQ(room.overcommitted(), "") << name << " at " << index_;
    }
  }
  void commit_oldest() {
    if (log_.empty()) return;
    const Proposed oldest = std::move(log_.front());
    log_.pop_front();
    if (oldest.entry == 0) return commit([&] { take_report(oldest.reported); });
    EXPECT_TRUE(rows_.apply(oldest.command, ++index_).ok());
    ++committed;
    published();
    if (!oldest.was_answered) columns_->settle(oldest.entry, index_, /*failed=*/false);
  }
  // One entry is answered with an error: it never got into the log, or it did and nobody knows.
  void lose_one() {
    if (log_.empty()) return;
    const auto at = log_.begin() + below(static_cast<int>(log_.size()));
    if (at->entry == 0 || at->was_answered) return;
    const InFlight::Entry entry = at->entry;
    if (below(2) == 0) {
      at->was_answered = true;
      ++late;
    } else {
      log_.erase(at);
      ++lost;
    }
    columns_->settle(entry, index_ + log_.size(), /*failed=*/true);
  }
  // A node says that one has ended, or that it runs.
  void report() {
    std::vector<v1::Allocation> there = on_node(kNodes[below(std::size(kNodes))]);
    std::erase_if(there, [](const v1::Allocation& alloc) { return client_terminal(alloc); });
    if (there.empty()) return;
    log_.push_back({.reported = there[static_cast<size_t>(below(static_cast<int>(there.size())))].id()});
  }
  void take_report(const std::string& id) {
    v1::Allocation alloc = tables_.allocs.get(rows_, id).value();
    if (client_terminal(alloc)) return;
    const bool ends = server_terminal(alloc) || below(4) == 0;
    alloc.set_client_status(ends ? v1::CLIENT_STATUS_COMPLETE : v1::CLIENT_STATUS_RUNNING);
    EXPECT_TRUE(tables_.allocs.put(rows_, alloc).ok());
  }
  void follow() {
    if (feed_.empty()) {  // an entry that failed was perhaps the last of the log
      (void)columns_->shows(index_);
      return;
    }
    for (const auto& row : feed_.front().changes) {
      Change change{.table = row.table, .key = row.key, .before = {}, .after = {}};
      if (row.before) change.before.emplace(*row.before);
      if (row.after) change.after.emplace(*row.after);
      columns_->apply(change);
    }
    (void)columns_->shows(feed_.front().index);
    feed_.pop_front();
  }
  void resync() {
    if (below(20) != 0) return;
    feed_.clear();
    columns_->load(rows_);
    (void)columns_->shows(index_);
  }

  std::mt19937 random_;
  const v1::Job job_ = make_job();
  drover::testing::MemoryRows rows_;
  Tables tables_;
  Table<v1::Node> nodes_;
  std::unique_ptr<Columns> columns_;
  uint64_t index_ = 0;
  int made_ = 0;
  std::deque<Proposed> log_;
  std::deque<Batch> feed_;
  std::deque<v1::Allocation> placed_;  // by plans, the newest last
};

TEST(InFlight, WhateverIsLostNoNodeIsOvercommittedAndTheColumnsEndAsTheState) {
  int accepted = 0, refused = 0, committed = 0, lost = 0, late = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Simulation simulation(seed);
    for (int i = 0; i < 400; ++i) simulation.step();
    simulation.settle();
    simulation.expect_rebuilt();
    accepted += simulation.accepted;
    refused += simulation.refused;
    committed += simulation.committed;
    lost += simulation.lost;
    late += simulation.late;
    if (::testing::Test::HasFailure()) FAIL() << "with seed " << seed;
  }
  // Enough of everything happened.
  for (const int count : {accepted, refused, committed, lost, late}) EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace drover::scheduler
