// A lost quorum: what may stand in peers.json, and that it is carried out once, whenever the power fails.
#include "storage/peers_file.h"

#include "gtest/gtest.h"
#include "kernel/raft/segment_log.h"
#include "kernel/raft/test_support.h"
#include "tests/support/fault_file_system.h"

namespace drover::raft {
namespace {

const NodeId kA = *Uuid::parse("11111111-1111-4111-8111-111111111111");
const NodeId kB = *Uuid::parse("22222222-2222-4222-8222-222222222222");
const NodeId kC = *Uuid::parse("33333333-3333-4333-8333-333333333333");
constexpr const char* kPath = "/raft/peers.json";

SegmentLogOptions options(NodeId node = kA) {
  return {.directory = "/raft", .node_id = node, .segment_bytes = 32 << 10, .initial_segment_bytes = 32 << 10};
}

std::vector<Member> three() {
  return {{.id = kA, .address = "a:1"}, {.id = kB, .address = "b:1"}, {.id = kC, .address = "c:1"}};
}

void fill(FileSystem& files, NodeId node) {
  auto log = SegmentLog::open(files, options(node));
  ASSERT_TRUE(log.ok()) << log.status().message();
  ASSERT_EQ((*log)->join_cluster(*Uuid::parse("99999999-9999-4999-8999-999999999999")), ok_status());
  (*log)->start_stepped([](uint64_t) {});
  const Membership membership{.index = 1, .members = three()};
  auto payload = std::make_shared<const std::string>(encode_membership(membership));
  (*log)->submit({.write_seq = 1,
                  .entries = {{.index = 1, .term = 1, .type = EntryType::membership, .payload = payload},
                              {.index = 2, .term = 5, .type = EntryType::command}},
                  .hard_state = HardState{6, kB},
                  .membership = membership});
  ASSERT_TRUE((*log)->write_step(SegmentLog::Idle::nothing));
}

TEST(PeersFile, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* text;
    const char* why;
  };
  const std::string a = R"({"id": "11111111-1111-4111-8111-111111111111", "address": "a:1"})";
  const std::string learner = R"({"id": "11111111-1111-4111-8111-111111111111", "address": "a:1", "non_voter": true})";
  const std::string twice = "[" + a + "," + a + "]";
  const std::string no_voter = "[" + learner + "]";
  const Case cases[] = {
      {"[\n{\"id\":\n}]", "p: line 3: not JSON"},
      {"", "p: line 1: not JSON"},
      {"{}", "p: must be an array"},
      {"[]", "p: names no voter"},
      {"[1]", "p: server 1: must be an object"},
      {R"([{"address": "a:1"}])", "p: server 1: \"id\" is missing"},
      {R"([{"id": "a"}])", "p: server 1: \"id\": not a server's identifier"},
      {R"([{"id": 7}])", "p: server 1: \"id\": has a wrong type"},
      {R"([{"id": "11111111-1111-4111-8111-111111111111"}])", "p: server 1: \"address\": expected HOST:PORT"},
      {R"([{"voter": true}])", "p: server 1: \"voter\": is not known"},
      {twice.c_str(), "p: server 2: \"id\" 11111111-1111-4111-8111-111111111111 is named twice"},
      {no_voter.c_str(), "p: names no voter"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto members = parse_peers(c.text, "p");
    EXPECT_EQ(members.status().code(), Code::invalid_argument);
    EXPECT_TRUE(members.status().message().starts_with(c.why)) << members.status().message();
  }
  const auto members = parse_peers(format_peers(three()), "p");
  ASSERT_TRUE(members.ok()) << members.status().message();
  EXPECT_EQ(*members, three());
}

TEST(PeersFile, ReplacesMembersAndClusterAndKeepsEveryEntry) {
  FaultFileSystem files(1);
  fill(files, kA);
  const ClusterId former = recover_log(files, "/raft", {}, {}, 0)->cluster_id;
  files.set_content(kPath, format_peers({{.id = kA, .address = "a:2"}}));

  const auto log = SegmentLog::open(files, options());

  ASSERT_TRUE(log.ok()) << log.status().message();
  const LogState state = (*log)->recovered();
  EXPECT_EQ(state.last_index, 2u);
  EXPECT_EQ(state.last_term, 5u);
  EXPECT_EQ(state.hard_state, (HardState{first_term_of(1), {}}));
  EXPECT_EQ(state.base_membership.members, (std::vector<Member>{{.id = kA, .address = "a:2"}}));
  EXPECT_EQ((*log)->cluster_id(), cluster_after(former, {{.id = kA, .address = "a:2"}}));
  EXPECT_NE((*log)->cluster_id(), former);
  EXPECT_EQ(files.content(kPath), "");
  EXPECT_NE(files.content(std::string(kPath) + ".applied"), "");
}

TEST(PeersFile, ServersThatGetTheSameFileAreOneCluster) {
  const std::vector<Member> left = {{.id = kA, .address = "a:1"}, {.id = kB, .address = "b:1"}};
  const std::vector<Member> turned = {left[1], left[0]};
  ClusterId clusters[2];
  for (const NodeId node : {kA, kB}) {
    FaultFileSystem files(1);
    fill(files, node);
    files.set_content(kPath, format_peers(node == kA ? left : turned));
    const auto log = SegmentLog::open(files, options(node));
    ASSERT_TRUE(log.ok()) << log.status().message();
    clusters[node == kA ? 0 : 1] = (*log)->cluster_id();
  }
  EXPECT_EQ(clusters[0], clusters[1]);
}

TEST(PeersFile, RefusesOneThatDoesNotFitTheLogAndChangesNothing) {
  struct Case {
    const char* name;
    std::vector<Member> members;
    const char* why;
  };
  const NodeId stranger = *Uuid::parse("44444444-4444-4444-8444-444444444444");
  const Case cases[] = {
      {"not this server", {{.id = kB, .address = "b:1"}}, "/raft/peers.json: does not name this server, 11111111"},
      {"a stranger",
       {{.id = kA, .address = "a:1"}, {.id = stranger, .address = "d:1"}},
       "does not know server 44444444"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FaultFileSystem files(1);
    fill(files, kA);
    files.set_content(kPath, format_peers(c.members));
    const std::vector<std::string> before = files.paths();
    const Status status = SegmentLog::open(files, options()).status();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find(c.why), std::string::npos) << status.message();
    EXPECT_EQ(files.paths(), before);
  }
  FaultFileSystem files(1);
  ASSERT_EQ(files.make_directory("/raft"), ok_status());
  files.set_content(kPath, format_peers({{.id = kA, .address = "a:1"}}));
  const Status status = SegmentLog::open(files, options()).status();
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_NE(status.message().find("belongs to no cluster"), std::string::npos) << status.message();
}

TEST(PeersFile, IsCarriedOutOnceWhereverThePowerFails) {
  const std::vector<Member> alone = {{.id = kA, .address = "a:1"}};
  int crashes = 0;
  for (uint64_t operation = 1;; ++operation) {
    SCOPED_TRACE("crash at operation " + std::to_string(operation));
    FaultFileSystem files(operation);
    fill(files, kA);
    const ClusterId former = recover_log(files, "/raft", {}, {}, 0)->cluster_id;
    files.set_content(kPath, format_peers(alone));
    files.crash_after(operation);
    (void)SegmentLog::open(files, options());
    const bool has_crashed = files.has_crashed();
    files.reboot();
    const auto log = SegmentLog::open(files, options());
    ASSERT_TRUE(log.ok()) << log.status().message();
    ASSERT_EQ((*log)->cluster_id(), cluster_after(former, alone));
    ASSERT_EQ((*log)->recovered().hard_state.term, first_term_of(1));
    ASSERT_EQ(files.content(kPath), "");
    if (!has_crashed) break;
    ++crashes;
  }
  EXPECT_GT(crashes, 5);
}

}  // namespace
}  // namespace drover::raft
