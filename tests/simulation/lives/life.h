// One life: machines, jobs and people under faults, then peace; invariants after every commit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "invariants.h"
#include "machines.h"
#include "operator.h"
#include "random.h"
#include "rows.h"
#include "server.h"

namespace drover::lives {

class Life {
 public:
  // `tells`: keeps a transcript.
  Life(uint64_t seed, bool tells);

  // Lives it; stops at the first commit that breaks an invariant.
  void run();

  const Problems& problems() const { return problems_; }
  // The history of the life, step by step.
  const std::vector<std::string>& transcript() const { return transcript_; }
  size_t commits() const { return commits_; }
  size_t placed() const { return rows_.allocs.size(); }

 private:
  void add_machine(int64_t cpu, bool is_of_kind_a);
  Machine& a_machine();
  void fault();
  void step();
  void pass(std::chrono::nanoseconds time, std::chrono::nanoseconds pace);
  void turn();
  void look();
  void note(const Commit& commit);
  void come_to_rest();
  void say(const std::string& what);

  const bool tells_;
  Random random_;
  Server server_;
  Rows rows_;
  Operator operator_;
  Weather weather_;
  std::vector<std::unique_ptr<Machine>> machines_;
  bool holds_ = false;  // the log commits no plans
  Problems problems_;
  std::vector<std::string> transcript_;
  size_t commits_ = 0;
};

}  // namespace drover::lives
