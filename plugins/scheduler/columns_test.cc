#include "columns.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "deciding/decide.h"
#include "testing/shell.h"

namespace drover::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

class Followed : public testing::ShellTest {
 protected:
  // By node: what it is and what is taken of it.
  static std::map<std::string, std::pair<std::string, const NodeRoom*>> described(const Cluster& cluster) {
    std::map<std::string, std::pair<std::string, const NodeRoom*>> nodes;
    cluster.visit([&](const ClusterNode& node) {
      nodes[node.node->id()] = {serialize(*node.node), &node.room};
      EXPECT_EQ(cluster.find(node.node->id()), node.node.get());
    });
    EXPECT_EQ(nodes.size(), cluster.size());
    return nodes;
  }
  static void expect_same(const Cluster& kept, const Cluster& read) {
    const auto one = described(kept), other = described(read);
    ASSERT_EQ(one.size(), other.size());
    for (const auto& [id, node] : one) {
      ASSERT_TRUE(other.contains(id));
      EXPECT_EQ(node.first, other.at(id).first);
      EXPECT_TRUE(*node.second == *other.at(id).second) << id;
    }
  }
  Cluster look() {
    auto look = columns_.look(0, host_.clock().steady() + 5s, {});
    EXPECT_TRUE(look.ok()) << look.status().message();
    if (look) expect_same(look->cluster, cluster_of(*look->view, tables_));
    return look ? std::move(look->cluster) : Cluster();
  }

  SharedColumns columns_{host_, tables_};
};

TEST_F(Followed, EqualAFullReadWhateverChanges) {
  std::mt19937 random(7);
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  const v1::Job job = make_job();
  for (int round = 0; round < 600; ++round) {
    host_.commit([&](WriteTransaction& rows) {
      for (int changes = 1 + below(4); changes > 0; --changes) {
        const std::string node = "n" + std::to_string(below(6));
        v1::Allocation alloc = make_alloc(job, below(30), node);
        alloc.set_id(id_of("a" + std::to_string(below(30))));
        v1::PortMapping& port = *alloc.mutable_allocated_resources()->mutable_shared()->add_ports();
        port.set_value(20000 + below(5));
        switch (below(8)) {
          case 0:
            EXPECT_TRUE(nodes_.put(rows, make_node(node, 1000 + 100 * below(9))).ok());
            break;
          case 1:
            nodes_.erase(rows, id_of(node));
            break;
          case 2:
            tables_.allocs.erase(rows, alloc.id());
            break;
          case 3:
            alloc.set_client_status(v1::CLIENT_STATUS_COMPLETE);
            [[fallthrough]];
          default:
            EXPECT_TRUE(tables_.allocs.put(rows, alloc).ok());
        }
      }
    });
    if (below(3) == 0) look();
    if (below(40) == 0) host_.resync();
    if (HasFailure()) FAIL() << "in round " << round;
  }
  look();
}

TEST_F(Followed, AViewOfAnIndexThatDoesNotComeIsAnError) {
  auto late = columns_.look(1000, host_.clock().steady() + 10ms, {});
  EXPECT_EQ(late.status().code(), Code::deadline_exceeded);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(columns_.look(1000, host_.clock().steady() + 1h, stop.get_token()).status().code(), Code::cancelled);
}

TEST_F(Followed, ADecisionMayUseUpItsClusterWithoutHarmToTheNext) {
  put(make_node("n1"));
  Cluster mine = look();
  mine.add(make_alloc(make_job(), 0, "n1"));
  EXPECT_EQ(mine.room(id_of("n1"))->used().cpu, 500);
  EXPECT_EQ(look().room(id_of("n1"))->used().cpu, 0);
}

}  // namespace
}  // namespace drover::scheduler
