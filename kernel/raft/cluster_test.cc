// Several servers with their threads, joined by a network in memory.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "gtest/gtest.h"
#include "kernel/raft/driver.h"
#include "kernel/raft/test_support.h"
#include "tests/support/fault_file_system.h"

namespace drover::raft {
namespace {

using std::chrono::milliseconds;

// Delivers at once, unless the way is cut.
class Hub {
 public:
  class Port final : public Transport {
   public:
    explicit Port(Hub& hub) : hub_(hub) {}
    void start(const Member& self, PeerEvents& events) override {
      self_ = self.id;
      const std::lock_guard lock(hub_.mutex_);
      hub_.ports_[self_] = this;
      events_ = &events;
    }
    void stop() override {
      const std::lock_guard lock(hub_.mutex_);
      hub_.ports_.erase(self_);
    }
    void set_peers(ClusterId cluster, std::vector<Member>) override {
      const std::lock_guard lock(hub_.mutex_);
      cluster_ = cluster;
    }
    void send(Message message) override {
      const NodeId to = message.to;
      hub_.deliver(self_, to, cluster_, [&](PeerEvents& events) { events.receive(std::move(message)); });
    }
    void send_bulk(BulkMessage message) override {
      const NodeId to = std::visit([](const auto& one) { return one.to; }, message);
      hub_.deliver(self_, to, cluster_, [&](PeerEvents& events) { events.receive_bulk(std::move(message)); });
    }

   private:
    friend class Hub;
    Hub& hub_;
    PeerEvents* events_ = nullptr;
    NodeId self_;
    ClusterId cluster_;  // guarded by the hub's mutex
  };

  void cut(NodeId node) {
    const std::lock_guard lock(mutex_);
    cut_.insert(node);
  }
  void heal() {
    const std::lock_guard lock(mutex_);
    cut_.clear();
  }

 private:
  template <typename Call>
  void deliver(NodeId from, NodeId to, const ClusterId& cluster, Call call) {
    const std::lock_guard lock(mutex_);
    const auto port = ports_.find(to);
    if (port == ports_.end() || cut_.contains(from) || cut_.contains(to)) return;
    if (!port->second->events_->meet(cluster).ok()) return;
    port->second->cluster_ = cluster;
    call(*port->second->events_);
  }

  std::mutex mutex_;
  std::map<NodeId, Port*> ports_;  // guarded by mutex_, like the following
  std::set<NodeId> cut_;
};

struct Node {
  Node(Hub& hub, std::vector<Member> voters, NodeId id, uint64_t seed) : files(seed), port(hub) {
    options.directory = "/raft";
    options.node_id = id;
    options.address = id.to_string();
    options.bootstrap = std::move(voters);
    options.bootstrap_alone = false;
    options.tick = milliseconds(10);
    options.log.segment_bytes = 64 << 10;
    options.log.initial_segment_bytes = 64 << 10;
    options.log.on_failure = [](const Status&) {};
  }
  ~Node() { stop(); }
  void start() {
    machine = std::make_unique<Journal>();
    raft = make_consensus(options, *machine, files, clock, &port);
    ASSERT_EQ(raft->start(), ok_status());
  }
  void stop() {
    if (raft) raft->stop();
    raft.reset();
  }

  SystemClock clock;
  FaultFileSystem files;
  Hub::Port port;
  Options options;
  std::unique_ptr<Journal> machine;
  std::unique_ptr<Consensus> raft;
};

class ClusterTest : public testing::Test {
 protected:
  void add(size_t count) {
    std::vector<Member> voters;
    for (size_t i = 0; i < count; ++i) voters.push_back({.id = Uuid::random()});
    for (Member& voter : voters) voter.address = voter.id.to_string();
    for (const Member& voter : voters) {
      nodes.push_back(std::make_unique<Node>(hub, voters, voter.id, nodes.size() + 1));
      nodes.back()->start();
    }
  }
  Node* leader() {
    for (const auto& node : nodes) {
      if (node->raft && node->raft->role() == Role::leader) return node.get();
    }
    return nullptr;
  }
  Node& await_leader() {
    Node* found = nullptr;
    EXPECT_TRUE(eventually([&] { return (found = leader()) != nullptr; }));
    return *found;
  }
  // Through whoever leads, until somebody says that it is applied.
  void write(const std::string& command) {
    ASSERT_TRUE(eventually([&] {
      Node* node = leader();
      return node && propose(*node->raft, command, node->clock.steady() + milliseconds(500)).ok();
    }));
  }
  static bool has(const Node& node, const std::string& command) {
    const std::vector<std::string> all = node.machine->commands();
    return std::ranges::find(all, command) != all.end();
  }

  Hub hub;
  std::vector<std::unique_ptr<Node>> nodes;
};

TEST_F(ClusterTest, EveryServerAppliesWhatOneAccepted) {
  add(3);
  write("a");
  write("b");
  for (const auto& node : nodes) {
    EXPECT_TRUE(eventually([&] { return has(*node, "b"); }));
    EXPECT_EQ(node->raft->cluster_id(), nodes.front()->raft->cluster_id());
    EXPECT_EQ(node->raft->leader_hint().id, leader()->raft->node_id());
  }
}

TEST_F(ClusterTest, AnotherLeadsWhenTheLeaderIsCutOff) {
  add(3);
  write("before");
  Node& former = await_leader();
  hub.cut(former.raft->node_id());
  ASSERT_TRUE(eventually([&] { return former.raft->role() != Role::leader; }));
  write("without");
  EXPECT_FALSE(has(former, "without"));
  hub.heal();
  EXPECT_TRUE(eventually([&] { return has(former, "without"); }));
}

TEST_F(ClusterTest, AReadNeedsAQuorum) {
  add(3);
  write("a");
  Node& node = await_leader();
  Answer<Result<Index>> good;
  node.raft->read_index(SteadyTime::max(), good.callback());
  EXPECT_TRUE(good.get().ok());
  for (const auto& other : nodes) {
    if (other.get() != &node) hub.cut(other->raft->node_id());
  }
  Answer<Result<Index>> bad;
  node.raft->read_index(node.clock.steady() + milliseconds(1000), bad.callback());
  EXPECT_FALSE(bad.get().ok());
}

TEST_F(ClusterTest, AnOrderlyStopHandsLeadershipOver) {
  add(3);
  write("a");
  Node& former = await_leader();
  const Term term = former.raft->term();
  former.stop();
  Node& next = await_leader();
  EXPECT_EQ(next.raft->term(), term + 1) << "one election was enough";
  write("b");
}

TEST_F(ClusterTest, ARestartedServerCatchesUp) {
  add(3);
  write("a");
  Node& node = *nodes[1];
  node.stop();
  write("b");
  node.start();
  EXPECT_TRUE(eventually([&] { return has(node, "b"); }));
}

TEST_F(ClusterTest, AServerThatIsFarBehindGetsASnapshot) {
  add(3);
  write("first");
  Node* behind = nullptr;
  Node& lead = await_leader();
  for (const auto& node : nodes) {
    if (node.get() != &lead) behind = node.get();
  }
  behind->stop();
  for (const auto& node : nodes) {
    if (node.get() == behind) continue;
    node->stop();
    node->options.snapshot_trail_bytes = 1;
    node->start();
  }
  for (int i = 0; i < 50; ++i) write("entry " + std::to_string(i));
  for (const auto& node : nodes) {
    if (node.get() == behind) continue;
    ASSERT_TRUE(take_snapshot(*node->raft).ok());
  }
  ASSERT_TRUE(eventually([&] { return await_leader().raft->stats().first_index > 10; }));
  behind->start();
  EXPECT_TRUE(eventually([&] { return has(*behind, "entry 49"); }));
  EXPECT_TRUE(eventually([&] { return behind->raft->stats().snapshots_installed == 1; }));
  behind->stop();
  behind->start();
  write("last");
  EXPECT_TRUE(eventually([&] { return has(*behind, "last"); }));
}

TEST_F(ClusterTest, ADamagedLogIsMadeWholeByTheLeader) {
  add(3);
  for (int i = 0; i < 60; ++i) write("entry " + std::to_string(i));
  Node* victim = nullptr;
  Node& lead = await_leader();
  for (const auto& node : nodes) {
    if (node.get() != &lead) victim = node.get();
  }
  victim->stop();
  const std::string path = "/raft/" + segment_name(1);
  ASSERT_TRUE(victim->files.flip_bit(path, 4 * kBlock + 5, 3));
  victim->start();
  EXPECT_TRUE(eventually([&] { return victim->raft->stats().repairs == 1; }));
  EXPECT_FALSE(victim->raft->stats().is_damaged);
  EXPECT_TRUE(eventually([&] { return has(*victim, "entry 59"); }));
  // It counts again: with one of the others gone it is needed for a quorum.
  lead.stop();
  write("last");
  EXPECT_TRUE(eventually([&] { return has(*victim, "last"); }));
  victim->stop();
  victim->start();
  EXPECT_FALSE(victim->raft->stats().is_damaged);
  EXPECT_TRUE(eventually([&] { return has(*victim, "last"); }));
}

TEST_F(ClusterTest, WithoutAWholeSnapshotTheLeaderSendsEverything) {
  add(3);
  for (const auto& node : nodes) {
    node->stop();
    node->options.snapshot_trail_bytes = 1;
    node->start();
  }
  for (int i = 0; i < 20; ++i) write("entry " + std::to_string(i));
  Node& lead = await_leader();
  Node* victim = nullptr;
  for (const auto& node : nodes) {
    ASSERT_TRUE(eventually([&] { return has(*node, "entry 19"); }));
    ASSERT_TRUE(take_snapshot(*node->raft).ok());
    if (node.get() != &lead) victim = node.get();
  }
  ASSERT_TRUE(eventually([&] { return victim->raft->stats().first_index > 1; }));
  victim->stop();
  for (const std::string& path : victim->files.paths()) {
    ASSERT_TRUE(!path.ends_with("/data") || victim->files.flip_bit(path, 30, 1)) << path;
  }
  victim->start();
  EXPECT_TRUE(eventually([&] { return victim->raft->stats().repairs == 1; }));
  EXPECT_TRUE(eventually([&] { return has(*victim, "entry 19"); }));
  const std::vector<std::string> paths = victim->files.paths();
  EXPECT_TRUE(std::ranges::any_of(paths, [](const std::string& path) {
    return path.starts_with("/raft/quarantine/1/snap-") && path.ends_with("/data");
  }));
}

TEST_F(ClusterTest, ServersJoinAndLeave) {
  add(1);
  write("alone");
  Node& first = await_leader();
  const auto change = [&](MemberEdit::Kind kind, const Node& node) {
    const MemberEdit edit{.kind = kind, .id = node.options.node_id, .address = node.options.address};
    return eventually([&] {
      Node* lead = leader();
      if (!lead) return false;
      Answer<Status> answer;
      lead->raft->change_membership({edit}, lead->clock.steady() + milliseconds(2000), answer.callback());
      return answer.get().ok();
    });
  };
  for (int i = 0; i < 2; ++i) {
    nodes.push_back(std::make_unique<Node>(hub, std::vector<Member>(), Uuid::random(), nodes.size() + 1));
    nodes.back()->start();
    ASSERT_TRUE(change(MemberEdit::Kind::add_learner, *nodes.back()));
    ASSERT_TRUE(eventually([&] { return has(*nodes.back(), "alone"); }));
    ASSERT_TRUE(change(MemberEdit::Kind::add_voter, *nodes.back()));
    EXPECT_EQ(nodes.back()->raft->cluster_id(), first.raft->cluster_id());
  }
  ASSERT_TRUE(change(MemberEdit::Kind::remove, first));
  ASSERT_TRUE(eventually([&] { return first.raft->role() != Role::leader; }));
  first.stop();
  write("without the first");
  EXPECT_EQ(await_leader().raft->membership().members.size(), 2u);
}

TEST_F(ClusterTest, SeveralServersAreReplacedAtOnce) {
  add(3);
  write("a");
  std::vector<MemberEdit> edits;
  std::vector<Node*> leaving;
  for (const auto& node : nodes) {
    if (node->raft->role() == Role::leader || leaving.size() == 2) continue;
    leaving.push_back(node.get());
    edits.push_back({.kind = MemberEdit::Kind::remove, .id = node->options.node_id});
  }
  for (int i = 0; i < 2; ++i) {
    nodes.push_back(std::make_unique<Node>(hub, std::vector<Member>(), Uuid::random(), nodes.size() + 1));
    nodes.back()->start();
    edits.push_back({.id = nodes.back()->options.node_id, .address = nodes.back()->options.address});
  }
  Answer<Status> answer;
  leader()->raft->change_membership(edits, SteadyTime::max(), answer.callback());
  ASSERT_EQ(answer.get(), ok_status());
  ASSERT_TRUE(eventually([&] { return leader() && leader()->raft->membership().outgoing.empty(); }));
  for (Node* node : leaving) node->stop();
  write("b");
  EXPECT_TRUE(eventually([&] { return has(*nodes.back(), "b"); }));
}

TEST_F(ClusterTest, BeginsWhenItIsToldAndAnswersWhoAsksMeanwhile) {
  nodes.push_back(std::make_unique<Node>(hub, std::vector<Member>(), Uuid::random(), 1));
  Node& node = *nodes.back();
  node.start();
  Answer<Status> begun;
  std::vector<Answer<Result<Index>>> reads(50);
  node.raft->bootstrap({{.id = node.options.node_id, .address = node.options.address}}, begun.callback());
  for (auto& read : reads) node.raft->read_index(SteadyTime::max(), read.callback());
  ASSERT_EQ(begun.get(), ok_status());
  for (auto& read : reads) {
    const Result<Index> index = read.get();  // refused, or read from the new cluster: but answered
    EXPECT_TRUE(index.ok() || index.status().code() == Code::unavailable) << index.status().to_string();
  }
  write("a");
  Answer<Status> again;
  node.raft->bootstrap({{.id = node.options.node_id, .address = node.options.address}}, again.callback());
  EXPECT_EQ(again.get().code(), Code::failed_precondition);
}

struct Deaf final : PeerEvents {
  Status meet(ClusterId) override { return ok_status(); }
  void receive(Message) override {}
  void receive_bulk(BulkMessage) override {}
  void peer_unreachable(NodeId) override {}
  void peer_reconnected(NodeId) override {}
};

TEST_F(ClusterTest, ClustersDoNotMix) {
  add(1);
  write("mine");
  const Consensus& raft = *nodes.front()->raft;
  const Term term = raft.term();
  Deaf deaf;
  Hub::Port stranger(hub);
  stranger.start({.id = Uuid::random()}, deaf);
  stranger.set_peers(Uuid::random(), {});
  stranger.send({.type = MessageType::heartbeat, .to = raft.node_id(), .term = term + 100});
  write("still mine");
  EXPECT_EQ(raft.term(), term);
  stranger.stop();
}

}  // namespace
}  // namespace drover::raft
