#include "spread.h"

#include <gtest/gtest.h>

#include <map>

#include "place.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::make_job;
using testing::make_node;

constexpr double kNear = 1e-3;

v1::Node node_with(const std::string& name, const std::map<std::string, std::string>& meta) {
  v1::Node node = make_node(name);
  for (const auto& [key, value] : meta) {
    if (key == "dc") {
      node.set_datacenter(value);
    } else {
      (*node.mutable_meta())[key] = value;
    }
  }
  return node;
}

struct Target {
  const char* value;
  uint32_t percent;
};
v1::Spread spread_over(const char* attribute, int weight, std::initializer_list<Target> targets) {
  v1::Spread spread;
  spread.set_attribute(attribute);
  spread.set_weight(weight);
  for (const Target& target : targets) {
    v1::SpreadTarget& one = *spread.add_spread_target();
    one.set_value(target.value);
    one.set_percent(target.percent);
  }
  return spread;
}

constexpr const char* kDatacenter = "${node.datacenter}";
constexpr const char* kRack = "${meta.rack}";

TEST(Spread, ScoresByWhatIsThereAlready) {
  using Meta = std::map<std::string, std::string>;
  struct Case {
    const char* name;
    std::vector<v1::Spread> spreads;
    std::vector<std::pair<Meta, int>> used;  // allocations by node
    std::vector<std::pair<Meta, double>> scores;
  };
  const Case cases[] = {
      {"S1",
       {spread_over(kDatacenter, 100, {{"dc1", 80}})},
       {{{{"dc", "dc1"}}, 2}},
       {{{{"dc", "dc1"}}, 0.625}, {{{"dc", "dc2"}}, 0.5}}},
      {"S2",
       {spread_over(kDatacenter, 100, {{"dc1", 80}})},
       {{{{"dc", "dc1"}}, 7}},
       {{{{"dc", "dc1"}}, 0}, {{{"dc", "dc2"}}, 0.5}}},
      {"S3",
       {spread_over(kDatacenter, 100, {{"dc1", 60}, {"dc2", 40}}), spread_over(kRack, 50, {{"r1", 40}, {"r2", 60}})},
       {{{{"dc", "dc1"}, {"rack", "r1"}}, 1}, {{{"dc", "dc1"}, {"rack", "r2"}}, 1}},
       {{{{"dc", "dc1"}, {"rack", "r1"}}, 0.5},
        {{{"dc", "dc2"}, {"rack", "r1"}}, 0.667},
        {{{"dc", "dc1"}, {"rack", "r2"}}, 0.556}}},
      {"S4 none is there", {spread_over(kDatacenter, 50, {})}, {}, {{{{"dc", "dc1"}}, 0}, {{{"dc", "dc2"}}, 0}}},
      {"S4 one is in dc1",
       {spread_over(kDatacenter, 50, {})},
       {{{{"dc", "dc1"}}, 1}},
       {{{{"dc", "dc1"}}, -1}, {{{"dc", "dc2"}}, 1}}},
      {"S4 two and three",
       {spread_over(kDatacenter, 50, {})},
       {{{{"dc", "dc1"}}, 2}, {{{"dc", "dc2"}}, 3}},
       {{{{"dc", "dc1"}}, 0.5}, {{{"dc", "dc2"}}, -0.5}}},
      {"S4 three, three and none",
       {spread_over(kDatacenter, 50, {})},
       {{{{"dc", "dc1"}}, 3}, {{{"dc", "dc2"}}, 3}},
       {{{{"dc", "dc1"}}, -1}, {{{"dc", "dc2"}}, -1}, {{{"dc", "dc3"}}, 1}}},
      {"S5 neither a target nor the rest",
       {spread_over(kRack, 50, {{"r1", 100}})},
       {},
       {{{{"rack", "r2"}}, -1}, {{}, -1}}},
      {"S6 nobody is to be there",
       {spread_over(kRack, 50, {{"r1", 0}, {"r2", 100}})},
       {},
       {{{{"rack", "r1"}}, -1}, {{{"rack", "r2"}}, 0.9}}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = make_job("service", 10);
    for (const v1::Spread& spread : c.spreads) *job.add_spreads() = spread;
    std::vector<v1::Node> nodes;
    for (const auto& [meta, count] : c.used) nodes.push_back(node_with("used", meta));
    std::vector<Neighbour> neighbours;
    for (size_t i = 0; i < c.used.size(); ++i) {
      for (int n = 0; n < c.used[i].second; ++n) neighbours.push_back({&nodes[i], "app"});
    }
    neighbours.push_back({nodes.empty() ? nullptr : &nodes[0], "another group"});
    Spreads spreads(job, job.task_groups(0));
    for (const Neighbour& neighbour : neighbours) spreads.add(neighbour);
    for (const auto& [meta, expected] : c.scores) {
      const size_t cell = spreads.cell_of(node_with("asked", meta));
      EXPECT_NEAR(spreads.scores()[cell], expected, kNear);
    }
  }
}

std::map<std::string, int> placed_by(const std::vector<v1::Node>& nodes, const v1::Job& job, const std::string& key) {
  Cluster cluster;
  for (const v1::Node& node : nodes) cluster.put_node(std::make_shared<const v1::Node>(node));
  std::vector<Neighbour> neighbours;
  Surroundings around{cluster, neighbours, "seed"};
  Placer placer(around, job, job.task_groups(0));
  std::map<std::string, int> placed;
  for (int i = 0; i < job.task_groups(0).count(); ++i) {
    const auto choice = placer.place("alloc" + std::to_string(i), {});
    if (!choice) break;
    ++placed[key == "dc" ? choice->node->datacenter() : choice->node->meta().at(key)];
  }
  return placed;
}

TEST(Spread, S7TheRestIsOneTarget) {
  std::vector<v1::Node> nodes;
  for (int i = 0; i < 9; ++i) {
    nodes.push_back(node_with("n" + std::to_string(i), {{"dc", "dc" + std::to_string(i % 3 + 1)}}));
  }
  v1::Job job = make_job("service", 12);
  *job.add_spreads() = spread_over(kDatacenter, 100, {{"dc1", 50}});
  EXPECT_EQ(placed_by(nodes, job, "dc")["dc1"], 6);
}

TEST(Spread, S8ManyRacksGetTheSame) {
  std::vector<v1::Node> nodes;
  for (int i = 0; i < 1000; ++i) {
    nodes.push_back(node_with("n" + std::to_string(i), {{"rack", "r" + std::to_string(i % 100)}}));
  }
  v1::Job job = make_job("service", 500);
  *job.add_spreads() = spread_over(kRack, 50, {});
  const auto placed = placed_by(nodes, job, "rack");
  EXPECT_EQ(placed.size(), 100U);
  for (const auto& [rack, count] : placed) EXPECT_EQ(count, 5) << rack;
}

}  // namespace
}  // namespace drover::scheduler
