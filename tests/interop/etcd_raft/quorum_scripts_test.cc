// etcd's scripts about majorities and joint majorities, against the core's own functions: the index that a quorum has
// reached, and the result of a vote. Left out are etcd's answers for an empty quorum (it has committed everything and
// won every vote): no membership of ours is without a voter.
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "kernel/raft/core/quorum.h"
#include "kernel/raft/core/test_support.h"
#include "script.h"

namespace drover::raft::etcd {
namespace {

// A membership of the one half, leaving the other; halves without a voter count for nothing.
Membership halves(std::vector<std::string> incoming, std::vector<std::string> outgoing) {
  if (incoming.empty()) incoming.swap(outgoing);
  Membership membership;
  std::set<std::string> known;
  for (const std::string& id : incoming) {
    if (known.insert(id).second) membership.members.push_back({.id = id_of(std::stoi(id))});
  }
  for (Member& member : membership.members) member.suffrage = Suffrage::voter;
  for (const std::string& id : outgoing) membership.outgoing.push_back(id_of(std::stoi(id)));
  return membership;
}

// The reports of the voters, in the order in which the voters are first named.
std::map<NodeId, std::string> reports_of(const Step& step, const std::vector<std::string>& values) {
  std::map<NodeId, std::string> reports;
  size_t next = 0;
  for (const char* half : {"cfg", "cfgj"}) {
    const auto list = step.lists.find(half);
    if (list == step.lists.end()) continue;
    for (const std::string& id : list->second) {
      if (id == "zero" || reports.contains(id_of(std::stoi(id)))) continue;
      reports[id_of(std::stoi(id))] = next < values.size() ? values[next++] : "_";
    }
  }
  return reports;
}

std::vector<std::string> list_of(const Step& step, const std::string& name) {
  const auto list = step.lists.find(name);
  if (list == step.lists.end() || (list->second.size() == 1 && list->second[0] == "zero")) return {};
  return list->second;
}

std::string result_of(const Step& step, const Membership& membership) {
  const auto reports = reports_of(step, list_of(step, step.command == "vote" ? "votes" : "idx"));
  if (step.command == "committed") {
    return std::to_string(quorum_value(membership, [&](const NodeId& id) -> uint64_t {
      const std::string& index = reports.at(id);
      return index == "_" ? 0 : std::stoull(index);
    }));
  }
  const VoteResult result = vote_result(membership, [&](const NodeId& id) -> std::optional<bool> {
    const std::string& vote = reports.at(id);
    if (vote == "_") return std::nullopt;
    return vote == "y";
  });
  return result == VoteResult::won ? "VoteWon" : result == VoteResult::lost ? "VoteLost" : "VotePending";
}

TEST(EtcdScripts, QuorumsAreTheSame) {
  if (!std::filesystem::exists(folder_of("quorum"))) GTEST_SKIP() << kMissing;
  int steps = 0, of_nobody = 0;
  for (const auto& path : scripts_of("quorum")) {
    for (const Step& step : read_script(path)) {
      SCOPED_TRACE(path.filename().string() + ":" + std::to_string(step.line));
      ASSERT_TRUE(step.command == "committed" || step.command == "vote") << step.command;
      ASSERT_FALSE(step.expected.empty());
      const std::vector<std::string> incoming = list_of(step, "cfg"), outgoing = list_of(step, "cfgj");
      if (incoming.empty() && outgoing.empty()) {
        ++of_nobody;
        continue;
      }
      EXPECT_EQ(result_of(step, halves(incoming, outgoing)), step.expected.back());
      EXPECT_EQ(result_of(step, halves(outgoing, incoming)), step.expected.back()) << "with the halves exchanged";
      if (outgoing.empty()) {
        EXPECT_EQ(result_of(step, halves(incoming, incoming)), step.expected.back()) << "joint with itself";
      }
      ++steps;
    }
  }
  RecordProperty("steps", steps);
  RecordProperty("left_out", of_nobody);
  EXPECT_GE(steps, 90) << "the scripts have shrunk, or were not found in full";
  EXPECT_LE(of_nobody, 4);
}

}  // namespace
}  // namespace drover::raft::etcd
