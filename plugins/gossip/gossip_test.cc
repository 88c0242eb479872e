// The pure parts: addresses, seals, records, the beginning and the growth of a cluster.
#include <gtest/gtest.h>

#include "address.h"
#include "bootstrap.h"
#include "gossip_wire.pb.h"
#include "growth.h"
#include "record.h"
#include "seal.h"

namespace drover::gossip {
namespace {

Uuid id_of(int number) {
  std::string bytes(16, '\0');
  bytes[15] = static_cast<char>(number);
  return Uuid::from_bytes(bytes);
}

Member server(int number, int expect = 3) {
  Member member;
  member.incarnation = 1;
  member.info = {.id = id_of(number),
                 .name = "s" + std::to_string(number),
                 .region = "global",
                 .address = "10.0.0." + std::to_string(number) + ":4648",
                 .rpc_address = "10.0.0." + std::to_string(number) + ":4647",
                 .bootstrap_expect = expect};
  return member;
}

// --- addresses -------------------------------------------------------------------------------------------------------

TEST(GossipAddress, IsReadInEveryFormThatOperatorsWrite) {
  struct Case {
    const char* text;
    const char* read;  // or what the error says
  };
  const Case cases[] = {
      {"server.example", "server.example:4648"},
      {"server.example:5000", "server.example:5000"},
      {"192.0.2.1", "192.0.2.1:4648"},
      {"[2001:db8::1]:5000", "[2001:db8::1]:5000"},
      {"[2001:db8::1]", "[2001:db8::1]:4648"},
      {"2001:db8::1", "[2001:db8::1]:4648"},
      {"", "names no host"},
      {":5000", "names no host"},
      {"server:", "has no port behind its colon"},
      {"server:0", "has a port that is not between 1 and 65535"},
      {"server:70000", "has a port that is not between 1 and 65535"},
      {"server:x", "has a port that is not between 1 and 65535"},
      {"[2001:db8::1", "has no closing bracket"},
      {"[2001:db8::1]5000", "has something else than :port at its end"},
      {"provider=aws tag_key=x", "asks for a lookup at a cloud provider"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto address = parse_address(c.text);
    const std::string got = address ? address->to_string() : address.status().message();
    EXPECT_NE(got.find(c.read), std::string::npos) << got;
    EXPECT_EQ(address.ok(), got == c.read);
  }
}

// --- seals -----------------------------------------------------------------------------------------------------------

constexpr const char* kKeys[] = {"AAAAAAAAAAAAAAAAAAAAAA==", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="};

std::vector<std::string> only(const std::string& key) {
  return key.empty() ? std::vector<std::string>() : std::vector<std::string>{key};
}

TEST(GossipSeal, OpensWhatTheSameKeyClosed) {
  for (const char* key : {"", kKeys[0], kKeys[1], kKeys[2]}) {
    SCOPED_TRACE(key);
    const auto seal = Seal::make(only(key));
    ASSERT_TRUE(seal);
    EXPECT_EQ(seal->open(seal->close("some text")), "some text");
    EXPECT_EQ(seal->open(seal->close("")), "");
  }
}

TEST(GossipSeal, OpensNothingElse) {
  const auto clear = Seal::make({}), sealed = Seal::make(only(kKeys[0])),
             other = Seal::make(only("BBBBBBBBBBBBBBBBBBBBBA=="));
  ASSERT_TRUE(clear && sealed && other);
  const std::string closed = sealed->close("some text");

  EXPECT_EQ(other->open(closed), std::nullopt);
  EXPECT_EQ(clear->open(closed), std::nullopt);
  EXPECT_EQ(sealed->open(clear->close("some text")), std::nullopt);
  for (size_t i = 0; i < closed.size(); ++i) {
    std::string damaged = closed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(sealed->open(damaged), std::nullopt) << "byte " << i;
    EXPECT_EQ(sealed->open(closed.substr(0, i)), std::nullopt) << "cut at " << i;
  }
  EXPECT_EQ(closed.find("some text"), std::string::npos);
  EXPECT_NE(closed, sealed->close("some text")) << "the nonce is new each time";
}

TEST(GossipSeal, TheFirstKeySealsAndEachOpens) {
  const auto first = Seal::make(only(kKeys[0])), second = Seal::make(only(kKeys[2])),
             both = Seal::make({kKeys[2], kKeys[0]}), third = Seal::make({kKeys[1], "BBBBBBBBBBBBBBBBBBBBBA=="});
  ASSERT_TRUE(first && second && both && third);

  EXPECT_EQ(both->open(first->close("a")), "a");
  EXPECT_EQ(both->open(second->close("b")), "b");
  EXPECT_EQ(second->open(both->close("c")), "c");
  EXPECT_EQ(first->open(both->close("c")), std::nullopt);
  EXPECT_EQ(third->open(both->close("c")), std::nullopt);
}

TEST(GossipSeal, AKeyHasOneForm) {
  EXPECT_EQ(*canonical_key("AAAAAAAAAAAAAAAAAAAAAB=="), kKeys[0]) << "its last digit has bits that say nothing";
  EXPECT_EQ(*canonical_key(std::string(kKeys[2]) + "\n"), kKeys[2]);
}

TEST(GossipSeal, RefusesAKeyOfAnotherLength) {
  struct Case {
    const char* key;
    const char* reason;
  };
  const Case cases[] = {{"AAAA", "it has 3 bytes"},
                        {"", "it has 0 bytes"},
                        {"no base64 at all", "character 3"},
                        {"AAAAAAAAAAAAAAAAAAAAAA", "its length is not a multiple of 4"},
                        {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "it has 27 bytes"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.key);
    for (const Status& status : {Seal::make({c.key}).status(), canonical_key(c.key).status()}) {
      EXPECT_EQ(status.code(), Code::invalid_argument);
      EXPECT_NE(status.message().find(c.reason), std::string::npos) << status.message();
    }
  }
}

// --- records ---------------------------------------------------------------------------------------------------------

TEST(GossipRecord, SurvivesTheWire) {
  Member member = server(7);
  member.state = State::failed;
  member.incarnation = 12;
  member.proposal = 99;
  member.info.cluster_id = id_of(80);

  const auto back = from_record(to_record(member));

  ASSERT_TRUE(back);
  EXPECT_EQ(to_record(*back).SerializeAsString(), to_record(member).SerializeAsString());
  EXPECT_EQ(back->info.status, ServerStatus::failed);
}

TEST(GossipRecord, IsRefusedWhenMalformed) {
  const v1::Record good = to_record(server(1));
  v1::Record without_id = good, long_name = good, no_address = good, odd_state = good;
  without_id.set_id("short");
  long_name.set_name(std::string(300, 'x'));
  no_address.clear_address();
  odd_state.set_state(static_cast<v1::State>(17));

  EXPECT_TRUE(from_record(good));
  for (const v1::Record& bad : {without_id, long_name, no_address, odd_state}) EXPECT_FALSE(from_record(bad));
}

// --- the beginning of a cluster --------------------------------------------------------------------------------------

using Kind = BootstrapDecision::Kind;

std::vector<RaftServer> voters(std::initializer_list<int> numbers) {
  std::vector<RaftServer> all;
  for (const int n : numbers) all.push_back({.id = id_of(n), .address = "10.0.0." + std::to_string(n) + ":4647"});
  return all;
}

std::vector<Uuid> ids(const std::vector<RaftServer>& servers) {
  std::vector<Uuid> all;
  for (const RaftServer& each : servers) all.push_back(each.id);
  return all;
}

TEST(Bootstrap, WaitsUntilAllExpectedServersAreThere) {
  Member failed = server(3);
  failed.state = State::failed;
  Member elsewhere = server(4);
  elsewhere.info.region = "other";
  Member joins_later = server(5, 0);

  EXPECT_EQ(decide_bootstrap(server(1), {server(1), server(2)}, {}).kind, Kind::wait);
  EXPECT_EQ(decide_bootstrap(server(1), {server(1), server(2), failed, elsewhere, joins_later}, {}).kind, Kind::wait);
}

TEST(Bootstrap, AnnouncesTheFirstByIdentifierAndBeginsWhenAllDo) {
  const uint64_t proposal = digest(voters({1, 2, 3}));
  std::vector<Member> members = {server(3), server(1), server(2), server(4)};

  const auto announced = decide_bootstrap(server(1), members, {});
  EXPECT_EQ(announced.kind, Kind::announce);
  EXPECT_EQ(announced.proposal, proposal);
  EXPECT_EQ(ids(announced.voters), ids(voters({1, 2, 3})));

  for (int i : {0, 1}) members[static_cast<size_t>(i)].proposal = proposal;
  EXPECT_EQ(decide_bootstrap(server(1), members, announced.voters).kind, Kind::announce) << "one has not yet";
  members[2].proposal = proposal;
  const auto begun = decide_bootstrap(server(1), members, announced.voters);
  EXPECT_EQ(begun.kind, Kind::begin);
  EXPECT_EQ(ids(begun.voters), ids(voters({1, 2, 3})));
  EXPECT_EQ(decide_bootstrap(server(4), members, {}).kind, Kind::wait) << "the fourth is added later";
}

TEST(Bootstrap, KeepsToWhatWasAnnouncedWhileItsServersAreThere) {
  std::vector<Member> members = {server(1), server(2), server(3), server(4)};

  EXPECT_EQ(ids(decide_bootstrap(server(2), members, voters({2, 3, 4})).voters), ids(voters({2, 3, 4})));
  members[3].state = State::failed;
  EXPECT_EQ(ids(decide_bootstrap(server(2), members, voters({2, 3, 4})).voters), ids(voters({1, 2, 3})));
}

TEST(Bootstrap, NobodyBeginsBesideAClusterThatIs) {
  Member member = server(2);
  member.info.cluster_id = id_of(80);
  Member alone = server(4, 1);
  alone.info.cluster_id = id_of(81);
  alone.state = State::failed;

  EXPECT_EQ(decide_bootstrap(server(1), {server(1), member, server(3)}, {}).kind, Kind::never);
  EXPECT_EQ(decide_bootstrap(server(1), {server(1), server(2), server(3), alone}, {}).kind, Kind::never);
  Member self = server(1);
  self.info.cluster_id = id_of(80);
  EXPECT_EQ(decide_bootstrap(self, {self, server(2), server(3)}, {}).kind, Kind::never);
}

TEST(Bootstrap, WhoAgreedFollowsTheOneThatBegan) {
  Member begun = server(3);
  begun.info.cluster_id = id_of(80);
  begun.proposal = digest(voters({1, 2, 3}));
  begun.state = State::failed;

  EXPECT_EQ(decide_bootstrap(server(1), {server(1), server(2), begun, server(4)}, voters({1, 2, 3})).kind, Kind::begin);
  EXPECT_EQ(decide_bootstrap(server(1), {server(1), server(2), begun, server(4)}, voters({1, 2, 4})).kind, Kind::never);
}

TEST(Bootstrap, ADisagreementNamesBoth) {
  const auto decision = decide_bootstrap(server(1, 3), {server(1, 3), server(2, 3), server(3, 5)}, {});

  EXPECT_EQ(decision.kind, Kind::disagree);
  EXPECT_EQ(decision.detail, "s1 has bootstrap_expect = 3, s3 has bootstrap_expect = 5");
}

// --- growth ----------------------------------------------------------------------------------------------------------

TEST(Growth, TakesInNewServersAsLearnersAndFollowsThoseThatMove) {
  RaftInfo raft{.cluster_id = id_of(80), .servers = voters({1, 2})};
  raft.servers[1].is_voter = false;
  std::vector<ServerMember> servers = {server(1).info, server(2).info};
  EXPECT_TRUE(decide_growth(raft, servers, "global").edits.empty());

  servers.push_back(server(3).info);
  auto edits = decide_growth(raft, servers, "global").edits;
  ASSERT_EQ(edits.size(), 1u);
  EXPECT_EQ(edits[0].kind, RaftEdit::Kind::add_learner);
  EXPECT_EQ(edits[0].id, id_of(3));
  EXPECT_EQ(edits[0].address, "10.0.0.3:4647");

  servers.pop_back();
  servers[0].rpc_address = "10.0.0.9:4647";
  edits = decide_growth(raft, servers, "global").edits;
  ASSERT_EQ(edits.size(), 1u);
  EXPECT_EQ(edits[0].kind, RaftEdit::Kind::add_voter);
  EXPECT_EQ(edits[0].address, "10.0.0.9:4647");

  servers = {server(1).info, server(2).info};
  servers[1].rpc_address = "10.0.0.9:4647";
  EXPECT_EQ(decide_growth(raft, servers, "global").edits.at(0).kind, RaftEdit::Kind::add_learner);
}

TEST(Growth, LeavesOutTheDeadTheForeignAndOtherRegions) {
  const RaftInfo raft{.cluster_id = id_of(80), .servers = voters({1})};
  ServerMember failed = server(2).info, foreign = server(3).info, elsewhere = server(4).info;
  failed.status = ServerStatus::failed;
  foreign.cluster_id = id_of(81);
  elsewhere.region = "other";

  const Growth growth = decide_growth(raft, {server(1).info, failed, foreign, elsewhere}, "global");

  EXPECT_TRUE(growth.edits.empty());
  EXPECT_EQ(growth.strangers, std::vector<std::string>{"s3"});
}

}  // namespace
}  // namespace drover::gossip
