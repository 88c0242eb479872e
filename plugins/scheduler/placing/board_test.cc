#include "board.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

class Boards : public ::testing::Test {
 protected:
  void put(const v1::Node& node) { cluster_.put_node(std::make_shared<const v1::Node>(node)); }
  void put(const v1::Allocation& alloc) { cluster_.add(alloc); }
  static bool place(GroupPlacer& placer, const std::string& only_node = {}) {
    v1::Allocation alloc;
    alloc.set_id(id_of("new"));
    return placer.place(alloc, {.only_node = only_node});
  }

  Cluster cluster_;
  v1::Job job_ = make_job();  // 500 MHz
};

TEST_F(Boards, PlacersThatAreOpenTogetherSeeWhatTheOthersTake) {
  put(make_node("n1", 500));
  *job_.add_task_groups() = job_.task_groups(0);
  job_.mutable_task_groups(1)->set_name("other");
  ClusterBoard board(cluster_, {}, "seed");
  const auto first = board.open(job_, job_.task_groups(0)), second = board.open(job_, job_.task_groups(1));

  EXPECT_TRUE(place(*first));
  EXPECT_FALSE(place(*second));
  EXPECT_EQ(second->failure().dimension_exhausted().at("cpu"), 1);
}

TEST_F(Boards, WhatLeavesMakesRoomUntilItComesBack) {
  put(make_node("n1", 500));
  const std::vector<v1::Allocation> allocs = {make_alloc(job_, 0, "n1")};
  put(allocs[0]);
  ClusterBoard board(cluster_, allocs, "seed");
  const auto placer = board.open(job_, job_.task_groups(0));

  EXPECT_FALSE(place(*placer));
  board.leave(allocs[0]);
  board.come_back(allocs[0]);
  EXPECT_FALSE(place(*placer));
  board.leave(allocs[0]);
  EXPECT_TRUE(place(*placer));
}

TEST_F(Boards, OnlyTheJobsOwnAllocationsAreItsNeighbours) {
  put(make_node("n1"));
  job_.add_constraints()->set_operand("distinct_hosts");
  v1::Job stranger = make_job();
  stranger.set_id("stranger");
  const std::vector<v1::Allocation> allocs = {make_alloc(job_, 0, "n1")};
  const v1::Allocation other = make_alloc(stranger, 1, "n1");
  put(allocs[0]);
  put(other);
  ClusterBoard board(cluster_, allocs, "seed");
  const auto placer = board.open(job_, job_.task_groups(0));

  board.leave(other);
  EXPECT_FALSE(place(*placer));
  EXPECT_EQ(placer->failure().constraint_filtered().at("distinct_hosts"), 1);
  board.leave(allocs[0]);
  EXPECT_TRUE(place(*placer));
}

TEST_F(Boards, ANodeThatIsAskedForIsTakenOrNone) {
  put(make_node("small", 100));
  put(make_node("n1"));
  put(make_node("n2"));
  ClusterBoard board(cluster_, {}, "seed");
  const auto placer = board.open(job_, job_.task_groups(0));
  v1::Allocation alloc;
  alloc.set_id(id_of("new"));

  for (const char* node : {"n2", "n1"}) {
    ASSERT_TRUE(placer->place(alloc, {.only_node = id_of(node)}));
    EXPECT_EQ(alloc.node_name(), node);
    EXPECT_EQ(alloc.metrics().nodes_evaluated(), 1);
    ASSERT_EQ(alloc.metrics().score_meta_data_size(), 1);
  }
  EXPECT_FALSE(place(*placer, id_of("small")));
  EXPECT_EQ(placer->failure().nodes_evaluated(), 1);
  EXPECT_EQ(placer->failure().dimension_exhausted().at("cpu"), 1);
  EXPECT_FALSE(place(*placer, id_of("gone")));
  EXPECT_EQ(placer->failure().nodes_evaluated(), 0);
}

}  // namespace
}  // namespace drover::scheduler
