#include "packing/metrics.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drover/messages.h"
#include "drover/v1/commands.pb.h"
#include "packing/format.h"
#include "packing/ids.h"
#include "packing/pack.h"
#include "packing/packer.h"
#include "scheduler.pb.h"
#include "testing/shell.h"

namespace drover::scheduler::packing {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

v1::AllocMetric metric_of(int number) {
  v1::AllocMetric metric;
  metric.set_nodes_evaluated(number);
  (*metric.mutable_nodes_available())["dc1"] = 7;
  for (int node = number; node < number + 3; ++node) {
    v1::NodeScoreMeta& meta = *metric.add_score_meta_data();
    meta.set_node_id(id_of("node " + std::to_string(node)));
    (*meta.mutable_scores())["binpack"] = node / 7.0;
  }
  return metric;
}

TEST(Metrics, IdentifiersThatFollowEachOtherShareRows) {
  const auto next = ids_from("0123456789abcdef");
  std::set<std::string> keys;
  std::set<std::pair<std::string, uint32_t>> places;
  for (int i = 0; i < 1000; ++i) {
    const MetricPlace place = place_of_metric(next());
    EXPECT_LT(place.slot, 64U);
    keys.insert(place.key);
    EXPECT_TRUE(places.emplace(place.key, place.slot).second) << "a place that another has";
  }
  EXPECT_LE(keys.size(), 1000U / 64 + 2);
  EXPECT_NE(place_of_metric("0123456789abcdef").key, place_of_metric("0123456789abcdeX").key);
  EXPECT_EQ(place_of_metric("odd").key, "odd");
}

TEST(Metrics, BytesThatAreNoMetricAreAnError) {
  const std::string whole = serialize(metric_of(3));
  const std::string cut = whole.substr(0, whole.size() - 3);  // in the rating of a node
  const std::string group = "\x0b";  // opened; no message of ours has one
  for (const std::string& bytes : {cut, group, std::string(5, '\xff'), std::string(1, '\0')}) {
    v1::PassMetrics row;
    EXPECT_EQ(add_metrics({{1, whole}, {2, bytes}}, Format::second, row).code(), Code::data_loss) << bytes.size();
    EXPECT_EQ(row.parts_size(), 0);
  }
}

TEST(Metrics, EachSlotHasItsOwnUntilTheLastIsGone) {
  v1::PassMetrics row;
  std::vector<PlacedMetric> metrics;
  for (const uint32_t slot : {63U, 0U, 5U}) metrics.push_back({slot, serialize(metric_of(static_cast<int>(slot)))});
  EXPECT_TRUE(add_metrics(std::move(metrics), Format::second, row).ok());
  for (const uint32_t slot : {0U, 5U, 63U}) {
    const auto found = find_metric(row, slot);
    ASSERT_TRUE(found) << slot;
    EXPECT_EQ(serialize(*found), serialize(metric_of(static_cast<int>(slot))));
  }
  EXPECT_FALSE(find_metric(row, 1));
  EXPECT_TRUE(add_metrics({{5, serialize(metric_of(100))}, {6, serialize(metric_of(6))}}, Format::second, row).ok());
  EXPECT_EQ(find_metric(row, 5)->nodes_evaluated(), 100);
  EXPECT_EQ(find_metric(row, 63)->nodes_evaluated(), 63);
  for (const uint32_t slot : {0U, 5U, 6U}) drop_metric(slot, row);
  EXPECT_NE(row.live(), 0U);
  drop_metric(63, row);
  EXPECT_EQ(row.live(), 0U);
}

TEST(Metrics, ADamagedRowHasNone) {
  v1::PassMetrics row;
  EXPECT_TRUE(add_metrics({{0, serialize(metric_of(1))}, {1, serialize(metric_of(2))}}, Format::second, row).ok());
  row.mutable_parts(0)->mutable_packed()->resize(10);
  EXPECT_FALSE(find_metric(row, 1));
  row.mutable_parts(0)->set_format(3);
  EXPECT_FALSE(find_metric(row, 0));
}

class MetricRows : public testing::ShellTest {
 protected:
  MetricRows() {
    put(make_node("n1"));
    put(job_);
  }
  v1::PlanApplied plan(int count) {
    v1::PlanApplied plan;
    const auto next = ids_from(id_of("first"));
    for (int i = 0; i < count; ++i) {
      v1::Allocation& alloc = *plan.add_placed();
      alloc = make_alloc(job_, i, "n1", v1::CLIENT_STATUS_PENDING);
      alloc.set_id(next());
      *alloc.mutable_metrics() = metric_of(i);
    }
    return plan;
  }
  void place(v1::PlanApplied plan) {
    const auto view = host_.snapshot();
    const Lookup lookup = lookup_in(*view, tables_.nodes, tables_.evals.id());
    const auto applied = host_.propose(*pack(plan, lookup), SteadyTime::max());
    ASSERT_TRUE(applied.ok()) << applied.status().message();
  }
  uint64_t rows() { return host_.snapshot()->row_count(tables_.metrics.id()); }

  const v1::Job job_ = make_job();
};

// A server of a former version, and one that reads an old log, has the same rows.
TEST_F(MetricRows, OfOldEntriesAreInTheirFormat) {
  const v1::PlanApplied placed = plan(3);
  v1::PlansApplied old;
  {
    const auto view = host_.snapshot();
    const Lookup lookup = lookup_in(*view, tables_.nodes, tables_.evals.id());
    Packer packer(lookup, Format::first);
    packer.add_number(3);
    for (const v1::Allocation& alloc : placed.placed()) packer.add(serialize(alloc), *v1::Allocation::descriptor());
    for (int empty = 0; empty < 2; ++empty) packer.add_number(0);
    old.set_format(1);
    old.set_packed(packer.take());
  }
  ASSERT_TRUE(host_.propose(old, SteadyTime::max()).ok());
  const auto view = host_.snapshot();
  for (const v1::Allocation& alloc : placed.placed()) {
    const auto row = tables_.metrics.get(*view, place_of_metric(alloc.id()).key);
    ASSERT_TRUE(row && row->parts_size() == 1);
    EXPECT_EQ(row->parts(0).format(), 1U);
    auto shown = tables_.allocs.get(*view, alloc.id());
    ASSERT_TRUE(shown);
    join_metric(tables_, *view, *shown);
    EXPECT_EQ(serialize(shown->metrics()), serialize(alloc.metrics()));
  }
}

TEST_F(MetricRows, StandApartFromAllocationsAndGoWithThem) {
  const v1::PlanApplied placed = plan(100);
  place(placed);
  EXPECT_LE(rows(), 3U);
  const auto view = host_.snapshot();
  v1::EvalsDeleted half, rest;
  for (const v1::Allocation& alloc : placed.placed()) {
    auto row = tables_.allocs.get(*view, alloc.id());
    ASSERT_TRUE(row);
    EXPECT_FALSE(row->has_metrics());
    join_metric(tables_, *view, *row);
    EXPECT_EQ(serialize(row->metrics()), serialize(alloc.metrics()));
    (half.alloc_ids_size() < 50 ? half : rest).add_alloc_ids(alloc.id());
  }
  ASSERT_TRUE(host_.propose(half, SteadyTime::max()).ok());
  v1::Allocation left;
  left.set_id(rest.alloc_ids(0));
  join_metric(tables_, *host_.snapshot(), left);
  EXPECT_TRUE(left.has_metrics());
  ASSERT_TRUE(host_.propose(rest, SteadyTime::max()).ok());
  EXPECT_EQ(rows(), 0U);
}

TEST_F(MetricRows, OldEntriesAndTheirRowsKeepTheirs) {
  const v1::PlanApplied placed = plan(3);
  ASSERT_TRUE(host_.propose(placed, SteadyTime::max()).ok());
  EXPECT_EQ(rows(), 0U);
  auto row = tables_.allocs.get(*host_.snapshot(), placed.placed(1).id());
  EXPECT_TRUE(row->has_metrics());
  join_metric(tables_, *host_.snapshot(), *row);
  EXPECT_EQ(serialize(row->metrics()), serialize(placed.placed(1).metrics()));
  v1::EvalsDeleted all;
  for (const v1::Allocation& alloc : placed.placed()) all.add_alloc_ids(alloc.id());
  EXPECT_TRUE(host_.propose(all, SteadyTime::max()).ok());
}

}  // namespace
}  // namespace drover::scheduler::packing
