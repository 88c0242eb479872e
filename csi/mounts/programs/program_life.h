// Decides when a storage plugin that the agent runs itself is started, ended, killed and left alone. A pure state
// machine: events with their time go in, what to do comes out.
//
//              ┌──────────────────── due ────────────────────┐
//              ▼                                             │
//   start ─▶ running ──exited─────────────────────────▶ waiting ──stop──▶ over
//   adopt ──▶  │ └──stop, its volumes are in use──▶ over (it runs on)      ▲
//              └──unhealthy, stop, restart, other settings──▶ ending ──exited─┘ or waiting, or running again
//
// Pauses: one second doubling to two minutes; forgotten when it has run for ten, and when an operator restarts it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "drover/clock.h"

namespace drover::mounts {

struct ProgramTimes {
  std::chrono::nanoseconds first_pause = std::chrono::seconds(1);
  std::chrono::nanoseconds longest_pause = std::chrono::minutes(2);
  std::chrono::nanoseconds calm = std::chrono::minutes(10);   // of running, then the pauses begin anew
  std::chrono::nanoseconds to_end = std::chrono::seconds(5);  // from SIGTERM to SIGKILL
};

class ProgramLife {
 public:
  enum class State : uint8_t { waiting, running, ending, over };
  enum class Action : uint8_t {
    none,
    launch,  // then exited(), at once where that fails
    end,     // SIGTERM; then exited()
    kill,    // SIGKILL; then exited()
  };
  // Ends: the process goes with the agent. Stays: it serves on, and the next agent finds it.
  enum class Fate : uint8_t { ends, stays };

  explicit ProgramLife(ProgramTimes times = {}) : times_(times) {}

  State state() const { return state_; }
  bool is_over() const { return state_ == State::over; }
  // When tick() has something to do; nothing while only events count.
  std::optional<SteadyTime> due() const { return due_; }

  // The first event: nothing of it runs, or a process of the agent's former life does.
  Action start(SteadyTime now);
  Action adopt(bool has_these_settings, SteadyTime now);

  Action exited(SteadyTime now);
  Action unhealthy(SteadyTime now);  // it did not become ready in time
  Action tick(SteadyTime now);
  Action restart(SteadyTime now);  // at once, without a pause
  Action stop(Fate fate, SteadyTime now);

 private:
  Action launch(SteadyTime now);
  Action end(SteadyTime now);
  void wait(std::chrono::nanoseconds pause, SteadyTime now);

  const ProgramTimes times_;
  State state_ = State::waiting;
  std::optional<SteadyTime> due_;
  SteadyTime began_{};
  int failures_ = 0;          // since it was last calm
  bool is_next_at_once_ = false;  // it ends because of other settings, or because an operator wants another one
  bool is_stopping_ = false;
};

}  // namespace drover::mounts
