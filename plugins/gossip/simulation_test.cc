// Many cores on a simulated network: packets are lost, the network parts, servers die and return.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <queue>
#include <set>
#include <tuple>

#include "core.h"
#include "gossip_wire.pb.h"

namespace drover::gossip {
namespace {

using namespace std::chrono_literals;

constexpr auto kStep = 50ms;
constexpr uint64_t kSeeds = 40;

class World {
 public:
  World(uint64_t seed, int servers, Options options = {}) : options_(options), random_(seed) {
    for (int i = 0; i < servers; ++i) start(i);
    for (int i = 1; i < servers; ++i) exchange(i, 0);
  }

  void start(int number) {
    std::string bytes(16, static_cast<char>(number + 1));
    ServerMember self{.id = Uuid::from_bytes(bytes),
                      .name = "s" + std::to_string(number),
                      .region = "global",
                      .address = std::to_string(number) + ":1",
                      .rpc_address = std::to_string(number) + ":2"};
    cores_[number] = std::make_unique<Core>(options_, std::move(self), random_());
  }
  void kill(int number) { cores_.erase(number); }
  void exchange(int from, int to) {
    if (!cores_.contains(from) || !cores_.contains(to) || is_cut(from, to)) return;
    cores_[to]->merge(cores_[from]->full_state(), now_);
    cores_[from]->merge(cores_[to]->full_state(), now_);
  }

  void run(std::chrono::nanoseconds time) {
    for (const SteadyTime until = now_ + time; now_ < until; now_ += kStep) {
      deliver();
      for (auto& [number, core] : cores_) {
        core->tick(now_);
        collect(number, *core);
      }
    }
  }

  // Every living server's view, and whether all are the same and right.
  bool agree(std::string& seen) const {
    seen.clear();
    for (const auto& [number, core] : cores_) {
      for (const Member& member : core->members()) {
        const int other = std::atoi(member.info.address.c_str());
        const bool lives = cores_.contains(other);
        const bool is_right = lives ? member.state == State::alive : member.state >= State::failed;
        if (!is_right)
          seen += "s" + std::to_string(number) + " sees " + member.info.name + " " +
                  std::string(to_string(member.state)) + "; ";
      }
      if (core->live_count() != cores_.size())
        seen += "s" + std::to_string(number) + " counts " + std::to_string(core->live_count()) + "; ";
    }
    return seen.empty();
  }
  ::testing::AssertionResult settles(std::chrono::seconds within) {
    std::string seen;
    for (auto waited = 0s; waited < within; waited += 1s) {
      if (agree(seen)) return ::testing::AssertionSuccess();
      run(1s);
    }
    if (agree(seen)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << seen;
  }

  Core& core(int number) { return *cores_.at(number); }
  SteadyTime now() const { return now_; }
  uint64_t draw() { return random_(); }
  size_t packets = 0, largest = 0;
  double loss = 0;
  std::chrono::milliseconds slowest{100};
  std::set<int> island;  // cut off from the rest

 private:
  struct Flight {
    SteadyTime arrives;
    uint64_t order;
    int from, to;
    std::string packet;
    bool operator<(const Flight& other) const {
      return std::tie(arrives, order) > std::tie(other.arrives, other.order);
    }
  };
  bool is_cut(int a, int b) const { return island.contains(a) != island.contains(b); }

  void collect(int number, Core& core) {
    for (Core::Outgoing& out : core.take_packets()) {
      ++packets;
      largest = std::max(largest, out.packet.size());
      if (std::uniform_real_distribution<>(0, 1)(random_) < loss) continue;
      const auto delay = std::chrono::milliseconds(random_() % static_cast<uint64_t>(slowest.count()));
      flights_.push({now_ + delay, ++order_, number, std::atoi(out.address.c_str()), std::move(out.packet)});
    }
    for (const std::string& address : core.take_exchanges()) exchange(number, std::atoi(address.c_str()));
  }
  void deliver() {
    while (!flights_.empty() && flights_.top().arrives <= now_) {
      const Flight flight = flights_.top();
      flights_.pop();
      if (!cores_.contains(flight.to) || is_cut(flight.from, flight.to)) continue;
      v1::Packet packet;
      ASSERT_TRUE(packet.ParseFromString(flight.packet));
      Core& to = *cores_[flight.to];
      to.receive(packet, std::to_string(flight.from) + ":1", now_);
      collect(flight.to, to);
    }
  }

  const Options options_;
  std::mt19937_64 random_;
  SteadyTime now_{1h};
  std::map<int, std::unique_ptr<Core>> cores_;
  std::priority_queue<Flight> flights_;
  uint64_t order_ = 0;
};

TEST(GossipSimulation, ADeathIsNoticedByAllAndAReturnToo) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, 5);
    ASSERT_TRUE(world.settles(20s));
    world.kill(3);
    ASSERT_TRUE(world.settles(20s));
    world.start(3);  // with nothing but the address of one other
    world.exchange(3, 0);
    ASSERT_TRUE(world.settles(10s));
  }
}

TEST(GossipSimulation, LossMakesNoDeathThatLasts) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, 7);
    world.loss = 0.3;
    world.run(120s);
    world.loss = 0;
    ASSERT_TRUE(world.settles(60s));
  }
}

TEST(GossipSimulation, WhatWasPartedComesTogetherAgain) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, 5);
    ASSERT_TRUE(world.settles(20s));
    world.island = {0, 3};
    world.run(30s);
    EXPECT_EQ(world.core(0).live_count(), 2u);
    EXPECT_EQ(world.core(1).live_count(), 3u);
    world.island = {};
    ASSERT_TRUE(world.settles(60s));
  }
}

TEST(GossipSimulation, EverythingAtOnceSettles) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, 9);
    world.loss = 0.1;
    world.slowest = 400ms;
    std::set<int> dead;
    for (int round = 0; round < 12; ++round) {
      const int number = static_cast<int>(world.draw() % 9);
      if (number != 0 && dead.insert(number).second) {
        world.kill(number);
      } else if (number != 0) {
        dead.erase(number);
        world.start(number);
        world.exchange(number, 0);
      }
      world.island.clear();
      if (world.draw() % 3 == 0)
        world.island = {static_cast<int>(world.draw() % 9), static_cast<int>(world.draw() % 9)};
      world.run(std::chrono::seconds(world.draw() % 20));
    }
    world.loss = 0;
    world.island.clear();
    for (int number : dead) {
      world.start(number);
      world.exchange(number, 0);
    }
    ASSERT_TRUE(world.settles(90s));
    EXPECT_LE(world.largest, Options().packet_bytes);
  }
}

TEST(GossipSimulation, AQuietClusterSaysLittle) {
  World world(1, 5);
  ASSERT_TRUE(world.settles(20s));
  world.run(60s);
  const size_t before = world.packets;
  world.run(60s);
  // A ping and its answer for each server and second.
  EXPECT_LE(world.packets - before, 5u * 60 * 2 + 10);
}

TEST(GossipSimulation, WhoLeavesIsNotCalledFailed) {
  World world(1, 4);
  ASSERT_TRUE(world.settles(20s));
  world.core(2).leave();
  world.run(2s);
  EXPECT_EQ(world.core(0).members()[2].state, State::leaving);
  world.core(2).left();
  world.run(2s);
  world.kill(2);
  world.run(30s);

  for (int number : {0, 1, 3}) {
    const Member gone = world.core(number).members()[2];
    EXPECT_EQ(gone.state, State::left);
    EXPECT_EQ(gone.info.status, ServerStatus::left);
  }
  world.start(2);
  world.exchange(2, 1);
  EXPECT_TRUE(world.settles(10s));
}

TEST(GossipSimulation, ForceLeaveTurnsTheFailedIntoLeftAndALiveServerObjects) {
  World world(1, 4, {.tombstone_time = 60s});
  ASSERT_TRUE(world.settles(20s));
  EXPECT_FALSE(world.core(0).force_leave("nobody", world.now()));
  EXPECT_TRUE(world.core(0).force_leave("s1", world.now()));
  ASSERT_TRUE(world.settles(10s));

  world.kill(2);
  ASSERT_TRUE(world.settles(20s));
  EXPECT_TRUE(world.core(0).force_leave("s2.global", world.now()));
  world.run(5s);
  EXPECT_EQ(world.core(3).members()[2].state, State::left);
  world.run(65s);
  EXPECT_EQ(world.core(3).members().size(), 3u) << "it is forgotten after the tombstone's time";
}

TEST(GossipCore, HoldsOnlySoManyMembers) {
  Options options;
  options.max_members = 3;
  Core core(options, {.id = Uuid::from_bytes(std::string(16, 'x')), .name = "self", .region = "r", .address = "a:1"},
            1);
  v1::FullState state;
  for (char c = 'a'; c < 'k'; ++c) {
    v1::Record& record = *state.add_records();
    record.set_id(std::string(16, c));
    record.set_name(std::string(1, c));
    record.set_address("a:1");
  }
  core.merge(state, SteadyTime(1h));

  EXPECT_EQ(core.members().size(), 3u);
  EXPECT_EQ(core.dropped_records(), 8u);
}

}  // namespace
}  // namespace drover::gossip
