// A cluster in miniature around the claims on volumes: machines that mount, a storage that attaches, a leader that
// carries claims from step to step, people who start and stop. Seeded: one seed is one history. Everything that may
// fail does: answers are lost or late, leaders change, agents and machines die, nodes are purged, volumes deregistered.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "claims/claim_groups.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node.pb.h"
#include "sdk/testing/chance.h"
#include "sdk/testing/memory_rows.h"
#include "tables.h"

namespace drover::volumes {

// A mistake that the world makes on purpose, so that it shows that it would be found.
enum class Plant {
  none,
  detaches_while_others_hold,  // the attachment is not shared
  skips_the_node,              // detaches without asking the node
  never_detaches,
  two_calls_at_once,
  failed_attach_is_nothing,  // frees a claim whose attaching failed without undoing it
  servers_word_is_the_end,   // an allocation that is to end counts as ended
  forgotten_keeps_its_claim,
  gone_node_is_asked,
  counts_by_name,      // two names of one volume are two volumes
  error_is_done,       // of detaching
  unknown_is_failure,  // undoing that says "not there" is repeated for ever
  loses_the_context,
  keeps_the_mode,           // after the last claim
  old_leaders_are_heard,    // no terms
  gives_up,                 // after three attempts
  volume_gone_is_enough,    // what a deregistered volume's claims hold is not undone
  no_path_is_undone,        // a node that cannot be asked has undone its part
  kCount,
};

class ClaimWorld {
 public:
  ClaimWorld(uint64_t seed, Plant plant);
  // Lives through so many steps, and comes to rest. Empty: everything was as it must be.
  std::string run(int steps);

 private:
  struct Mount {
    std::string remote;
    bool writes = false;
  };
  // An allocation as its machine sees it.
  struct Work {
    enum class State { waits, runs, stopped } state = State::waits;
    bool is_ended_told = false, is_release_told = false;
  };
  struct Machine {
    std::string id, external_id;
    bool is_alive = true;                // else it burnt down, or nobody hears of it
    bool is_agent_up = true;             // tasks and mounts outlive their agent
    int64_t silent_since = 0;
    std::map<std::string, Work> work;    // by allocation
    std::map<std::string, Mount> mounts; // the same
  };
  struct CallUnderWay {
    NextStep::Kind kind;
    v1::CsiClaim claim;
    uint64_t term = 0;
    int64_t effect_at = 0, answer_at = 0;
    bool has_effect = true, is_answered = false, is_effective = false, has_leader = true;
    bool is_answer_lost = false;
    Status result;
  };

  void step();
  void people();
  void misfortune();
  void machines();
  void lead();
  void calls();
  void look();
  void rest();

  void start_job();
  void finish(CallUnderWay& call);
  Status effect(const CallUnderWay& call);
  Status unreachable();
  Status release_on_node(const v1::CsiClaim& claim);
  void answer(const CallUnderWay& call);
  void serve(Machine& machine, const std::string& alloc_id, Work& work);
  void claim(Machine& machine, const std::string& alloc_id);
  void set_node(const Machine& machine, v1::NodeStatus status);
  void lose_work(const Machine& machine);
  void set_alloc(const std::string& alloc_id, v1::ClientStatus status);
  std::vector<ClaimFacts> disturbed(std::vector<ClaimFacts> facts) const;
  template <typename Command>
  Result<std::string> commit(const Command& command) {
    return rows_.apply(command, ++index_);
  }
  bool has(Plant plant) const { return plant_ == plant; }
  void fail(const std::string& what);

  Chance chance_;
  const Plant plant_;
  testing::MemoryRows rows_;
  Tables tables_;
  std::vector<Machine> machines_;
  std::vector<CallUnderWay> calls_;
  std::map<Remote, std::set<std::string>> attached_;  // the storage's: by volume the nodes
  std::map<std::string, uint64_t> heard_terms_;       // by volume, at the controller
  int64_t now_ = 1'000'000'000;
  uint64_t index_ = 10, term_ = 1;
  bool is_calm_ = false;
  bool dead_stay_dead_ = false;  // machines that are gone at the end never return
  std::string problem_;
};

}  // namespace drover::volumes
