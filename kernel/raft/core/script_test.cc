// Scenarios as transcripts: each file under scripts/ is a list of commands (`> …`), each followed by everything that
// the cores did because of it. The whole file is compared. RAFT_UPDATE_SCRIPTS=1 writes what happened instead; read the
// difference before keeping it.
//
//   cluster N [learners=K] [spare=S] [option=value …]   servers 1…N voters, then learners, then ones that know nobody
//   campaign n · tick n [count] · propose n text … · read n · transfer n [to]
//   change n +a ~b -c         voter, learner, out
//   deliver [a b] [type]      the messages that wait now, from a to b, of this type; those that follow from them wait
//   drop … · repeat …         the same choice: lost; delivered and kept
//   disk n hold|free · durable n [writes] · apply n · crash n · start n [damaged keep=i]
//   cut a b · cut n · heal · settle      settle: disks, state machines and the network until nothing moves
//   snapshot n index first · arrive from to index/term leader_term · send_snapshot from to [fails] · logread n [empty]
//   message type from=… to=… term=… [prev=i/t] [commit=…] [entries=i/t,…] [round=…] [refused] [transfer] [last=…]
//   slow n on|off · quarantine n on|off · unreachable n peer · reconnected n peer · clock ms
//   quiet · loud · state [n] · log n · waiting
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "kernel/raft/core/test_support.h"

namespace drover::raft {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

class Script {
 public:
  Script() {
    cluster_.trace = [this](int number, const Effects& effects) {
      for (const std::string& line : describe(number, effects, detail_)) out_ += line + "\n";
    };
  }

  // Runs a file's commands and returns it with the effects of each.
  std::string play(const std::string& file) {
    std::istringstream in(file);
    std::string result;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("#") || line.empty()) result += line + "\n";
      if (!line.starts_with("> ")) continue;
      out_.clear();
      run(words_of(line.substr(2)));
      result += line + "\n" + out_;
      if (!cluster_.violation.empty()) result += "VIOLATION: " + std::exchange(cluster_.violation, "") + "\n";
    }
    return result;
  }

 private:
  using Words = std::vector<std::string>;

  static int number(const Words& w, size_t at) {
    return at < w.size() && std::isdigit(static_cast<unsigned char>(w[at][0])) ? std::stoi(w[at]) : 0;
  }
  static std::optional<std::string> option(const Words& w, const std::string& name) {
    for (const std::string& word : w) {
      if (word == name) return "";
      if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
    }
    return std::nullopt;
  }
  static uint64_t value(const Words& w, const std::string& name, uint64_t otherwise) {
    const std::optional<std::string> text = option(w, name);
    return text ? std::stoull(*text) : otherwise;
  }
  static std::pair<Index, Term> pair_of(const std::string& text) {
    const size_t slash = text.find('/');
    return {std::stoull(text.substr(0, slash)), std::stoull(text.substr(slash + 1))};
  }

  void say(const std::string& line) { out_ += line + "\n"; }

  void run(const Words& w) {
    const std::string& what = w[0];
    if (run_setting(w) || run_fault(w) || run_picture(w)) return;
    const int n = number(w, 1);
    if (what == "campaign") return cluster_.step(n, Campaign{});
    if (what == "tick") {
      for (int i = std::max(number(w, 2), 1); i > 0; --i) cluster_.step(n, Tick{.now = cluster_.now});
    } else if (what == "propose") {
      for (size_t i = 2; i < w.size(); ++i) cluster_.propose(n, w[i]);
    } else if (what == "batch") {  // several in one step
      Propose propose;
      for (size_t i = 2; i < w.size(); ++i) {
        const Term only = w[i].starts_with("term=") ? std::stoull(w[i].substr(5)) : 0;
        propose.batch.push_back({.token = cluster_.new_token(n), .payload = text(w[i]), .only_in_term = only});
      }
      cluster_.step(n, std::move(propose));
    } else if (what == "read") {
      cluster_.read(n);
    } else if (what == "transfer") {
      cluster_.step(
          n, TransferLeadership{.to = w.size() > 2 ? id_of(number(w, 2)) : NodeId{}, .token = cluster_.new_token(n)});
    } else if (what == "change") {
      change(n, w);
    } else if (what == "deliver" || what == "drop" || what == "repeat") {
      move(w);
    } else if (what == "durable") {
      cluster_.confirm(n, w.size() > 2 ? static_cast<size_t>(number(w, 2)) : SIZE_MAX);
    } else if (what == "apply") {
      cluster_.apply(n);
    } else if (what == "settle") {
      cluster_.settle();
    } else if (what == "snapshot") {
      cluster_.take_snapshot(n, std::stoull(w[2]), std::stoull(w[3]));
    } else if (what == "arrive") {
      const auto [index, term] = pair_of(w[3]);
      cluster_.arrive(n, number(w, 2), std::stoull(w[4]), {.index = index, .term = term, .membership = members_of(3)});
    } else if (what == "send_snapshot") {
      Server& s = cluster_.servers.at(n);
      if (!s.snapshot_sends.empty()) s.snapshot_sends.pop_front();
      if (w.size() == 3) return cluster_.send_snapshot(n, number(w, 2));
      cluster_.step(n, SnapshotSent{.to = id_of(number(w, 2))});
    } else if (what == "logread") {
      if (w.size() == 2) return cluster_.answer_log_read(n);
      const LogRead read = cluster_.servers.at(n).log_reads.front();
      cluster_.step(n, EntriesRead{.to = read.to, .from = read.from});
    } else if (what == "message") {
      message(w);
    } else {
      say("unknown command " + what);
    }
  }

  bool run_setting(const Words& w) {
    const std::string& what = w[0];
    if (what == "quiet") return detail_ = Detail::outcomes, true;
    if (what == "loud") return detail_ = Detail::all, true;
    if (what == "clock") return cluster_.now += std::chrono::milliseconds(std::stoll(w[1])), true;
    if (what != "cluster") return false;
    CoreConfig config{.seed = value(w, "seed", 1),
                      .election_ticks = static_cast<int>(value(w, "election", 10)),
                      .max_entry_bytes = value(w, "max_entry", 1 << 20),
                      .append_bytes = value(w, "append", 1 << 20),
                      .window_messages = value(w, "window", 256),
                      .max_uncommitted_bytes = value(w, "uncommitted", 1 << 20),
                      .recent_bytes = value(w, "recent", 1 << 20),
                      .lease_reads = option(w, "lease").has_value()};
    const int voters = number(w, 1);
    const int members = voters + static_cast<int>(value(w, "learners", 0));
    const int all = members + static_cast<int>(value(w, "spare", 0));
    for (int i = 1; i <= all; ++i) {
      config.seed += 10;
      cluster_.add(i, config, i <= members ? members_of(voters, members - voters) : Membership{});
    }
    return true;
  }

  bool run_fault(const Words& w) {
    const std::string& what = w[0];
    const int n = number(w, 1);
    const bool is_on = w.size() > 2 && w[2] == "on";
    if (what == "disk") {
      cluster_.servers.at(n).is_disk_held = w[2] == "hold";
    } else if (what == "crash") {
      cluster_.crash(n);
    } else if (what == "start") {
      Server& s = cluster_.servers.at(n);
      if (option(w, "damaged")) {
        s.is_damaged = cluster_.is_disk_lost = true;
        while (s.disk.last() > value(w, "keep", 0)) s.disk.entries.pop_back();
      }
      cluster_.start(n);
    } else if (what == "cut") {
      for (const auto& [other, s] : cluster_.servers) {
        if (w.size() > 2 ? other != number(w, 2) : other == n) continue;
        cluster_.cuts.insert({n, other});
        cluster_.cuts.insert({other, n});
      }
      std::erase_if(cluster_.network, [this](const Message& m) { return cluster_.is_cut(m); });
    } else if (what == "heal") {
      cluster_.cuts.clear();
    } else if (what == "slow") {
      cluster_.step(n, StorageSlow{.is_slow = is_on});
    } else if (what == "quarantine") {
      cluster_.step(n, Quarantine{.is_on = is_on});
    } else if (what == "unreachable") {
      cluster_.step(n, PeerUnreachable{.peer = id_of(number(w, 2))});
    } else if (what == "reconnected") {
      cluster_.step(n, PeerReconnected{.peer = id_of(number(w, 2))});
    } else {
      return false;
    }
    return true;
  }

  bool run_picture(const Words& w) {
    if (w[0] == "state") {
      for (const auto& [number_there, s] : cluster_.servers) {
        if (w.size() == 1 || number(w, 1) == number_there) say(state(number_there, s));
      }
    } else if (w[0] == "log") {
      say(w[1] + " log" +
          describe({cluster_.servers.at(number(w, 1)).log.entries.begin(),
                    cluster_.servers.at(number(w, 1)).log.entries.end()}));
    } else if (w[0] == "waiting") {
      for (const Message& m : cluster_.network) say(describe(m));
    } else {
      return false;
    }
    return true;
  }

  static std::string state(int number_there, const Server& s) {
    if (!s.core) return std::to_string(number_there) + " down";
    s.core->check();
    const CoreStatus status = s.core->status();
    static constexpr const char* kRoles[] = {"follower", "candidate", "leader"};
    std::string out = std::to_string(number_there) + " " + kRoles[static_cast<size_t>(status.role)] + " term " +
                      std::to_string(status.term) + " vote " + name_of(status.vote) + " leader " +
                      name_of(status.leader) + " log " + std::to_string(status.first_index) + ".." +
                      place(status.last_index, status.last_term) + " durable " + std::to_string(status.durable_index) +
                      " commit " + std::to_string(status.commit_index) + " applied " + std::to_string(s.applied) + " " +
                      describe(s.core->membership());
    if (status.uncommitted_bytes != 0) out += " uncommitted " + std::to_string(status.uncommitted_bytes);
    if (status.transfer != 0) out += " transferring";
    if (status.is_damaged) out += " damaged";
    if (s.core->counters().messages_dropped != 0) {
      out += " dropped " + std::to_string(s.core->counters().messages_dropped);
    }
    for (const PeerStatus& peer : status.peers) {
      static constexpr const char* kStates[] = {"probe", "replicate", "snapshot"};
      out += "\n  " + name_of(peer.id) + " " + kStates[static_cast<size_t>(peer.state)] + " match " +
             std::to_string(peer.match) + " next " + std::to_string(peer.next);
      if (peer.in_flight_messages + peer.in_flight_bytes != 0) {
        out += " in flight " + std::to_string(peer.in_flight_messages);
      }
    }
    return out;
  }

  void change(int n, const Words& w) {
    ChangeMembership change{.token = cluster_.new_token(n)};
    for (size_t i = 2; i < w.size(); ++i) {
      const auto kind = w[i][0] == '+'   ? MemberEdit::Kind::add_voter
                        : w[i][0] == '~' ? MemberEdit::Kind::add_learner
                                         : MemberEdit::Kind::remove;
      change.edits.push_back({.kind = kind, .id = id_of(std::stoi(w[i].substr(1)))});
    }
    cluster_.step(n, std::move(change));
  }

  // deliver, drop and repeat, of what waits when the command begins.
  void move(const Words& w) {
    const bool has_ends = w.size() > 2 && std::isdigit(static_cast<unsigned char>(w[1][0]));
    const std::string type = has_ends ? (w.size() > 3 ? w[3] : "") : (w.size() > 1 ? w[1] : "");
    const auto is_chosen = [&](const Message& m) {
      if (has_ends && (number_of(m.from) != number(w, 1) || number_of(m.to) != number(w, 2))) return false;
      return type.empty() || to_string(m.type) == type;
    };
    size_t at = 0;
    for (size_t left = cluster_.network.size(); left > 0; --left) {
      if (!is_chosen(cluster_.network[at])) {
        ++at;
      } else if (w[0] == "drop") {
        cluster_.network.erase(cluster_.network.begin() + static_cast<ptrdiff_t>(at));
      } else {
        if (w[0] == "repeat") kept_.push_back(cluster_.network[at]);
        cluster_.deliver(at);
      }
    }
    for (Message& m : kept_) cluster_.network.push_back(std::move(m));
    kept_.clear();
  }

  void message(const Words& w) {
    Message m{.from = id_of(static_cast<int>(value(w, "from", 1))),
              .to = id_of(static_cast<int>(value(w, "to", 2))),
              .term = value(w, "term", 1),
              .commit = value(w, "commit", 0),
              .is_refused = option(w, "refused").has_value(),
              .is_transfer = option(w, "transfer").has_value(),
              .last_index = value(w, "last", 0),
              .round = value(w, "round", 0)};
    for (int type = 1; type <= 11; ++type) {
      if (to_string(static_cast<MessageType>(type)) == w[1]) m.type = static_cast<MessageType>(type);
    }
    if (const auto prev = option(w, "prev")) std::tie(m.log_index, m.log_term) = pair_of(*prev);
    std::istringstream entries(option(w, "entries").value_or(""));
    for (std::string one; std::getline(entries, one, ',');) {
      const auto [index, term] = pair_of(one);
      m.entries.push_back({.index = index, .term = term, .type = EntryType::command, .payload = text("m" + one)});
    }
    const int to = number_of(m.to);
    cluster_.step(to, Receive{.message = std::move(m)});
  }

  Cluster cluster_;
  Detail detail_ = Detail::all;
  std::string out_;
  std::vector<Message> kept_;
};

class RaftScript : public testing::TestWithParam<std::string> {};

std::string path_of(const std::string& name) { return std::string(DROVER_SCRIPTS) + "/" + name + ".txt"; }

std::string content_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_P(RaftScript, HappensAsWritten) {
  const std::string expected = content_of(path_of(GetParam()));
  ASSERT_NE(expected, "");

  const std::string happened = Script().play(expected);

  if (std::getenv("RAFT_UPDATE_SCRIPTS")) {
    std::ofstream(path_of(GetParam())) << happened;
  } else {
    EXPECT_EQ(happened, expected);
  }
  EXPECT_EQ(happened.find("VIOLATION"), std::string::npos);
}

std::vector<std::string> all_scripts() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(DROVER_SCRIPTS)) {
    if (file.path().extension() == ".txt") names.push_back(file.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Raft, RaftScript, testing::ValuesIn(all_scripts()),
                         [](const auto& script) { return script.param; });

}  // namespace

std::string first_script_that_differs() {
  for (const std::string& name : all_scripts()) {
    const std::string expected = content_of(path_of(name));
    if (Script().play(expected) != expected) return name;
  }
  return "";
}

}  // namespace drover::raft
