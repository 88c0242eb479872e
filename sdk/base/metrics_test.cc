#include "drover/metrics.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Metrics, CountersAddGaugesReplaceTimersSpread) {
  Metrics metrics;
  metrics.add("calls", 2, {{"method", "a"}});
  metrics.add("calls", 3, {{"method", "a"}});
  metrics.set("depth", 7);
  metrics.set("depth", 4);
  metrics.observe("took", std::chrono::milliseconds(2));
  metrics.observe("took", std::chrono::milliseconds(6));

  auto values = metrics.values();

  ASSERT_EQ(3u, values.size());
  EXPECT_EQ(5, values[0].value);
  EXPECT_EQ("a", values[0].labels[0].second);
  EXPECT_EQ(4, values[1].value);
  EXPECT_EQ(2u, values[2].count);
  EXPECT_EQ(2, values[2].minimum);
  EXPECT_EQ(6, values[2].maximum);
  EXPECT_EQ(40, values[2].sum_of_squares);
}

TEST(GaugeSet, TakesItsGaugesWithIt) {
  Metrics metrics;
  const auto names = [&] {
    std::string all;
    for (const Metrics::Value& value : metrics.values()) all += value.name + " ";
    return all;
  };
  metrics.set("other", 1);
  {
    GaugeSet gauges(metrics);
    gauges.set("a", 1);
    gauges.set("b", 1, {{"task", "web"}});
    gauges.end_round();
    EXPECT_EQ(names(), "a b other ");
    gauges.set("b", 2, {{"task", "web"}});
    gauges.set("c", 1);
    gauges.end_round();
    EXPECT_EQ(names(), "b c other ");
    gauges.remove("b", {{"task", "web"}});
    EXPECT_EQ(names(), "c other ");
  }
  EXPECT_EQ(names(), "other ");
}

}  // namespace
}  // namespace drover
