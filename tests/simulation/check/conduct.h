// How a core conducts itself beyond what safety needs at once: rules whose breach does harm only when much else comes
// together, so each is checked where it is broken. For servers whose inputs and effects are seen. Names in brackets are
// those of the protocol's rules.
//
//   stickiness    a server that hears a leader lets nobody else campaign, unless leadership is handed over (E1, E2);
//                 with leases not before it has been up for an election timeout (8)
//   campaigns     with the whole log on disk, not while the disk is slow (E4), and only when a quorum has said
//                 that it would vote, unless leadership is handed over (E1)
//   check quorum  a leader that has not heard from a quorum for an election timeout is none any more (E6)
//   transfer      goes to somebody who has everything on disk; until then nothing new is taken (3.10)
//   membership    changes after an entry of the leader's own term is committed (9.3); a server that is no voter
//                 does not lead (9.5)
//   replication   a refusal of entries that have been accepted since is no news (R5)
//   install       nothing is applied while a snapshot is being installed
//   read rounds   a read is confirmed by a round of heartbeats that began after it was asked for, unless by a
//                 lease, and by no lease after leadership was handed over (8)
//
// Single-owner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel/raft/core/core.h"
#include "tests/simulation/check/invariants.h"
#include "tests/simulation/configuration.h"

namespace drover::simulation {

class Conduct {
 public:
  // The round of an append that nobody could have meant: it is dropped, and nobody was heard.
  static constexpr uint64_t kMalformed = 1ull << 60;

  Conduct(Invariants& invariants, const Configuration& configuration, int servers)
      : invariants_(invariants), configuration_(configuration), servers_(static_cast<size_t>(servers)) {}

  void started(int server) { servers_[static_cast<size_t>(server)] = Server(); }
  void before(int server, const raft::Input& input, const raft::CoreStatus& status);
  void after(int server, const raft::CoreStatus& status, const raft::Membership& membership);
  // `is_installing`: since before these effects.
  void effects(int server, const raft::Effects& effects, const raft::CoreStatus& status,
               const raft::Membership& membership, bool is_installing);

 private:
  static constexpr int kNever = 1 << 20;
  struct Server {
    int ticks_since_leader = kNever;
    int ticks_since_start = 0;
    // Pre-votes by candidate and term that came while no leader was heard.
    std::map<std::pair<raft::NodeId, raft::Term>, int> grantable;
    std::set<std::pair<raft::Term, raft::NodeId>> pre_votes;  // granted to this server
    raft::Term must_stay = 0;                                 // the term, through the input under way
    std::optional<raft::PeerStatus> old_news{};               // of who sent it, when the input refuses what it holds
    bool is_tick = false;                                     // the input under way
    bool is_slow = false;
    bool was_slow = false;                        // before the inputs whose effects come next
    uint64_t transfer = 0;                        // as well
    std::vector<raft::Membership> memberships{};  // in force then, and after each input since
    raft::Term handed_over_in = 0;                // a TimeoutNow was sent

    std::map<uint64_t, uint64_t> rounds;                              // when each round's first heartbeat left
    std::map<raft::NodeId, uint64_t> heard;                           // of the newest round that a peer has answered
    std::map<uint64_t, uint64_t> asked;                               // reads of callers here, by token
    std::map<std::pair<raft::NodeId, uint64_t>, uint64_t> passed_on;  // reads of peers, by their number
  };

  void receive(Server& self, const raft::Message& message, const raft::CoreStatus& status);
  void send(int server, const raft::Message& message, const raft::CoreStatus& status,
            const raft::Membership& membership);
  void check_pre_vote(int server, raft::Term term, const raft::Membership& membership);
  void write(int server, const raft::LogWrite& write, const raft::CoreStatus& status);
  void lead(int server, const raft::CoreStatus& status, const raft::Membership& membership);
  void check_round(int server, uint64_t since, bool may_be_lease, const raft::Membership& membership);
  bool hears_a_leader(const Server& self, const raft::CoreStatus& status) const;
  void fail(const char* rule, int server, const std::string& what);

  Invariants& invariants_;
  const Configuration& configuration_;
  std::vector<Server> servers_;
  uint64_t time_ = 0;  // inputs so far: the order of things is all that counts
};

}  // namespace drover::simulation
