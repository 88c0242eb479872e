// Carries out drains while this server leads: follows nodes and allocations, and proposes each next step.
#pragma once

#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "drain_step.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::drain {

class Drainer {
 public:
  Drainer(Host& host, const Tables& tables) : host_(host), tables_(tables) {}

  // [lead] Returns soon after `stop` was requested.
  void run(std::stop_token stop);

  // The parts of it: what is there at first, then each change, and the next step where one is due.
  void restore(const ReadView& view);
  void take(const Change& change);
  void look();

 private:
  void follow(std::stop_token stop);
  // Proposes the next step; false when it must be tried again.
  bool step();
  DrainInput input(const ReadView& view);
  bool move(const DrainInput& input, const DrainStep& step, uint64_t term);
  bool finish(const DrainStep& step, uint64_t term);
  SteadyTime next_look() const;

  Host& host_;
  const Tables tables_;
  std::set<std::string> draining_;                           // nodes
  std::set<std::pair<std::string, std::string>> concerned_;  // jobs with allocations there, at the last look
  std::optional<int64_t> look_again_at_;
  bool changed_ = true;
  SteadyTime not_before_{};  // the next step
};

}  // namespace drover::drain
