// etcd's scripts of whole groups, by meaning: the same commands to our cores, and at the end of each script the same
// members, the same committed commands and, where the script names one, the same leader. Not message by message: our
// cores ask before they campaign, put a membership in force when it is appended and not when it is applied, decide
// themselves what is joint and leave it themselves, and a removed leader hands over.
#include <algorithm>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "kernel/raft/core/test_support.h"
#include "script.h"

namespace drover::raft::etcd {
namespace {

// Scripts that have no counterpart, with the reason.
const std::map<std::string, std::string> kLeftOut = {
    {"confchange_v2_add_single_explicit.txt", "a joint membership that waits for the order to leave it"}};

std::set<int> numbers(const std::vector<std::string>& words) {
  std::set<int> found;
  for (const std::string& word : words) found.insert(std::stoi(word));
  return found;
}

std::string picture_of(const Membership& membership) {
  std::set<int> incoming, outgoing, learners;
  for (const Member& member : membership.members) {
    (member.suffrage == Suffrage::voter ? incoming : learners).insert(number_of(member.id));
  }
  for (const NodeId& id : membership.outgoing) outgoing.insert(number_of(id));
  const auto list = [](const std::set<int>& of) {
    std::string out = "(";
    for (const int number : of) out += (out.size() > 1 ? " " : "") + std::to_string(number);
    return out + ")";
  };
  return "voters=" + list(incoming) + (outgoing.empty() ? "" : "&&" + list(outgoing)) +
         (learners.empty() ? "" : " learners=" + list(learners));
}

// The end of a script according to its own output.
struct End {
  std::map<int, std::string> members;   // by server
  int leader = 0;                       // 0: it does not say
  std::set<std::string> commands;       // committed
  std::map<int, std::string> progress;  // of the last `status`, by server: "StateReplicate"
};

End end_of(const std::vector<Step>& steps) {
  End end;
  for (const Step& step : steps) {
    if (step.command == "status") end.progress.clear();
    bool is_committed = false;
    for (std::string line : step.expected) {
      line.erase(0, line.find_first_not_of(' '));
      std::istringstream words(line);
      std::string kind, what;
      int server = 0;
      if (step.command == "status" && line.find(": State") != std::string::npos) {
        words >> server >> kind >> what;
        end.progress[server] = what;
      } else if (line.starts_with("INFO ") && words >> kind >> server) {
        const std::string rest = line.substr(line.find(' ', 5) + 1);
        constexpr std::string_view kSwitched = "switched to configuration ";
        if (rest.starts_with(kSwitched)) {
          end.members[server] = rest.substr(kSwitched.size());
          const size_t automatic = end.members[server].find(" autoleave");
          if (automatic != std::string::npos) end.members[server].erase(automatic);
        }
        if (rest.starts_with("became leader")) end.leader = server;
      }
      if (line == "CommittedEntries:" || line == "Entries:" || line == "Messages:") {
        is_committed = line == "CommittedEntries:";
      }
      const size_t quote = line.find("EntryNormal \"");
      if (is_committed && quote != std::string::npos) {
        const size_t from = quote + std::string_view("EntryNormal \"").size();
        if (line[from] != '"') end.commands.insert(line.substr(from, line.rfind('"') - from));
      }
    }
  }
  return end;
}

class Group {
 public:
  void run(const Step& step) {
    if (step.command == "log-level") return;
    const int n = step.words.empty() ? 0 : std::stoi(step.words[0]);
    if (step.command == "add-nodes") {
      add(n, step);
    } else if (step.command == "campaign") {
      campaign(n);
    } else if (step.command == "stabilize") {
      settle(numbers(step.words));
    } else if (step.command == "process-ready") {
      work(n);
    } else if (step.command == "deliver-msgs") {
      const std::set<int> lost = numbers(step.lists.at("drop"));
      std::erase_if(cluster.network, [&](const Message& m) { return lost.contains(number_of(m.to)); });
    } else if (step.command == "propose") {
      cluster.propose(n, step.words.at(1));
    } else if (step.command == "propose-conf-change") {
      change(n, step.input);
    } else if (step.command == "tick-heartbeat") {
      cluster.step(n, Tick{.now = cluster.now});
    } else if (step.command == "compact") {
      const Index all = cluster.servers.at(n).applied;
      cluster.take_snapshot(n, all, all + 1);
    } else if (step.command != "status") {
      ADD_FAILURE() << "unknown command " << step.command;
    }
  }

  // Runs the disks, states and mail of `some` until nothing moves; empty: of all.
  void settle(const std::set<int>& some = {}) {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [number, server] : cluster.servers) {
        if (!some.empty() && !some.contains(number)) continue;
        moved = deliver_to(number) || moved;
        moved = work(number) || moved;
        for (size_t left = server.snapshot_sends.size(); left > 0; --left) {
          const int to = number_of(server.snapshot_sends.front());
          server.snapshot_sends.pop_front();
          if (some.empty() || some.contains(to)) {
            cluster.send_snapshot(number, to);
            moved = true;
          } else {
            server.snapshot_sends.push_back(id_of(to));
          }
        }
      }
    }
  }

  Cluster cluster;

 private:
  void add(int count, const Step& step) {
    Membership membership;
    for (const char* kind : {"voters", "learners"}) {
      const auto list = step.lists.find(kind);
      if (list == step.lists.end()) continue;
      for (const int number : numbers(list->second)) {
        membership.members.push_back(
            {.id = id_of(number), .suffrage = kind[0] == 'v' ? Suffrage::voter : Suffrage::learner});
      }
    }
    const int leader = cluster.leader();
    for (; count > 0; --count) {
      const int number = static_cast<int>(cluster.servers.size()) + 1;
      cluster.add(number, {.seed = static_cast<uint64_t>(number) * 10}, membership);
      if (leader == 0) continue;
      // Messages sent to it before it was there are lost here; the leader gets a connection, and its next heartbeat is
      // due.
      cluster.step(leader, PeerReconnected{.peer = id_of(number)});
      cluster.step(leader, Tick{.now = cluster.now});
    }
  }

  // Campaigns at once. The leader is taken for dead: the others have not heard of it for an election timeout.
  void campaign(int n) {
    const int leader = cluster.leader();
    for (const auto& [number, server] : cluster.servers) {
      if (leader == 0 || number == leader) continue;
      for (int i = 0; i < server.config.election_ticks; ++i) cluster.step(number, Tick{.now = cluster.now});
    }
    cluster.step(n, Campaign{});
  }

  void change(int n, const std::string& input) {
    ChangeMembership change;
    std::istringstream in(input);
    for (std::string word; in >> word;) {
      const auto kind = word[0] == 'v'   ? MemberEdit::Kind::add_voter
                        : word[0] == 'l' ? MemberEdit::Kind::add_learner
                                         : MemberEdit::Kind::remove;
      change.edits.push_back({.kind = kind, .id = id_of(std::stoi(word.substr(1)))});
    }
    if (change.edits.empty()) return;  // the order to leave a joint membership, which is not ours to give
    settle_alone(n);                   // here a change waits for the leader's first commit (raft.md 9.3)
    change.token = cluster.new_token(n);
    cluster.step(n, std::move(change));
  }

  // A sole voter commits by itself.
  void settle_alone(int n) {
    while (work(n)) {
    }
  }

  bool deliver_to(int number) {
    bool moved = false;
    for (size_t at = 0; at < cluster.network.size();) {
      if (number_of(cluster.network[at].to) != number) {
        ++at;
        continue;
      }
      cluster.deliver(at);
      moved = true;
    }
    return moved;
  }

  bool work(int number) {
    const Server& server = cluster.servers.at(number);
    bool moved = false;
    if (!server.writes.empty()) cluster.confirm(number), moved = true;
    if (server.installing != 0 || server.applied < server.apply_to) cluster.apply(number), moved = true;
    if (!server.log_reads.empty()) cluster.answer_log_read(number), moved = true;
    return moved;
  }
};

std::set<std::string> commands_of(const Server& server) {
  std::set<std::string> commands;
  for (const Entry& entry : server.log.entries) {
    if (entry.type == EntryType::command && entry.index <= server.applied) commands.emplace(entry.bytes());
  }
  return commands;
}

void play(const std::filesystem::path& path) {
  const std::vector<Step> steps = read_script(path);
  const End end = end_of(steps);
  Group group;
  for (const Step& step : steps) {
    SCOPED_TRACE(path.filename().string() + ":" + std::to_string(step.line));
    group.run(step);
  }
  group.settle();
  group.cluster.check();
  EXPECT_EQ(group.cluster.violation, "");
  EXPECT_FALSE(end.members.empty());
  const int leader = group.cluster.leader();
  ASSERT_NE(leader, 0);
  EXPECT_EQ(leader, end.leader == 0 ? leader : end.leader);
  for (const auto& [number, members] : end.members) {
    const Server& server = group.cluster.servers.at(number);
    EXPECT_EQ(picture_of(server.core->membership()), members) << "server " << number;
    EXPECT_EQ(commands_of(server), end.commands) << "server " << number;
  }
  for (const PeerStatus& peer : group.cluster.servers.at(leader).core->status().peers) {
    const auto progress = end.progress.find(number_of(peer.id));
    if (progress == end.progress.end() || number_of(peer.id) == leader) continue;
    EXPECT_EQ(progress->second, "StateReplicate");
    EXPECT_EQ(peer.state, PeerStatus::State::replicate) << "server " << number_of(peer.id);
  }
}

TEST(EtcdScripts, GroupsComeToTheSameEnd) {
  if (!std::filesystem::exists(folder_of(""))) GTEST_SKIP() << kMissing;
  int played = 0;
  for (const auto& path : scripts_of("")) {
    if (kLeftOut.contains(path.filename())) continue;
    SCOPED_TRACE(path.filename().string());
    play(path);
    ++played;
  }
  RecordProperty("played", played);
  EXPECT_GE(played, 8) << "the scripts have shrunk, or were not found in full";
}

}  // namespace
}  // namespace drover::raft::etcd
