// Decides if and when a task that ended, or could not start, is started again. Pure: time and chance come in.
//
// Nomad: `attempts` restarts within `interval`, each after `delay` and up to a quarter more; beyond that, mode "fail"
// gives up and mode "delay" waits for the next interval.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace drover::v1 {
class RestartPolicy;
}

namespace drover::agent {

struct RestartRule {
  enum class Mode : uint8_t { fail, delay };
  int32_t attempts = 0;
  std::chrono::nanoseconds interval{};
  std::chrono::nanoseconds delay{};
  Mode mode = Mode::fail;
  bool on_success = false;  // start again after exit code 0
};

// The part of the past that matters. Survives a restart of the agent.
struct RestartHistory {
  int32_t count = 0;         // restarts in the current interval
  int64_t window_began = 0;  // nanoseconds since 1970
  friend bool operator==(const RestartHistory&, const RestartHistory&) = default;
};

struct TaskEnd {
  enum class Kind : uint8_t {
    succeeded,         // exited with code 0 and without a signal
    failed,            // exited otherwise, or its result is lost
    start_failed,      // could not be started, another try may help
    start_impossible,  // could not be started and never will
    asked_to_restart   // by an operator; does not count
  };
  Kind kind;
};

struct RestartDecision {
  enum class Action : uint8_t { restart, finish, fail };
  Action action;
  std::chrono::nanoseconds delay{};
  std::string reason;
  RestartHistory history;
};

// `chance` in [0, 1) spreads the delays.
RestartDecision decide_restart(const RestartRule& rule, const RestartHistory& history, TaskEnd end, int64_t now_ns,
                               double chance);

// `long_running`: tasks of service and system jobs, except those of a life-cycle hook that are not sidecars; sidecars
// of any job too.
RestartRule restart_rule(const v1::RestartPolicy& policy, bool long_running);

}  // namespace drover::agent
