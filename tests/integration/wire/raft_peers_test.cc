// Raft's transport over the wire: who greets whom, and what arrives where.
#include "kernel/raft_peers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernel/raft/message_codec.h"
#include "tests/integration/wire/lane_side.h"

namespace drover {
namespace {

using raft::ClusterId;
using raft::Message;
using raft::MessageType;
using raft::NodeId;

// One server of a cluster, as its transport knows it.
class Server final : public raft::PeerEvents {
 public:
  // It says that it can be reached at `address`; without one, where it can.
  explicit Server(const ClusterId& cluster, const std::string& address = {}) : cluster_(cluster) {
    side_.start(&peers);
    EXPECT_TRUE(side_.wire->listen("127.0.0.1:0", "ports.rpc").ok());
    self = {.id = NodeId::random(), .address = address.empty() ? side_.wire->address() : address};
    peers.start(self, *this);
  }
  ~Server() override {
    peers.stop();
    side_.wire->stop();
  }

  Status meet(ClusterId cluster) override {
    return cluster == cluster_ ? ok_status() : failed_precondition("of another cluster");
  }
  void receive(Message message) override { messages.add(std::move(message)); }
  void receive_bulk(raft::BulkMessage message) override { bulk.add(std::move(message)); }
  void peer_unreachable(NodeId peer) override { lost.add(peer); }
  void peer_reconnected(NodeId peer) override { met.add(peer); }

  Wire& wire() { return *side_.wire; }

 private:
  const ClusterId cluster_;
  wire::LaneSide side_;

 public:
  wire::Heard<Message> messages;
  wire::Heard<raft::BulkMessage> bulk;
  wire::Heard<NodeId> lost, met;
  RaftPeers peers{*side_.wire, {"first", "second"}};
  raft::Member self;
};

class RaftPeersTest : public ::testing::Test {
 protected:
  // Control and append; bulk has no such event.
  void reach(Server& from, const Server& to) {
    from.peers.set_peers(cluster, {to.self});
    ASSERT_EQ(from.met.wait_for(2), (std::vector<NodeId>{to.self.id, to.self.id}));
  }
  static Message message(const Server& from, const Server& to, MessageType type, uint64_t index = 0) {
    return {.type = type, .from = from.self.id, .to = to.self.id, .term = 3, .log_index = index};
  }

  const ClusterId cluster = ClusterId::random();
  Server one{cluster};
  std::unique_ptr<Server> two = std::make_unique<Server>(cluster);
};

TEST_F(RaftPeersTest, MessagesArriveInOrderWithWhoSentThem) {
  reach(one, *two);
  for (uint64_t i = 1; i <= 100; ++i) one.peers.send(message(one, *two, MessageType::append, i));

  const std::vector<Message> seen = two->messages.wait_for(100);
  ASSERT_EQ(seen.size(), 100u);
  for (uint64_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(seen[i - 1].log_index, i);
    EXPECT_EQ(seen[i - 1].from, one.self.id);
    EXPECT_EQ(seen[i - 1].to, two->self.id);
  }
}

TEST_F(RaftPeersTest, WhoKnowsNobodyAnswersWhoeverSpeaksToIt) {
  reach(one, *two);
  ASSERT_EQ(two->met.wait_for(2).size(), 2u);  // the guest was reached in return

  two->peers.send(message(*two, one, MessageType::append_answer, 7));

  const std::vector<Message> seen = one.messages.wait_for(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].type, MessageType::append_answer);
  EXPECT_EQ(seen[0].from, two->self.id);
}

TEST_F(RaftPeersTest, AGuestThatBecomesAMemberKeepsItsLanes) {
  reach(one, *two);
  ASSERT_EQ(two->met.wait_for(2).size(), 2u);

  two->peers.set_peers(cluster, {one.self});
  two->peers.send(message(*two, one, MessageType::heartbeat));

  ASSERT_EQ(one.messages.wait_for(1).size(), 1u);
  EXPECT_EQ(two->met.wait_for(0).size(), 2u);
}

TEST_F(RaftPeersTest, WhoIsLetGoOfHearsNothingMore) {
  Server leaver(cluster, "127.0.0.1:1");  // two does not reach it: who speaks is answered
  reach(leaver, *two);
  leaver.peers.send(message(leaver, *two, MessageType::heartbeat));
  ASSERT_EQ(two->messages.wait_for(1).size(), 1u);

  leaver.peers.set_peers(cluster, {});
  leaver.peers.send(message(leaver, *two, MessageType::heartbeat));
  leaver.wire().stop();  // waits for every stream

  EXPECT_EQ(two->messages.wait_for(0).size(), 1u);
  EXPECT_TRUE(leaver.lost.wait_for(0).empty());
}

TEST_F(RaftPeersTest, WhoIsLetGoOfAndStillSpeaksIsAnswered) {
  reach(one, *two);
  ASSERT_EQ(two->met.wait_for(2).size(), 2u);

  two->peers.set_peers(cluster, {});  // a membership from before the other one joined
  one.peers.send(message(one, *two, MessageType::heartbeat));
  ASSERT_EQ(two->messages.wait_for(1).size(), 1u);
  // Lost: it only opens the lanes again. It arrives if they are open, because the greeting on the speaker's lane of
  // snapshots, of which no event tells, came after the membership.
  two->peers.send(message(*two, one, MessageType::heartbeat_answer, 1));
  ASSERT_EQ(two->met.wait_for(4).size(), 4u);
  two->peers.send(message(*two, one, MessageType::heartbeat_answer, 2));

  std::vector<Message> seen = one.messages.wait_for(1);
  if (seen.size() == 1 && seen[0].log_index == 1) seen = one.messages.wait_for(2);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().log_index, 2u);
}

TEST_F(RaftPeersTest, PiecesOfSnapshotsHaveALaneOfTheirOwn) {
  reach(one, *two);
  raft::SnapshotChunk chunk{.from = one.self.id, .to = two->self.id, .leader_term = 3, .index = 9, .term = 2};
  chunk.manifest_bytes = 1;
  chunk.total_bytes = 3;
  chunk.bytes = "abc";
  // Its lane may open later than the others, which is told to nobody: it is sent until it arrives, as raft does.
  std::vector<raft::BulkMessage> seen;
  for (int i = 0; i < 500 && seen.empty(); ++i) {
    one.peers.send_bulk(chunk);
    seen = two->bulk.wait_for(1, std::chrono::milliseconds(20));
  }

  ASSERT_GE(seen.size(), 1u);
  const auto* arrived = std::get_if<raft::SnapshotChunk>(&seen[0]);
  ASSERT_NE(arrived, nullptr);
  EXPECT_EQ(arrived->bytes, "abc");
  EXPECT_EQ(arrived->index, 9u);
}

TEST_F(RaftPeersTest, AServerThatDiesIsLostOnceALane) {
  reach(one, *two);
  const NodeId id = two->self.id;

  two.reset();

  EXPECT_EQ(one.lost.wait_for(2), (std::vector<NodeId>{id, id}));
}

// Greets as the greeter does and returns what it is told.
Status refusal(Server& server, const raft::PeerHello& hello) {
  return server.peers.accept(raft::encode_hello(hello)).status();
}

TEST_F(RaftPeersTest, GreetingsAreRefusedByWhatIsWrongWithThem) {
  const raft::PeerHello good{
      .cluster = cluster, .from = one.self.id, .to = two->self.id, .incarnation = 1, .address = one.self.address};
  EXPECT_TRUE(refusal(*two, good).ok());

  raft::PeerHello elsewhere = good;
  elsewhere.to = one.self.id;
  EXPECT_EQ(refusal(*two, elsewhere),
            failed_precondition("this is server " + two->self.id.to_string() + ", not " + one.self.id.to_string() +
                                ": the address belongs to another server now"));
  raft::PeerHello stranger = good;
  stranger.cluster = ClusterId::random();
  EXPECT_EQ(refusal(*two, stranger), failed_precondition("of another cluster"));
  EXPECT_FALSE(two->peers.accept("no greeting").ok());

  two->peers.stop();
  EXPECT_EQ(refusal(*two, good), unavailable("this server is not running"));
}

TEST_F(RaftPeersTest, WhoLacksACommandIsKnownFromItsGreetingAsLongAsItIsAMember) {
  raft::PeerHello hello{.cluster = cluster,
                        .from = one.self.id,
                        .to = two->self.id,
                        .incarnation = 1,
                        .address = one.self.address,
                        .commands = {"second", "third"}};
  EXPECT_TRUE(refusal(*two, hello).ok());
  EXPECT_EQ(two->peers.who_lacks("first"), "") << "a guest";

  two->peers.set_peers(cluster, {one.self});
  EXPECT_EQ(two->peers.who_lacks("first"), one.self.address);
  EXPECT_EQ(two->peers.who_lacks("second"), "");
  EXPECT_EQ(two->peers.who_lacks("third"), "") << "nobody's here";

  hello.commands.clear();
  EXPECT_TRUE(refusal(*two, hello).ok());
  EXPECT_EQ(two->peers.who_lacks("first"), "") << "names none: nothing is known";

  hello.commands = {"other"};
  EXPECT_TRUE(refusal(*two, hello).ok());
  EXPECT_EQ(two->peers.who_lacks("first"), one.self.address);
  two->peers.set_peers(cluster, {});
  EXPECT_EQ(two->peers.who_lacks("first"), "") << "no member any more";
}

}  // namespace
}  // namespace drover
