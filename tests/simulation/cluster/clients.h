// A handful of sequential sessions: each sends one operation at a time to the server that it believes leads, repeats it
// under the same request id elsewhere when nobody answers in time, and at last gives up without knowing. The checkers
// judge the history that they saw. Single-owner.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/check/history.h"
#include "tests/simulation/cluster/node.h"

namespace drover::simulation {

class Clients {
 public:
  Clients(World& world, uint64_t seed);

  void start();
  // No new operations from now on; those that are open go on until they are answered or given up.
  void finish() { is_finishing_ = true; }
  // Again, now that all faults are healed: the cluster must serve.
  void resume();
  bool is_idle() const;
  uint64_t answered_since_resume() const { return answered_since_resume_; }

  void answered(int node, const Request& request, const Answer& answer);

  // The servers know what a client never learned: a command that was executed happened, between its call and then; one
  // that is in no log at the end did not. So nothing stays open, which is a sharper question and a quicker answer.
  void took_effect(std::string_view command, const std::string& answer);
  History settled_history() const;
  const History& history() const { return history_; }

 private:
  struct Session {
    Request request{};
    size_t operation = 0;
    bool is_open = false;
    int server = 0;
    int tries = 0;
  };
  struct Effect {
    Micros at = 0;
    std::string answer;
    raft::Index index = 0;
  };

  void next(int client);
  void attempt(int client);
  void send(int client, int server);
  void close(int client, const Answer& answer);
  void give_up(int client);
  Micros way();

  World& world_;
  Random random_;
  std::vector<Session> sessions_;
  History history_;
  std::vector<std::vector<size_t>> operations_;  // of each client, by number from 1
  std::set<std::pair<int, int>> refused_;        // client and attempt: it must never take effect
  std::map<size_t, Effect> effects_;             // by operation
  bool is_finishing_ = false;
  bool is_healed_ = false;
  uint64_t answered_since_resume_ = 0;
};

}  // namespace drover::simulation
