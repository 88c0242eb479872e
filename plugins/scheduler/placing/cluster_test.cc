#include "cluster.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

std::shared_ptr<const v1::Node> shared(v1::Node node) { return std::make_shared<const v1::Node>(std::move(node)); }

v1::Node node_of_class(int number, const std::string& computed_class, int64_t cpu = 4000) {
  v1::Node node = make_node("n" + std::to_string(number), cpu);
  node.set_computed_class(computed_class);
  return node;
}

// Every column says what the node's room says, every node is in one slot, and kinds are told apart.
void expect_whole(const Cluster& cluster) {
  std::set<std::string> seen;
  std::map<uint32_t, size_t> nodes_of_kind;
  for (size_t index = 0; index < cluster.blocks(); ++index) {
    const ClusterBlock& block = cluster.block(index);
    EXPECT_EQ(block.accepting & ~block.live, 0U);
    for (size_t i = 0; i < kSlots; ++i) {
      if ((block.live >> i & 1U) == 0) {
        EXPECT_EQ(block.nodes[i], nullptr);
        continue;
      }
      const ClusterNode& node = *block.nodes[i];
      EXPECT_TRUE(seen.insert(node.node->id()).second);
      EXPECT_EQ(cluster.slot_of(node.node->id()), index * kSlots + i);
      EXPECT_EQ(block.free_cpu[i], node.room.capacity().cpu - node.room.used().cpu);
      EXPECT_EQ(block.free_memory[i], node.room.capacity().memory_mb - node.room.used().memory_mb);
      EXPECT_EQ(block.cpu_power[i], power_of_free(node.room.capacity().cpu, node.room.used().cpu));
      EXPECT_EQ(block.spare_ports[i], node.room.spare_ports());
      EXPECT_EQ(block.port_bits[i], node.room.port_bits());
      if (block.one_kind != ClusterBlock::kMixed) {
        EXPECT_EQ(block.kind[i], block.one_kind);
      }
      const v1::Node* example = cluster.example(block.kind[i]);
      ASSERT_NE(example, nullptr);
      EXPECT_EQ(example->computed_class(), node.node->computed_class());
      EXPECT_EQ(capacity_of(*example), node.room.capacity());
      ++nodes_of_kind[block.kind[i]];
    }
  }
  EXPECT_EQ(seen.size(), cluster.size());
}

TEST(Cluster, AKindWithManyNodesHasBlocksOfItsOwn) {
  Cluster cluster;
  for (int i = 0; i < 100; ++i) cluster.put_node(shared(node_of_class(i, i % 10 == 0 ? "rare" : "many")));
  expect_whole(cluster);
  size_t own = 0;
  for (size_t i = 0; i < cluster.blocks(); ++i) {
    const ClusterBlock& block = cluster.block(i);
    if (block.one_kind == ClusterBlock::kMixed) {
      for (size_t at = 0; at < kSlots; ++at) {
        if ((block.live >> at & 1U) != 0) {
          EXPECT_EQ(block.nodes[at]->node->computed_class(), "rare");
        }
      }
    } else {
      own += static_cast<size_t>(std::popcount(block.live));
    }
  }
  EXPECT_EQ(own, 90U);
}

TEST(Cluster, NodesThatOfferOtherHostVolumesAreOfAnotherKind) {
  Cluster cluster;
  const auto put = [&](int number, const char* volume, bool read_only) {
    v1::Node node = node_of_class(number, "same");
    if (*volume) (*node.mutable_host_volumes())[volume].set_read_only(read_only);
    cluster.put_node(shared(node));
    return cluster.block(cluster.slot_of(node.id()).value() / kSlots)
        .kind[cluster.slot_of(node.id()).value() % kSlots];
  };
  const uint32_t none = put(1, "", false), data = put(2, "data", false), certs = put(3, "certs", false);
  EXPECT_EQ(data, put(4, "data", false));
  EXPECT_EQ(4u, (std::set<uint32_t>{none, data, certs, put(5, "data", true)}).size());
}

TEST(Cluster, WhateverChangesTheColumnsFollow) {
  std::mt19937 random(3);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  const v1::Job job = make_job();
  Cluster cluster;
  std::vector<Cluster> copies;
  std::vector<std::map<std::string, int64_t>> kept;  // what the copies must still say
  std::map<std::string, std::set<std::string>> held;
  const auto used = [](const Cluster& of) {
    std::map<std::string, int64_t> amounts;
    of.visit([&](const ClusterNode& node) { amounts[node.node->id()] = node.room.used().cpu; });
    return amounts;
  };
  for (int step = 0; step < 2000; ++step) {
    const std::string name = "n" + std::to_string(below(150));
    const std::string id = id_of(name);
    switch (below(6)) {
      case 0:
      case 1: {
        v1::Node node = make_node(name, 4000 + 1000 * below(2));
        node.set_computed_class("v1:" + std::to_string(below(3)));
        if (below(5) == 0) node.set_drain(true);
        cluster.put_node(shared(std::move(node)));
        held[id].clear();
        break;
      }
      case 2:
        if (below(4) == 0) {
          cluster.erase_node(id);
          held.erase(id);
        }
        break;
      case 3:
        if (auto at = held.find(id); at != held.end() && !at->second.empty()) {
          EXPECT_TRUE(cluster.remove(id, *at->second.begin()));
          at->second.erase(at->second.begin());
        }
        break;
      default: {
        if (!held.contains(id)) break;
        v1::Allocation alloc = make_alloc(job, step, name);
        alloc.mutable_allocated_resources()->mutable_shared()->add_ports()->set_value(8000 + below(50));
        cluster.add(alloc);
        held[id].insert(alloc.id());
      }
    }
    if (step % 200 == 0) {
      copies.emplace_back(cluster);
      kept.push_back(used(cluster));
    }
    if (step % 50 == 0) expect_whole(cluster);
    if (::testing::Test::HasFailure()) FAIL() << "in step " << step;
  }
  for (size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(used(copies[i]), kept[i]) << "copy " << i;
}

}  // namespace
}  // namespace drover::scheduler
